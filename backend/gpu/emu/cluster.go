package emu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"ptc/backend/gpu/ptx"
	"ptc/internal/order"
)

// cluster is blocks that run together, and reach each other's shared memory; one block, if the
// entry says nothing.
type cluster struct {
	*launched
	blocks []*blockRun
	warps  []*warp
	moved  bool    // whether anything happened since all warps had their turn
	wakes  int     // how often all that wait were woken since the last progress
	met    [2]view // what those know that arrived at barrier.cluster, by its phase
}

// maxCluster is how many blocks a cluster has at most, on all GPUs that have clusters.
const maxCluster = 8

func newCluster(d *Device, p *Program, l Launch, params []byte, random *rand.Rand) *cluster {
	c := &cluster{launched: &launched{d: d, p: p, params: params, grid: l.Grid, random: random}}
	blocks, size := max(1, p.entry.Cluster), p.static+l.Shared
	if d.Check {
		c.shadow = newShadow(blocks, words(size), warpsOf(p.entry.Threads), p.alone)
	}
	for rank := range blocks {
		b := newBlock(c, rank, size)
		c.blocks = append(c.blocks, b)
		c.warps = append(c.warps, b.warps...)
	}
	return c
}

// run executes the blocks of cluster number n.
func (c *cluster) run(n int) error {
	c.wakes, c.met = 0, [2]view{}
	if c.shadow != nil {
		c.shadow.reset()
	}
	for _, b := range c.blocks {
		b.start(n*len(c.blocks) + b.rank)
	}
	for {
		live, err := c.round(n)
		if err != nil {
			return err
		}
		if !live {
			return nil
		}
		for _, b := range c.blocks {
			if err := b.drift(); err != nil {
				return b.wrap(n, err)
			}
		}
		if c.moved {
			continue
		}
		if again, err := c.wake(); err != nil {
			return fmt.Errorf("block %d: %w", n*len(c.blocks), err)
		} else if !again {
			return fmt.Errorf("block %d: %w", n*len(c.blocks), c.stuck())
		}
	}
}

// round gives all warps their turns.
func (c *cluster) round(n int) (live bool, err error) {
	c.moved = false
	for _, i := range c.turns() {
		w := c.warps[i]
		if w.flow.done() {
			continue
		}
		live = true
		before := w.steps
		if err := w.turn(c.budget()); err != nil {
			return live, w.b.wrap(n, err)
		}
		if c.moved = c.moved || w.steps != before || w.flow.done(); w.flow.done() {
			c.progress() // barrier.cluster waits for those alone that have not ended
			if err := w.b.end(); err != nil {
				return live, w.b.wrap(n, err)
			}
		}
	}
	return live, nil
}

// wrap says in which block of cluster number n an error is.
func (b *blockRun) wrap(n int, err error) error {
	return fmt.Errorf("block %d: %w", n*len(b.c.blocks)+b.rank, err)
}

// turns is the order in which warps are next.
func (c *cluster) turns() []int {
	if c.random != nil {
		return c.random.Perm(len(c.warps))
	}
	return order.Of(len(c.warps))
}

// budget is how many instructions a warp takes before the next one.
func (c *cluster) budget() int64 {
	if c.random == nil {
		return 1 << 40
	}
	return 1 + c.random.Int64N(1<<c.random.IntN(9))
}

// stuck says who waits where.
func (c *cluster) stuck() error {
	var where []string
	for _, w := range c.warps {
		if !w.flow.done() {
			where = append(where, w.where())
		}
	}
	return errors.New("no thread can go on: " + strings.Join(where, "; "))
}

// end looks at a block of which a warp has ended: once all have, what others did in its memory has to
// come before that.
func (b *blockRun) end() error {
	if slices.ContainsFunc(b.warps, func(w *warp) bool { return !w.flow.done() }) {
		return nil
	}
	b.ended = true
	for thread, clock := range b.reached {
		known := clock == 0
		for _, w := range b.warps {
			known = known || at(b.shadow.warps[w.id].seen, thread) >= clock
			for l := range lanes {
				known = known || b.shadow.warps[w.id].knows(l, thread) >= clock
			}
		}
		if !known {
			return fmt.Errorf("the block ends, and nothing orders before that what thread %d of the cluster did in its memory", thread)
		}
	}
	return b.finish()
}

