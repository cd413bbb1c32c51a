package train

import (
	"cmp"
	"fmt"
	"time"

	"ptc/internal/units"
	"ptc/runtime/checkpoint"
	"ptc/runtime/metrics"
)

// A checkpoint is written behind the run: steps wait until the tensors are copied
// into memory of the host, and go on while a goroutine writes the copy, hashes it
// and gives it its name. One is written at a time:
//
//	steps      1 2 3 copy 4 5 6 ······ copy 7 8 9 …
//	goroutine        └─ write 3 ─────┘ └─ write 6 ──
//	                          ^ the save after step 6 waits for that after step 3
//
// What is written is what would have been, for a copy is of the state between two
// steps, and saves follow one another in the same order. Only the end waits: the
// last save has nothing to overlap with, and is made in the foreground.

// writing is a checkpoint that is being written. Its other fields may be read once
// done is closed.
type writing struct {
	step    int64
	wait    time.Duration // that steps waited for the copy
	done    chan struct{}
	jointly *jointly // where all processes write it, which then says when it is done

	dir  string
	err  error
	took time.Duration
}

// hasRoom says whether the state can be copied into memory of the host, and makes
// the room the first time: at most half of what is free is taken, so that data,
// caches of files and other processes keep the rest.
func (k *keeper) hasRoom() bool {
	if k.copies != nil || k.cramped {
		return !k.cramped
	}
	need := k.copyBytes()
	if free, ok := k.free(); ok && need > free/2 {
		k.cramped = true
		k.store.Warn(fmt.Sprintf("a checkpoint takes %s, more than half of the %s of memory that this host has left: steps wait until each is written",
			units.Bytes(need), units.Bytes(max(0, free))))
		return false
	}
	if k.division != nil {
		for _, p := range k.division.Pieces(k.peers.Rank) {
			k.copies = append(k.copies, make([]byte, p.Bytes))
		}
		return true
	}
	for _, t := range k.tensors {
		k.copies = append(k.copies, make([]byte, t.Bytes()))
	}
	return true
}

// copyBytes is the memory that copies take on this host: those of all processes that are on it.
func (k *keeper) copyBytes() (n int64) {
	if k.division == nil {
		return stateBytes(k.tensors)
	}
	return k.mine * int64(k.hostmates)
}

func stateBytes(ts []checkpoint.Tensor) (n int64) {
	for _, t := range ts {
		n += t.Bytes()
	}
	return n
}

// copyAll copies the state.
func (k *keeper) copyAll(dev *devices) error {
	for _, i := range k.order {
		if err := dev.read(k.tensors[i], k.copies[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeBehind begins to write the copies. Nothing else uses the store or the copies
// until the writing is done.
func (k *keeper) writeBehind(step int64, loss float64, begun time.Time) {
	meta := k.metaOf(step, loss)
	w := &writing{step: step, wait: time.Since(begun), done: make(chan struct{})}
	k.behind = w
	go func() {
		defer close(w.done)
		from := time.Now()
		w.dir, w.err = k.write(meta, func(i int) ([]byte, error) { return k.copies[i], nil })
		w.took = time.Since(from)
	}()
}

// checkpointWritten tells of a checkpoint that was written behind the run, if one
// is done; an error ends the run.
func (r *run) checkpointWritten() error {
	if r.keeper == nil || r.keeper.behind == nil {
		return nil
	}
	if r.keeper.behind.jointly != nil {
		return r.partsWritten()
	}
	select {
	case <-r.keeper.behind.done:
	default:
		return nil
	}
	w := r.keeper.behind
	r.keeper.behind = nil
	if w.err != nil {
		return w.err
	}
	r.tellCheckpoint(w)
	return nil
}

func (r *run) tellCheckpoint(w *writing) {
	r.sum.Checkpoint = w.dir
	r.log.Tell(&metrics.Checkpoint{Step: w.step, Dir: w.dir, WaitMs: ms(w.wait), WriteMs: ms(w.took)})
	r.watchGrace(w)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// longWait is how long a save may wait for the one before it without a warning.
const longWait = 100 * time.Millisecond

// awaitCheckpoint waits until no checkpoint is being written. All processes call it
// at the same point, and stay in touch meanwhile. of names what waits.
func (r *run) awaitCheckpoint(of string) error {
	if r.keeper == nil {
		return nil
	}
	w := r.keeper.behind
	if w == nil {
		return nil
	}
	begun := time.Now()
	var err error
	if w.jointly != nil {
		err = r.finishTogether()
	} else {
		<-w.done
	}
	if waited := time.Since(begun); of != "" && waited > longWait {
		r.warn(fmt.Sprintf("%s waited %s until the checkpoint of step %d was written: fewer checkpoints, or a faster disk, would let steps go on", of, round(waited), w.step))
	}
	return cmp.Or(err, r.checkpointWritten())
}

// leaveNothing waits for what is being written when a run ends by an error, which
// stays the one that the run ends with.
func (r *run) leaveNothing() {
	if r.keeper == nil || r.keeper.behind == nil {
		return
	}
	if j := r.keeper.behind.jointly; j != nil {
		if err := j.drop(); err != nil {
			r.warn(saveError(err).Error())
		}
		return
	}
	<-r.keeper.behind.done
	if err := r.checkpointWritten(); err != nil {
		r.warn(err.Error())
	}
}

// round makes a duration short to read.
func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// probeBytes is how much is written to see how fast a folder is.
const probeBytes = 64 << 20

// probeGrace says before the first step whether checkpoints are likely to take longer
// than a scheduler waits, by writing some of as many bytes.
func (r *run) probeGrace() error {
	if r.o.Grace <= 0 || r.keeper == nil || !r.root() {
		return nil
	}
	all := r.keeper.copyBytes() // what this host writes
	some := min(all, probeBytes)
	took, err := r.keeper.store.Probe(some)
	if err != nil {
		return saveError(err)
	}
	if some > 0 {
		took = time.Duration(float64(took) * float64(all) / float64(some))
	}
	r.graceWarning("by what its folder takes for "+units.Bytes(some), took)
	return nil
}

// watchGrace compares a save and the longest step with what a scheduler waits.
func (r *run) watchGrace(w *writing) {
	if r.o.Grace > 0 {
		r.graceWarning("as that of step "+fmt.Sprint(w.step), w.wait+w.took)
	}
}

// graceWarning warns once. A signal may come while one checkpoint is being written,
// and just after a step has begun.
func (r *run) graceWarning(how string, save time.Duration) {
	need := r.longest + save
	if r.o.Every > 0 && !r.o.CheckpointSync {
		need += save
	}
	if need <= r.o.Grace || r.hurried {
		return
	}
	r.hurried = true
	step := ""
	if r.longest > 0 {
		step = fmt.Sprintf(", and a step up to %s", round(r.longest))
	}
	r.warn(fmt.Sprintf("--grace is %s, and to end a run may take %s: a checkpoint takes %s, %s%s; ask the scheduler for more time",
		r.o.Grace, round(need), round(save), how, step))
}
