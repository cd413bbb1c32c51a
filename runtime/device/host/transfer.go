package host

import (
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// ownPart is a captured shard_slice: a device's own part of a tensor along an axis.
type ownPart struct {
	src, dst     []byte
	first        int // byte of src
	piece, every int // bytes: of each contiguous piece, and from one to the next in src
}

func newOwnPart(e *engine, in *program.Instr) *ownPart {
	c := in.Comm
	piece := int(c.Inner) * program.DTypeSize(c.DType)
	return &ownPart{src: e.bytes(in.Bufs[0]), dst: e.bytes(in.Bufs[1]), piece: piece,
		first: piece * e.r.Plan.Mesh.CoordinateOver(e.r.Rank, c.Over), every: piece * e.r.Plan.Mesh.Parts(c.Over)}
}

func (o *ownPart) copy() error {
	for from, to := o.first, 0; to < len(o.dst); from, to = from+o.every, to+o.piece {
		copy(o.dst[to:to+o.piece], o.src[from:])
	}
	return nil
}

// transfer is a captured operation that copies between memories of the device.
type transfer struct {
	src, dst []device.Range
	finished chan error // one value for each time that it was started
	busy     bool       // started, and not waited for
}

func newTransfer(e *engine, in *program.Instr) *transfer {
	t := &transfer{finished: make(chan error, 1)}
	src, dst := in.Ends()
	for i := range src {
		t.src = append(t.src, e.at(src[i]))
		t.dst = append(t.dst, e.at(dst[i]))
	}
	return t
}

func (t *transfer) copy() error {
	for i, d := range t.dst {
		if err := d.Memory.Copy(d.Offset, t.src[i]); err != nil {
			return err
		}
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
