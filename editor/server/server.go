package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"ptc/editor/protocol"
)

// Options say how a session behaves.
type Options struct {
	// Delay is how long nothing is edited before diagnostics are told.
	Delay time.Duration
	// Patience is how long an answer waits for a compilation that improves it.
	Patience time.Duration
	// Library is the folder into which files of the standard library are written, to be
	// shown; empty where there is none.
	Library string
	Version string
}

// ErrExit is a session that ended without `shutdown`, or not by `exit`.
var ErrExit = errors.New("the editor ended the session without `shutdown`")

// stream is what a session reads and writes.
type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

// Serve holds one session. It returns nil where the editor ended it as it should.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{options: o, running: map[jsonrpc2.ID]context.CancelFunc{}, docs: map[string]*document{}, programs: map[string]*state{},
		told: map[string]bool{}, layouts: map[string]string{}}
	made := make(chan struct{}) // messages may come before NewConn returns
	s.conn = jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(stream{in, out}, protocol.Codec{}), handler{s, made},
		jsonrpc2.SetLogger(log.New(io.Discard, "", 0)))
	close(made)
	select {
	case <-s.conn.DisconnectNotify():
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.programs {
		p.cancel()
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	if !s.exited || !s.stopped {
		return ErrExit
	}
	return nil
}

// server is the state of a session.
type server struct {
	options Options
	conn    *jsonrpc2.Conn

	mu       sync.Mutex // of all that follows
	started  bool       // initialize came
	stopped  bool       // shutdown came
	exited   bool
	refresh  struct{ hints, lenses bool } // whether the editor takes word that they are stale
	running  map[jsonrpc2.ID]context.CancelFunc
	docs     map[string]*document // open ones, by URI
	programs map[string]*state    // of open documents, by URI
	layout   string               // that the settings name
	target   string               // as well
	folders  []string             // paths of those that the editor has open
	layouts  map[string]string    // that were chosen, by URI of the main file
	told     map[string]bool      // URIs that have diagnostics
	timer    *time.Timer
}

// handler takes messages in their order.
type handler struct {
	*server
	made <-chan struct{} // closed once the server knows its connection
}

// Errors of the protocol that JSON-RPC does not have.
const (
	codeNotInitialized  = -32002
	codeCancelled       = -32800
	codeContentModified = -32801
	codeRequestFailed   = -32803
)

// Handle takes one message. Requests are answered concurrently.
func (s handler) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	<-s.made
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	if r.Notif {
		s.notified(r.Method, params)
		return
	}
	if err := s.refused(r.Method); err != nil {
		_ = conn.ReplyWithError(ctx, r.ID, err) // the stream is at its end, then
		return
	}
	answer, ok := requests[r.Method]
	if !ok {
		_ = conn.ReplyWithError(ctx, r.ID, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: "there is no request " + r.Method})
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[r.ID] = cancel
	s.mu.Unlock()
	work := func() {
		defer func() {
			s.mu.Lock()
			delete(s.running, r.ID)
			s.mu.Unlock()
			cancel()
		}()
		result, err := guarded(func() (any, error) { return answer(ctx, s.server, params) })
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			_ = conn.ReplyWithError(context.Background(), r.ID, asError(err))
			return
		}
		_ = conn.Reply(context.Background(), r.ID, result)
	}
	if r.Method == "initialize" || r.Method == "shutdown" { // what follows them depends on them
		work()
		return
	}
	go work()
}

// guarded turns a panic of ours into the error of one request.
func guarded(f func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: fmt.Sprintf("a bug of ptc: %v", p)}
		}
	}()
	return f()
}

// errStale is an answer that an edit made pointless.
var errStale = errors.New("the document was edited")

func asError(err error) *jsonrpc2.Error {
	var e *jsonrpc2.Error
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &jsonrpc2.Error{Code: codeCancelled, Message: "cancelled"}
	case errors.Is(err, errStale):
		return &jsonrpc2.Error{Code: codeContentModified, Message: err.Error()}
	case errors.As(err, &syntax), errors.As(err, &typ):
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
	}
	return &jsonrpc2.Error{Code: codeRequestFailed, Message: err.Error()}
}

// refused says why no request is answered now.
func (s *server) refused(method string) *jsonrpc2.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "after shutdown"}
	case !s.started && method != "initialize":
		return &jsonrpc2.Error{Code: codeNotInitialized, Message: "before initialize"}
	case s.started && method == "initialize":
		return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "initialize for the second time"}
	}
	return nil
}

// notified takes a notification; one that is not understood is left, as the protocol
// has it.
func (s *server) notified(method string, params json.RawMessage) {
	if method == "exit" {
		s.mu.Lock()
		s.exited = true
		s.mu.Unlock()
		_ = s.conn.Close()
		return
	}
	take, ok := notifications[method]
	s.mu.Lock()
	ready := s.started && !s.stopped
	s.mu.Unlock()
	if ok && ready {
		_, _ = guarded(func() (any, error) { return nil, take(s, params) })
	}
}

// cancel ends the request of an identifier.
func (s *server) cancel(params json.RawMessage) error {
	var p protocol.CancelParams
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	var id jsonrpc2.ID
	if err := json.Unmarshal(p.ID, &id); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.running[id]; end != nil {
		end()
	}
	return nil
}
