package train

import (
	"cmp"
	"fmt"
	"time"

	"ptc/internal/units"
	"ptc/runtime/checkpoint"
	"ptc/runtime/device/host"
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

// writing is a checkpoint that is being written. Dir, err and took may be read once
// done is closed.
type writing struct {
	step    int64
	begun   time.Time
	wait    time.Duration // that steps waited for the copy
	done    chan struct{}
	jointly *jointly // where all processes write it, which then says when it is done
	waits   bool     // steps wait for what all processes write

	dir  string
	err  error
	took time.Duration
}

// saver saves the checkpoints of a run. Without a folder of checkpoints it is nil, and does nothing.
type saver struct {
	*job
	keeper  *keeper
	dev     *devices
	grace   *grace
	buf     []byte   // of the largest tensor, or piece of one
	copies  [][]byte // of what this process writes; nil: not yet
	cramped bool     // there is no room for copies
	behind  *writing // nil: none
	dir     string   // of the checkpoint that was written last
}

func newSaver(s *session, g *grace) *saver {
	if s.keeper == nil {
		return nil
	}
	return &saver{job: s.job, keeper: s.keeper, dev: s.dev, grace: g}
}

// hasRoom says whether the state can be copied into memory of the host, and makes
// the room the first time: at most half of what is free is taken, so that data,
// caches of files and other processes keep the rest.
func (s *saver) hasRoom() bool {
	if s.copies != nil || s.cramped {
		return !s.cramped
	}
	k, left := s.keeper, s.o.free
	if left == nil {
		left = host.Free
	}
	if free, ok := left(); ok && k.onHost > free/2 {
		s.cramped = true
		s.log.warn(fmt.Sprintf("a checkpoint takes %s, more than half of this host's %s of free memory: steps wait until each checkpoint is written",
			units.Bytes(k.onHost), units.Bytes(max(0, free))))
		return false
	}
	if k.division != nil {
		for _, p := range k.division.Pieces(k.peers.Rank) {
			s.copies = append(s.copies, make([]byte, p.Bytes))
		}
		return true
	}
	for _, t := range k.tensors {
		s.copies = append(s.copies, make([]byte, t.Bytes()))
	}
	return true
}

// save saves the state after the last step that is done, which had that loss: behind the steps
// that follow, unless it is the last save. The save has begun at begun.
func (s *saver) save(step int64, loss float64, last bool, begun time.Time) error {
	if err := s.await(fmt.Sprintf("the checkpoint of step %d", step)); err != nil {
		return err
	}
	k, meta := s.keeper, s.keeper.metaOf(step, loss)
	w := &writing{step: step, begun: begun}
	switch {
	case s.procs.several():
		return s.saveTogether(w, meta, last)
	case !last && !s.o.CheckpointSync && s.hasRoom():
		return s.writeBehind(w, meta)
	}
	var err error
	if w.dir, err = k.write(meta, func(i int) ([]byte, error) {
		dst := grow(&s.buf, k.tensors[i].Bytes())
		return dst, s.dev.read(k.tensors[i], dst)
	}); err != nil {
		return err
	}
	w.wait = time.Since(begun)
	s.tell(w)
	return nil
}

// writeBehind copies the state and begins to write the copies. Nothing else uses the store or the copies
// until the writing is done.
func (s *saver) writeBehind(w *writing, meta checkpoint.Meta) error {
	k := s.keeper
	for _, i := range k.order {
		if err := s.dev.read(k.tensors[i], s.copies[i]); err != nil {
			return err
		}
	}
	w.wait, w.done = time.Since(w.begun), make(chan struct{})
	s.behind = w
	go func() {
		defer close(w.done)
		from := time.Now()
		w.dir, w.err = k.write(meta, func(i int) ([]byte, error) { return s.copies[i], nil })
		w.took = time.Since(from)
	}()
	return nil
}

// saveTogether saves by all processes, each of which calls it.
func (s *saver) saveTogether(w *writing, meta checkpoint.Meta, last bool) (err error) {
	if w.jointly, err = beginJointly(s.procs, s.keeper, meta); err != nil {
		return err
	}
	s.behind = w
	if w.waits, err = s.procs.stop(last || s.o.CheckpointSync || !s.hasRoom()); err != nil {
		close(w.jointly.done)
		return err
	}
	tensors := s.keeper.tensors
	if w.waits {
		if err := w.jointly.writeNow(func(_ int, p checkpoint.Piece) ([]byte, error) {
			dst := grow(&s.buf, p.Bytes)
			return dst, s.dev.readPiece(tensors[p.Tensor], p, dst)
		}); err != nil {
			return err
		}
		return s.finishTogether()
	}
	for i, p := range w.jointly.part.Pieces() {
		if err := s.dev.readPiece(tensors[p.Tensor], p, s.copies[i]); err != nil {
			close(w.jointly.done)
			return err
		}
	}
	w.wait = time.Since(w.begun)
	w.jointly.writeBehind(s.copies)
	return nil
}

// finishTogether waits until the checkpoint that all are writing has its name.
func (s *saver) finishTogether() error {
	for s.behind != nil {
		if err := s.nextStage(); err != nil {
			return err
		}
	}
	return nil
}

// nextStage goes on with the checkpoint that all are writing.
func (s *saver) nextStage() error {
	w := s.behind
	ended, err := w.jointly.next()
	if ended {
		s.behind = nil
	}
	if err != nil || !ended {
		return err
	}
	if all := time.Since(w.begun); w.waits {
		w.wait = all
	} else {
		w.took = all - w.wait
	}
	if w.dir = w.jointly.dir; s.procs.root() {
		s.tell(w)
	}
	return nil
}

// written tells of a checkpoint that was written behind the run, if one
// is done; an error ends the run.
func (s *saver) written() error {
	if s == nil || s.behind == nil {
		return nil
	}
	w := s.behind
	if w.jointly != nil {
		if s.procs.ended.parts == partsUnknown {
			return nil
		}
		return s.nextStage()
	}
	select {
	case <-w.done:
	default:
		return nil
	}
	if s.behind = nil; w.err != nil {
		return w.err
	}
	s.tell(w)
	return nil
}

func (s *saver) tell(w *writing) {
	s.dir = w.dir
	s.log.Tell(&metrics.Checkpoint{Step: w.step, Dir: w.dir, WaitMs: ms(w.wait), WriteMs: ms(w.took)})
	s.grace.saved("measured at step "+fmt.Sprint(w.step), w.wait+w.took)
}

// longWait is how long a save may wait for the one before it without a warning.
const longWait = 100 * time.Millisecond

// await waits until no checkpoint is being written. All processes call it
// at the same point, and stay in touch meanwhile. of names what waits.
func (s *saver) await(of string) error {
	if s == nil || s.behind == nil {
		return nil
	}
	w, begun := s.behind, time.Now()
	var err error
	if w.jointly != nil {
		err = s.finishTogether()
	} else {
		<-w.done
	}
	if waited := time.Since(begun); of != "" && waited > longWait {
		s.log.warn(fmt.Sprintf("%s waited %s for the checkpoint of step %d: save less often, or use a faster disk", of, round(waited), w.step))
	}
	return cmp.Or(err, s.written())
}

// close waits for what is being written when a run ends by an error, which
// stays the one that the run ends with, and gives the folder of the checkpoint that was saved last.
func (s *saver) close() string {
	switch {
	case s == nil:
		return ""
	case s.behind == nil:
	case s.behind.jointly != nil:
		if err := s.behind.jointly.drop(); err != nil {
			s.log.warn(saveError(err).Error())
		}
	default:
		<-s.behind.done
		if err := s.written(); err != nil {
			s.log.warn(err.Error())
		}
	}
	return s.dir
}

// parts are the bits of what this process does for a checkpoint that all are writing.
func (s *saver) parts() byte {
	if s == nil || s.behind == nil || s.behind.jointly == nil {
		return 0
	}
	return s.behind.jointly.bits()
}

// probeBytes is how much is written to see how fast a folder is.
const probeBytes = 64 << 20

// grace warns, once, if a run may take longer to end than its scheduler waits.
type grace struct {
	*job
	step   time.Duration // the longest
	warned bool
}

// probe says before the first step whether checkpoints are likely to take too long, by writing some of as many
// bytes as this host writes. A run with a limit saves checkpoints.
func (g *grace) probe(k *keeper) error {
	if g.o.Grace <= 0 || !g.procs.root() {
		return nil
	}
	n := min(k.onHost, probeBytes)
	took, err := k.store.Probe(n)
	if err != nil {
		return saveError(err)
	}
	if n > 0 {
		took = time.Duration(float64(took) * float64(k.onHost) / float64(n))
	}
	g.saved("estimated from writing "+units.Bytes(n), took)
	return nil
}

// ran notes how long a step took.
func (g *grace) ran(step time.Duration) { g.step = max(g.step, step) }

// saved compares a save, known as how says, and the longest step with what a scheduler waits. Its signal may come
// while one checkpoint is being written, and just after a step has begun.
func (g *grace) saved(how string, save time.Duration) {
	need := g.step + save
	if g.o.Every > 0 && !g.o.CheckpointSync {
		need += save
	}
	if g.o.Grace <= 0 || need <= g.o.Grace || g.warned {
		return
	}
	g.warned = true
	step := ""
	if g.step > 0 {
		step = fmt.Sprintf(", and a step up to %s", round(g.step))
	}
	g.log.warn(fmt.Sprintf("--grace is %s, but ending the run may take %s: a checkpoint takes %s, %s%s; ask the scheduler for more time",
		g.o.Grace, round(need), round(save), how, step))
}
