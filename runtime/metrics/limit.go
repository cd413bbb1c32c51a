package metrics

import (
	"net"
	"sync"
	"time"
)

// Bounds of the connections that a server has at once: a sixteenth of the files that the process may open, since
// the run needs the others for its data and its checkpoints.
const (
	mostConnections  = 64
	leastConnections = 4
	filesForEach     = 16
)

// connections is how many a server takes at once in this process.
func connections() int {
	return min(mostConnections, max(leastConnections, int(min(openFiles(), 1<<20))/filesForEach))
}

// limited is a listener with so many connections at once. It closes further ones at once, after an answer: one
// that waited in line would be served by nobody.
type limited struct {
	net.Listener
	free chan struct{} // has a value for each connection that there is
}

func limit(l net.Listener, most int) *limited { return &limited{l, make(chan struct{}, most)} }

const busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 32\r\n\r\ntoo many read along; come later\n"

// Accept waits for a connection that there is room for.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.free <- struct{}{}:
			return &counted{Conn: c, left: func() { <-l.free }}, nil
		default:
			_ = c.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			_, _ = c.Write([]byte(busy)) // who is refused may be gone
			_ = c.Close()
		}
	}
}

// counted is a connection that makes room when it is closed.
type counted struct {
	net.Conn
	once sync.Once
	left func()
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.left)
	return err
}
