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

// rootFile is a file that the root writes.
type rootFile struct {
	*processes
	stop chan struct{} // ends the root's signs of life; nil: there are none yet
	beat chan error    // how they ended
}

// gathered begins the signs of life: the root calls it when it needs nothing
// more of the others for the file.
func (f *rootFile) gathered() {
	if f.end == nil || !f.root() {
		return
	}
	f.stop, f.beat = make(chan struct{}), make(chan error, 1)
	go func() {
		tick := time.NewTicker(beatEvery)
		defer tick.Stop()
		for {
			select {
			case <-f.stop:
				f.beat <- nil
				return
			case <-tick.C:
				if err := f.tell(atWork); err != nil {
					f.beat <- err
					return
				}
			}
		}
	}()
}

// written ends the root's work for the file, with its error; the others wait for
// that.
func (f *rootFile) written(err error) error {
	switch {
	case f.end == nil:
		return err
	case !f.root() && err == nil:
		return f.awaitRoot()
	}
	if f.stop != nil {
		close(f.stop)
		if e := <-f.beat; err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	return f.tell(finished)
}

// tell says one thing to all other processes.
func (f *rootFile) tell(what byte) error {
	said := []byte{what}
	for rank := range f.end.Mesh().Size() {
		if rank == f.end.Rank() {
			continue
		}
		if err := f.message(comm.Op{Kind: collective.Send, Peer: rank, Src: device.Bytes(said)}); err != nil {
			return err
		}
	}
	return nil
}

// awaitRoot waits until the root has finished.
func (f *rootFile) awaitRoot() error {
	heard := []byte{atWork}
	for heard[0] != finished {
		if err := f.message(comm.Op{Kind: collective.Recv, Peer: 0, Dst: device.Bytes(heard)}); err != nil {
			return err
		}
	}
	return nil
}

func (f *rootFile) message(op comm.Op) error {
	op.DType, op.Inner, op.Tag, op.Label = dtype.Bool, 1, beatTag, "while rank 0 writes a file"
	call, err := f.end.Prepare(op)
	if err != nil {
		return err
	}
	return call.Run()
}
