package generator

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// keptSaid is how much of what a program says on its standard error is kept for an error.
const keptSaid = 4 << 10

// graceful is how long a program has to end once it is told to.
const graceful = 2 * time.Second

// child is a program that was started.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	said tail
	done chan struct{} // closed once it has ended
	err  error         // how
}

func startChild(line string, asked *Ask) (*child, error) {
	c := &child{cmd: exec.Command("/bin/sh", "-c", line), done: make(chan struct{})}
	text := asked.line()
	c.cmd.Env = append(os.Environ(), Variable+"="+string(text[:len(text)-1]))
	apart(c.cmd)
	c.cmd.Stderr, c.cmd.WaitDelay = &c.said, graceful
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it, and what the program wrote before it ended would be lost.
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.out, c.cmd.Stdout = out, w
	err = c.cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	running.add(c)
	go func() {
		c.err = c.cmd.Wait()
		running.remove(c)
		close(c.done)
	}()
	return c, nil
}

// children are the programs that have not ended.
type children struct {
	mu  sync.Mutex
	all map[*child]bool
}

var running = children{all: map[*child]bool{}}

func (s *children) add(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[c] = true
}

func (s *children) remove(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, c)
}

// EndAll ends every program that this process has started, at once: for a process that is about to exit.
func EndAll() {
	running.mu.Lock()
	defer running.mu.Unlock()
	for c := range running.all {
		tell(c.cmd, true)
	}
}

func (c *child) Read(b []byte) (int, error)  { return c.out.Read(b) }
func (c *child) Write(b []byte) (int, error) { return c.in.Write(b) }

// ended waits a moment for a program whose output has ended, and says what became of it; nil where it ended well.
func (c *child) ended() error {
	select {
	case <-c.done:
	case <-time.After(graceful):
		return nil // it has closed its output alone
	}
	if c.err == nil || errors.Is(c.err, exec.ErrWaitDelay) {
		return nil
	}
	return fmt.Errorf("the program has ended: %v%s", c.err, c.said.text())
}

// Close ends the program and what it has started, and waits for it.
func (c *child) Close() error {
	_ = c.in.Close()
	_ = c.out.Close()
	tell(c.cmd, false)
	select {
	case <-c.done:
	case <-time.After(graceful):
	}
	tell(c.cmd, true)
	<-c.done
	return nil
}

// tail keeps the end of what is written to it, and passes all on to the standard error.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if n := len(t.kept) - keptSaid; n > 0 {
		t.kept = append(t.kept[:0], t.kept[n:]...)
	}
	return os.Stderr.Write(b)
}

// text is the last lines, for the end of a message.
func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.ToValidUTF8(string(bytes.TrimSpace(t.kept)), "\ufffd")
	lines := strings.Split(text, "\n")
	if text == "" {
		return ""
	}
	return ": " + strings.Join(lines[max(0, len(lines)-3):], " | ")
}
