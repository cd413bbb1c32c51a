package train

import (
	"time"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// When the root has collected what it writes to a file, the other processes have
// nothing to do until the file is on the disk, which can take longer than a
// device may keep another waiting. So the root tells them now and then that it
// is at work, and at last that it has finished:
//
//	root    collects ── writes ─ beat ── beat ── beat ─ done ▶ next step
//	others  send     ── wait ─────┴───────┴───────┴──────┴───▶ next step

// beatEvery is how often the root says that it is at work.
const beatEvery = 500 * time.Millisecond

// beatTag is that of its messages, below those of package exec.
const beatTag = comm.MaxTag - 3

// What the messages say.
const (
	atWork = iota
	finished
)

// heart is the root's sign of life.
type heart struct {
	stop chan struct{}
	end  chan error
}

// gathered begins the signs of life: the root calls it when it needs nothing
// more of the others for the file that it writes.
func (p *processes) gathered() {
	if p.end == nil || !p.root() {
		return
	}
	p.heart = &heart{make(chan struct{}), make(chan error, 1)}
	go func(h *heart) {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-h.stop:
				h.end <- nil
				return
			case <-tick.C:
				if err := p.tell(atWork); err != nil {
					h.end <- err
					return
				}
			}
		}
	}(p.heart)
}

// written ends what the root does for a file, with its error; the others wait for
// that.
func (p *processes) written(err error) error {
	switch {
	case p.end == nil:
		return err
	case !p.root() && err == nil:
		return p.awaitRoot()
	}
	if h := p.heart; h != nil {
		p.heart = nil
		close(h.stop)
		if e := <-h.end; err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return p.tell(finished)
}

// tell says one thing to all other processes.
func (p *processes) tell(what byte) error {
	said := []byte{what}
	for rank := range p.end.Mesh().Size() {
		if rank == p.end.Rank() {
			continue
		}
		if err := p.message(comm.Op{Kind: collective.Send, Peer: rank, Src: device.Bytes(said)}); err != nil {
			return err
		}
	}
	return nil
}

// awaitRoot waits until the root has finished.
func (p *processes) awaitRoot() error {
	heard := []byte{atWork}
	for heard[0] != finished {
		if err := p.message(comm.Op{Kind: collective.Recv, Peer: 0, Dst: device.Bytes(heard)}); err != nil {
			return err
		}
	}
	return nil
}

func (p *processes) message(op comm.Op) error {
	op.DType, op.Inner, op.Tag, op.Label = dtype.Bool, 1, beatTag, "while rank 0 writes a file"
	call, err := p.end.Prepare(op)
	if err != nil {
		return err
	}
	return call.Run()
}