// Addresses of another block's memory have its rank, from 1 on, behind so many bits; the block's own
// have nothing there.
const rankShift = 24

// resolve is the block that an address of the cluster's memory is of, and where it is there.
func (w *warp) resolve(address uint64) (*blockRun, int, error) {
	rank := int(uint32(address) >> rankShift)
	if rank == 0 {
		return w.b, int(uint32(address)), nil
	}
	if rank > len(w.b.c.blocks) {
		return nil, 0, fmt.Errorf("shared memory of rank %d; the cluster has %d blocks", rank-1, len(w.b.c.blocks))
	}
	b := w.b.c.blocks[rank-1]
	if b.ended {
		return nil, 0, fmt.Errorf("the block of rank %d has ended, and its shared memory is reached", rank-1)
	}
	return b, int(uint32(address) & (1<<rankShift - 1)), nil
}

// reach notes that a lane of w reaches the memory of b.
func (b *blockRun) reach(w *warp, lane int) {
	if b != w.b && b.shadow != nil {
		raise(&b.reached, w.id*lanes+lane, b.shadow.warps[w.id].clock)
	}
}

// decodeMapa is mapa.shared::cluster.u32 d, address, rank.
func decodeMapa(d *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	if s.Op != "mapa.shared::cluster.u32" {
		return fmt.Errorf("the instruction is not known")
	}
	in.run = each(func(w *warp, in *inst, l int) error {
		rank := uint32(w.file[in.from[1]][l])
		if int(rank) >= len(w.b.c.blocks) {
			return fmt.Errorf("lane %d: rank %d of %d", l, rank, len(w.b.c.blocks))
		}
		w.file[in.to[0]][l] = w.file[in.from[0]][l]&(1<<rankShift-1) | uint64(rank+1)<<rankShift
		return nil
	})
	return d.registers(s, in, 1, 2, 32)
}

// meeting is what warps wait for at barrier.cluster.wait.
type meeting struct{ phase int }

func (m *meeting) String() string { return fmt.Sprintf("phase %d of the cluster's barrier", m.phase) }

// decodeMeeting is barrier.cluster.arrive[.release or .relaxed].aligned and wait[.acquire].aligned.
func decodeMeeting(_ *decoder, s *ptx.Stmt, _ []string, in *inst) error {
	in.all = true
	switch s.Op {
	case "barrier.cluster.arrive.aligned", "barrier.cluster.arrive.release.aligned":
		in.run = func(w *warp, _ *inst) error { return w.arriveCluster(true) }
	case "barrier.cluster.arrive.relaxed.aligned":
		in.run = func(w *warp, _ *inst) error { return w.arriveCluster(false) }
	case "barrier.cluster.wait.aligned", "barrier.cluster.wait.acquire.aligned":
		in.run = func(w *warp, _ *inst) error { return w.waitCluster() }
	default:
		return fmt.Errorf("the instruction is not known")
	}
	return none(s)
}

func (w *warp) arriveCluster(release bool) error {
	if w.met.arrived > w.met.waited {
		return fmt.Errorf("it arrives twice without a wait")
	}
	if s := w.b.shadow; s != nil && release {
		// Nobody arrives at a phase before all have left the one before the last.
		s.release(w, w.flow.mask, &w.b.c.met[w.met.arrived%2])
	}
	w.met.arrived++
	w.b.c.progress()
	return nil
}

func (w *warp) waitCluster() error {
	if w.met.arrived == w.met.waited {
		return fmt.Errorf("it waits and has not arrived")
	}
	for _, x := range w.b.c.warps {
		if !x.flow.done() && x.met.arrived < w.met.arrived {
			w.flow.sleep(&meeting{w.met.waited})
			return nil
		}
	}
	if s := w.b.shadow; s != nil {
		s.acquire(w, w.flow.mask, &w.b.c.met[w.met.waited%2])
	}
	w.met.waited++
	return nil
}
