package train

import (
	"errors"

	"ptc/runtime/checkpoint"
	"ptc/runtime/comm"
)

// Several processes write a checkpoint together: each copies the slices that it has to write, and writes them
// while steps go on. What the processes say after each step tells when all have written their parts; then rank 0
// has the hashes, and writes the manifest while steps go on:
//
//	steps     1 2 3 copy 4 5 6 7 hashes 8 9 10 …
//	rank 0          └ write ─ ┘   └ manifest ┘
//	rank 1          └ write ─── ┘
//
// A process that cannot write its part says so in the same way, and all end.

// jointly is the work of a process for the checkpoint that all are writing. All are in the same stage: that of the
// parts, then that of the manifest, which rank 0 alone has work in.
type jointly struct {
	procs    *processes
	keeper   *keeper
	step     int64
	part     *checkpoint.PartWriter
	manifest bool          // the stage
	done     chan struct{} // closed when this process has done its work of the stage

	// Of that work, once done is closed.
	err error
	dir string // of the checkpoint
}

// beginJointly begins a checkpoint. Every process calls it.
func beginJointly(p *processes, k *keeper, meta checkpoint.Meta) (*jointly, error) {
	part := k.store.Part(k.peers, meta, k.tensors, k.division)
	var failed error
	err := p.busy(func() {
		if failed = k.hold(meta.Step, "begin"); failed == nil {
			failed = part.Begin()
		}
	})
	if err == nil {
		err = part.Join(failed)
	}
	if err != nil {
		part.Close(false)
		if lostTouch(err) {
			return nil, err
		}
		return nil, p.everyones(saveError(err))
	}
	p.ended.parts = partsUnknown
	return &jointly{procs: p, keeper: k, step: meta.Step, part: part, done: make(chan struct{})}, nil
}

func lostTouch(err error) bool {
	var c *comm.Error
	return errors.As(err, &c)
}

// write writes this process's part, of the bytes that read gives.
func (j *jointly) write(read func(i int, p checkpoint.Piece) ([]byte, error)) error {
	if err := j.keeper.hold(j.step, "part"); err != nil {
		return err
	}
	for i, p := range j.part.Pieces() {
		data, err := read(i, p)
		if err != nil {
			return err
		}
		if err := j.part.Write(i, data); err != nil {
			return err
		}
	}
	return j.part.Finish()
}

// writeNow writes this process's part, and returns when all have written theirs.
func (j *jointly) writeNow(read func(i int, p checkpoint.Piece) ([]byte, error)) error {
	err := j.procs.busy(func() { j.err = j.write(read) })
	close(j.done)
	return err
}

// writeBehind begins to write this process's part, of copies.
func (j *jointly) writeBehind(copies [][]byte) {
	go func() {
		defer close(j.done)
		j.err = j.write(func(i int, _ checkpoint.Piece) ([]byte, error) { return copies[i], nil })
	}()
}

// next waits until all processes have done their work of the stage, and begins the next one. All call it at
// the same point. The checkpoint has ended when it has its name, or when all know that it cannot have it.
func (j *jointly) next() (ended bool, err error) {
	j.procs.ended.parts = partsUnknown
	err = j.procs.inTouch(j.done)
	if err == nil {
		err = j.keeper.peers.Agree(j.err)
	}
	if err == nil && !j.manifest {
		err = j.part.Collect()
	}
	switch {
	case err != nil && lostTouch(err):
		return false, err
	case err != nil: // all have done their work of the stage; what belongs to a manifest that may be there stays
		j.part.Close(j.manifest)
		return true, j.procs.everyones(saveError(err))
	case j.manifest:
		j.part.Close(true)
		return true, nil
	}
	j.manifest, j.done = true, make(chan struct{})
	go func(done chan struct{}) {
		defer close(done)
		if j.err = j.keeper.hold(j.step, "commit"); j.err == nil {
			j.dir, j.err = j.part.Publish()
		}
	}(j.done)
	return false, nil
}

// drop ends what this process does for a checkpoint when the run ends by an error.
func (j *jointly) drop() error {
	<-j.done
	j.part.Close(j.manifest)
	return j.err
}

// bits say whether this process is at work for the checkpoint, and whether it has failed.
func (j *jointly) bits() byte {
	select {
	case <-j.done:
		if j.err != nil {
			return partsFailed
		}
		return 0
	default:
		return atParts
	}
}
