package exec

import (
	"fmt"
	"runtime/debug"

	"ptc/runtime/program"
)

// transfer is a captured fetch or store: copies between memories of one device.
type transfer struct {
	src, dst [][]byte
	finished chan error // one value for each time that it was started
	busy     bool       // started, and not waited for
}

func newTransfer(d *device, in *program.Instr) *transfer {
	t := &transfer{finished: make(chan error, 1)}
	n := len(in.Bufs) / 2
	for i := range n {
		t.src = append(t.src, d.buffer(in.Bufs[i]))
		t.dst = append(t.dst, d.buffer(in.Bufs[n+i]))
	}
	return t
}

// copy moves the bytes. A file that cannot be read or written any more is an
// error, where it would be a fault of the process otherwise.
func (t *transfer) copy() (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("offloaded memory cannot be reached: %v", p)
		}
	}()
	for i := range t.src {
		copy(t.dst[i], t.src[i])
	}
	return nil
}

// mover is a device's goroutine for transfers, which does them in the order in
// which they are started.
type mover struct {
	queue chan *transfer
	ended chan struct{}
	all   []*transfer // that are started somewhere
}

func newMover() *mover {
	// Of one set of mesh axes, here none, no more are under way.
	m := &mover{queue: make(chan *transfer, program.MaxOpen), ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		for t := range m.queue {
			t.finished <- t.copy()
		}
	}()
	return m
}

func (m *mover) start(t *transfer) error {
	t.busy = true
	m.queue <- t
	return nil
}

func (m *mover) wait(t *transfer) error {
	err := <-t.finished
	t.busy = false
	return err
}

// drain waits for what a program that failed left under way.
func (m *mover) drain() {
	if m == nil {
		return
	}
	for _, t := range m.all {
		if t.busy {
			_ = m.wait(t) // of a run whose error is told
		}
	}
}

// close ends the goroutine, whatever it has to do first.
func (m *mover) close() {
	if m != nil {
		close(m.queue)
		<-m.ended
	}
}
