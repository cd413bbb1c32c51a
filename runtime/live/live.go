package live

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"ptc/runtime/metrics"
	"ptc/runtime/report"
)

// Plan is what the page knows of the plan beforehand. What is zero is unknown.
type Plan struct {
	Name    string  `json:"name"`
	Layout  string  `json:"layout"`
	Target  string  `json:"target"`
	Arena   int64   `json:"arena_bytes"`
	LeastMs float64 `json:"least_ms"` // what a step takes at least, by the roofline
	Idle    float64 `json:"idle_share"`
}

// Sink serves a run. It is a metrics.Sink.
type Sink struct {
	server *metrics.Server
	page   []byte

	mu      sync.Mutex
	lines   *metrics.JSON // writes to text
	text    bytes.Buffer
	events  [][]byte // told so far, see keep
	steps   int      // of events
	every   int      // of the steps so far each of so many is kept
	told    int
	clients map[*client]bool
	closed  bool
}

// client is who reads along. Its channel is closed when it is cut off, or the run is done.
type client struct{ events chan []byte }

const (
	// waiting is how many events a client may be behind.
	waiting = 256
	// kept is how many steps are kept for who comes late: of more, every other one is
	// forgotten.
	kept = 4096
)

//go:embed page
var files embed.FS

// Serve listens at an address, see metrics.Listen.
func Serve(addr string, p Plan) (*Sink, error) {
	s := &Sink{every: 1, clients: map[*client]bool{}}
	s.lines = metrics.NewJSON(&s.text)
	page, policy, err := pageOf(p)
	if err != nil {
		return nil, err
	}
	s.page = page
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-store")
		w.Write(s.page) // who is gone does not matter
	})
	mux.HandleFunc("GET /events", s.stream)
	s.server, err = metrics.Listen(addr, mux)
	return s, err
}

// Addr is where it listens.
func (s *Sink) Addr() string { return s.server.Addr() }

// Open says whether other machines reach it.
func (s *Sink) Open() bool { return s.server.Open() }

func pageOf(p Plan) (page []byte, policy string, err error) {
	read := func(name string) string {
		text, e := files.ReadFile("page/" + name)
		if e != nil {
			panic("live: " + e.Error()) // it is in the binary
		}
		return string(text)
	}
	style, script := report.Style()+read("live.css"), read("live.js")
	policy = report.Policy(style, script, "connect-src 'self'")
	t, err := template.New("live").Parse(read("live.html"))
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{"Plan": p, "Style": template.CSS(style), "Script": template.JS(script),
		"Policy": template.HTMLAttr(fmt.Sprintf(`content="%s"`, policy))})
	return b.Bytes(), policy, err
}

// Tell sends the event to all who read along; who is too far behind is cut off.
func (s *Sink) Tell(e metrics.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.text.Reset()
	s.lines.Tell(e)
	line := bytes.Clone(bytes.TrimSpace(s.text.Bytes()))
	_, step := e.(*metrics.Step)
	s.keep(line, step)
	for c := range s.clients {
		select {
		case c.events <- line:
		default:
			delete(s.clients, c)
			close(c.events)
		}
	}
}

// keep notes an event for who comes late. Of steps every n-th one is enough for a curve;
// all else is kept, if there is not too much of it.
func (s *Sink) keep(line []byte, step bool) {
	if step {
		if s.told++; (s.told-1)%s.every != 0 {
			return
		}
		s.steps++
	}
	s.events = append(s.events, line)
	if len(s.events) < 2*kept && s.steps < kept {
		return
	}
	var thin [][]byte
	n := 0
	for i, e := range s.events {
		first := bytes.HasPrefix(e, []byte(`{"event":"start"`))
		if n++; first || n%2 == 1 || i == len(s.events)-1 {
			thin = append(thin, e)
		}
	}
	s.events, s.steps, s.every = thin, s.steps/2, 2*s.every
}

// stream tells one client of the run, from its beginning to its end.
func (s *Sink) stream(w http.ResponseWriter, r *http.Request) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "no stream", http.StatusInternalServerError)
		return
	}
	c, before := s.join()
	defer s.leave(c)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	writer := http.NewResponseController(w)
	send := func(line []byte) bool {
		_ = writer.SetWriteDeadline(time.Now().Add(metrics.WriteWait)) // an event may come long after the one before
		_, err := fmt.Fprintf(w, "data: %s\n\n", line)
		return err == nil
	}
	if _, err := fmt.Fprint(w, "event: again\ndata: {}\n\n"); err != nil {
		return
	}
	for _, line := range before {
		if !send(line) {
			return
		}
	}
	flusher.Flush()
	for {
		select {
		case line, ok := <-c.events:
			if !ok {
				if s.done() {
					fmt.Fprint(w, "event: done\ndata: {}\n\n")
					flusher.Flush()
				}
				return
			}
			if !send(line) {
				return
			}
			flusher.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Sink) join() (*client, [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &client{events: make(chan []byte, waiting)}
	if s.closed {
		close(c.events)
	} else {
		s.clients[c] = true
	}
	return c, s.events[:len(s.events):len(s.events)]
}

func (s *Sink) leave(c *client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}

func (s *Sink) done() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Close says to all that the run is done, and stops listening.
func (s *Sink) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		for c := range s.clients {
			close(c.events)
		}
		clear(s.clients)
	}
	s.mu.Unlock()
	return s.server.Close()
}
