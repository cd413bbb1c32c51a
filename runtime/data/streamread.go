package data

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ptc/runtime/data/generator"
)

// streamAhead is how many bytes of examples are read ahead, and of several batches only so many.
const streamAhead = 64 << 20

// ErrEnd is that a stream has ended before the batch that was asked for.
var ErrEnd = errors.New("the data has ended")

var errClosed = errors.New("the stream is closed")

// streaming is a connection, from which another goroutine reads ahead.
type streaming struct {
	*generator.Stream
	asked  generator.Ask
	wanted *wantedRows
	limit  time.Duration
	ready  chan struct{} // closed once the answer is there, or greeting

	greeting error // why there is no answer that can be used

	mu     sync.Mutex
	queue  []*fewRows
	bytes  int64
	err    error // why nothing follows what is in the queue
	closed bool
	more   chan struct{} // something is in the queue, or err
	room   chan struct{} // something was taken
}

// startStreaming starts or reaches a program, and begins to read.
func startStreaming(from string, ask generator.Ask, w *wantedRows, limit time.Duration) (*streaming, error) {
	conn, err := generator.Connect(from, ask, limit)
	if err != nil {
		return nil, err
	}
	s := &streaming{Stream: conn, asked: ask, wanted: w, limit: limit,
		ready: make(chan struct{}), more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	go s.read()
	return s, nil
}

// greeted waits for the answer.
func (s *streaming) greeted() error {
	select {
	case <-s.ready:
		return s.greeting
	case <-time.After(s.limit):
		return s.stalled()
	}
}

// stalled is that the time is over.
func (s *streaming) stalled() error {
	return fmt.Errorf("waiting for data for %v: nothing came%s", s.limit, s.Said())
}

// read reads the answer and then batches, until the stream ends or is closed.
func (s *streaming) read() {
	err := s.Greet()
	var r *rowReader
	if err == nil {
		r, err = newRowReader(s.wanted, s.Stream)
	}
	s.greeting = err
	close(s.ready)
	if err != nil {
		return
	}
	for {
		rows, err := r.next()
		if err != nil {
			s.fail(err)
			return
		}
		if !s.put(rows) {
			return
		}
	}
}

func (s *streaming) fail(err error) {
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	wake(s.more)
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put waits for room, and reports whether there is anybody to read.
func (s *streaming) put(rows *fewRows) bool {
	size := rows.bytes()
	for {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return false
		}
		if len(s.queue) == 0 || s.bytes+size <= streamAhead {
			s.queue, s.bytes = append(s.queue, rows), s.bytes+size
			s.mu.Unlock()
			wake(s.more)
			return true
		}
		s.mu.Unlock()
		<-s.room
	}
}

// take waits for the next batch: io.EOF behind the last one.
func (s *streaming) take() (*fewRows, error) {
	timer := time.NewTimer(s.limit)
	defer timer.Stop()
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			rows := s.queue[0]
			s.queue, s.bytes = s.queue[1:], s.bytes-rows.bytes()
			s.mu.Unlock()
			wake(s.room)
			return rows, nil
		}
		err, closed := s.err, s.closed
		s.mu.Unlock()
		switch {
		case closed:
			return nil, errClosed
		case err != nil:
			return nil, err
		}
		select {
		case <-s.more:
		case <-timer.C:
			return nil, s.stalled()
		}
	}
}

// stop ends the connection, and the program.
func (s *streaming) stop() {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if !was {
		wake(s.room)
		wake(s.more)
		_ = s.Stream.Close()
	}
}
