package ptc

import (
	"sync"

	"ptc/runtime/metrics"
)

// listener is a sink that calls functions, one at a time.
type listener struct {
	mu sync.Mutex
	o  *RunOptions
}

func newListener(o *RunOptions) metrics.Sink { return &listener{o: o} }

// tell calls a function unless it is nil.
func tell[T any](f func(T), v T) {
	if f != nil {
		f(v)
	}
}

func (l *listener) Tell(e metrics.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := e.(type) {
	case *metrics.Start:
		tell(l.o.OnStart, *e)
	case *metrics.Step:
		tell(l.o.OnStep, *e)
	case *metrics.Validation:
		tell(l.o.OnValidation, *e)
	case *metrics.Checkpoint:
		tell(l.o.OnCheckpoint, *e)
	case *metrics.Warning:
		tell(l.o.OnWarning, e.Message)
	} // an End is said by the summary
}

func (l *listener) Close() error { return nil }
