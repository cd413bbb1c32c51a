package train

import (
	"errors"
	"time"

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

// jointly is what a process does for the checkpoint that all are writing. All are in the same stage: that of the
// parts, then that of the manifest, which rank 0 alone has work in.
type jointly struct {
	part     *checkpoint.PartWriter
	manifest bool          // the stage
	done     chan struct{} // closed when this process has done its work of the stage
	err      error         // of it, once done is closed
	begun    time.Time
	waits    bool // steps wait for it
}

// saveTogether saves by all processes, each of which calls it.
func (r *run) saveTogether(step int64, last bool, begun time.Time) error {
	k := r.keeper
	part := k.store.Part(k.peers, k.metaOf(step, r.sum.Loss), k.tensors, k.division)
	var failed error
	err := r.busy(func() {
		if failed = k.hold(step, "begin"); failed == nil {
			failed = part.Begin()
		}
	})
	if err == nil {
		err = part.Join(failed)
	}
	if err != nil {
		part.Close(false)
		return r.notSaved(err)
	}
	j := &jointly{part: part, done: make(chan struct{}), begun: begun}
	k.behind = &writing{step: step, jointly: j}
	r.ended.parts = partsUnknown
	if j.waits, err = r.stop(last || r.o.CheckpointSync || !k.hasRoom()); err != nil {
		close(j.done)
		return err
	}
	if j.waits {
		err := r.busy(func() { j.err = k.writePart(step, part, r.dev, nil) })
		close(j.done)
		if err != nil {
			return err
		}
		return r.finishTogether()
	}
	for i, p := range part.Pieces() {
		if err := r.dev.readPiece(k.tensors[p.Tensor], p, k.copies[i]); err != nil {
			close(j.done)
			return err
		}
	}
	k.behind.wait = time.Since(begun)
	go func() {
		defer close(j.done)
		j.err = k.writePart(step, part, nil, k.copies)
	}()
	return nil
}

// writePart writes this process's part: of copies, or else of what the devices have.
func (k *keeper) writePart(step int64, part *checkpoint.PartWriter, dev *devices, copies [][]byte) error {
	if err := k.hold(step, "part"); err != nil {
		return err
	}
	for i, p := range part.Pieces() {
		var data []byte
		if copies != nil {
			data = copies[i]
		} else {
			data = grow(&k.buf, p.Bytes)
			if err := dev.readPiece(k.tensors[p.Tensor], p, data); err != nil {
				return err
			}
		}
		if err := part.Write(i, data); err != nil {
			return err
		}
	}
	return part.Finish()
}

// finishTogether waits until the checkpoint that all are writing has its name.
func (r *run) finishTogether() error {
	for r.keeper.behind != nil {
		if err := r.nextStage(); err != nil {
			return err
		}
	}
	return nil
}

// nextStage waits until all processes have done their work of the stage, and begins the next one. All call it at
// the same point.
func (r *run) nextStage() error {
	k := r.keeper
	w := k.behind
	j := w.jointly
	r.ended.parts = partsUnknown
	err := r.inTouch(j.done)
	if err == nil {
		err = k.peers.Agree(j.err)
	}
	if err == nil && !j.manifest {
		err = j.part.Collect()
	}
	if err != nil {
		return r.notSaved(err)
	}
	if !j.manifest {
		j.manifest, j.done = true, make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			if j.err = k.hold(w.step, "commit"); j.err == nil {
				w.dir, j.err = j.part.Publish()
			}
		}(j.done)
		return nil
	}
	j.part.Close(true)
	k.behind = nil
	if all := time.Since(j.begun); j.waits {
		w.wait = all
	} else {
		w.took = all - w.wait
	}
	if r.root() {
		r.tellCheckpoint(w)
	}
	return nil
}

// notSaved is the error of a checkpoint that all processes wanted to save.
func (r *run) notSaved(err error) error {
	var c *comm.Error
	if errors.As(err, &c) {
		return err
	}
	if err = r.everyones(saveError(err)); r.alike && r.keeper.behind != nil {
		// All have done their work of the stage. What belongs to a manifest that may be there stays.
		r.keeper.behind.jointly.part.Close(r.keeper.behind.jointly.manifest)
		r.keeper.behind = nil
	}
	return err
}

// partsWritten goes on with the checkpoint that is being written, if after the last step all processes had done
// their work of the stage, or one had failed.
func (r *run) partsWritten() error {
	if r.ended.parts == partsUnknown {
		return nil
	}
	return r.nextStage()
}

// drop ends what this process does for a checkpoint when the run ends by an error.
func (j *jointly) drop() error {
	<-j.done
	j.part.Close(j.manifest)
	return j.err
}

// working says whether this process is at work for a checkpoint, and whether it has failed.
func (j *jointly) working() (working, failed bool) {
	select {
	case <-j.done:
		return false, j.err != nil
	default:
		return true, false
	}
}
