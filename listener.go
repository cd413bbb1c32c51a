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
func tell[T any](l *listener, f func(T), v T) {
	if f == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	f(v)
}

func (l *listener) Start(e metrics.Start)           { tell(l, l.o.OnStart, e) }
func (l *listener) Step(e metrics.Step)             { tell(l, l.o.OnStep, e) }
func (l *listener) Validation(e metrics.Validation) { tell(l, l.o.OnValidation, e) }
func (l *listener) Checkpoint(e metrics.Checkpoint) { tell(l, l.o.OnCheckpoint, e) }
func (l *listener) Warning(message string)          { tell(l, l.o.OnWarning, message) }
func (l *listener) End(metrics.End)                 {} // the summary says it
func (l *listener) Close() error                    { return nil }
