package emu

import (
	"fmt"
	"math/bits"
	"slices"
)

// warp is 32 threads.
type warp struct {
	b        *blockRun
	number   int
	id       int // among the warps of the cluster
	exists   uint32
	file     []row
	groups   []group // of lanes at the same place, by place
	at       int     // the group that the instruction at hand is for
	mask     uint32  // of its lanes that it is for
	steps    int64
	copies   []asyncCopy // not yet waited for, in the order of issue
	commit   int         // groups of copies that were closed
	stores   []*bulk     // of the async proxy, not yet waited for
	closed   [lanes]int  // groups of them, by lane
	actors   [lanes]int  // that stand for them; 0: none yet
	vain     int         // how often it looked at barriers in memory in vain
	products warpProducts
	met      struct{ arrived, waited int } // at the barrier of the cluster
	limits   []int                         // of registers, that setmaxnreg gave
}

// group is lanes at the same place.
type group struct {
	pc      int
	mask    uint32
	barrier int // 1 + the number of the barrier where they wait; 0 if none
	waits   waiting
	woken   bool // whether it waited in vain, and may be told so
}

// waiting is what lanes wait for at an instruction, which is executed again when that may have
// happened; nil if they do not wait.
type waiting interface{ String() string }

const everyLane = 1<<lanes - 1

// start is before the first instruction of block n.
func (w *warp) start(n int) {
	w.groups = append(w.groups[:0], group{mask: w.exists})
	w.steps, w.copies, w.commit = 0, w.copies[:0], 0
	w.stores, w.closed, w.actors, w.limits, w.vain = nil, [lanes]int{}, [lanes]int{}, nil, 0
	w.met.arrived, w.met.waited = 0, 0
	w.resetProducts()
	p := w.b.p
	copy(w.file, p.first)
	for l := range lanes {
		at := func(i int) *uint64 { return &w.file[p.special0+i][l] }
		*at(0) = uint64(w.number*lanes + l)
		*at(1) = uint64(p.entry.Threads)
		*at(2) = uint64(n)
		*at(3) = uint64(w.b.grid)
		*at(4) = uint64(l)
		*at(5) = uint64(w.number)
		blocks := len(w.b.c.blocks)
		*at(6) = uint64(w.b.rank)
		*at(7) = uint64(blocks)
		*at(8) = uint64(n / blocks)
		*at(9) = uint64(w.b.grid / blocks)
	}
}

// undefined is what registers have before they are written: no address, and as a float far
// from what a computation gives.
const undefined = 0xDEADBEEF_F00DFAC0

func (w *warp) done() bool { return len(w.groups) == 0 }

// turn executes up to so many instructions, until the warp waits or ends.
func (w *warp) turn(budget int64) error {
	limit := w.b.d.Steps
	if limit == 0 {
		limit = 1 << 32
	}
	for ; budget > 0; budget-- {
		i := w.pick()
		if i < 0 {
			return nil
		}
		if w.steps++; w.steps > limit {
			return fmt.Errorf("warp %d has taken %d instructions: does it end? %s", w.number, limit, w.where())
		}
		w.b.d.Counts.Instructions++
		if err := w.step(i); err != nil {
			g := group{}
			if i < len(w.groups) {
				g = w.groups[i]
			}
			return fmt.Errorf("warp %d, lanes %08x: %s: %w", w.number, g.mask, w.b.p.text(g.pc), err)
		}
	}
	return nil
}

// pick is the group at the lowest place that may go on; -1 if none may. Before an
// instruction that needs all lanes, those at it wait for the others.
func (w *warp) pick() int {
	for i := range w.groups {
		g := &w.groups[i]
		if g.barrier > 0 || g.waits != nil {
			continue
		}
		if in := &w.b.p.code[g.pc]; in.all && g.mask != w.alive() {
			continue
		}
		return i
	}
	return -1
}

// alive is the lanes that have not ended.
func (w *warp) alive() uint32 {
	var all uint32
	for i := range w.groups {
		all |= w.groups[i].mask
	}
	return all
}

// step executes the next instruction of group i.
func (w *warp) step(i int) error {
	g := &w.groups[i]
	in := &w.b.p.code[g.pc]
	w.at, w.mask = i, g.mask
	if in.guard >= 0 {
		var holds uint32
		p := &w.file[in.guard]
		for l := range lanes {
			if (p[l] != 0) != in.not {
				holds |= 1 << l
			}
		}
		w.mask &= holds
		if in.all && w.mask != 0 && w.mask != g.mask {
			return fmt.Errorf("its guard holds for the lanes %08x alone", w.mask)
		}
	}
	if in.run == nil { // a branch or an end
		w.jump(i, in)
		return nil
	}
	if w.mask != 0 {
		if w.b.p.products && !in.product {
			if err := w.touch(in); err != nil {
				return err
			}
		}
		if in.double {
			w.b.d.Counts.Doubles++
		}
		if err := in.run(w, in); err != nil {
			return err
		}
	}
	g = &w.groups[i] // a barrier may have let others go on, and changes no place
	if g.waits != nil {
		return nil
	}
	g.woken = false
	g.pc++
	if len(w.groups) > 1 {
		w.meet()
	}
	return nil
}

// ended is the target of the instruction that ends a thread.
const ended = -1

// jump takes the lanes of w.mask of group i to the target of in, the others behind it.
func (w *warp) jump(i int, in *inst) {
	g := &w.groups[i]
	stay := g.mask &^ w.mask
	if in.target == ended {
		g.mask = stay
	} else if w.mask != 0 {
		if stay != 0 {
			w.groups = append(w.groups, group{pc: in.target, mask: w.mask})
			g = &w.groups[i]
			g.mask = stay
		} else {
			g.pc = in.target - 1
		}
	}
	g.pc++
	w.groups = slices.DeleteFunc(w.groups, func(g group) bool { return g.mask == 0 })
	if len(w.groups) > 1 {
		w.meet()
	}
}

// meet sorts groups by place and puts those at the same place together.
func (w *warp) meet() {
	slices.SortStableFunc(w.groups, func(a, b group) int { return a.pc - b.pc })
	out := w.groups[:1]
	for _, g := range w.groups[1:] {
		last := &out[len(out)-1]
		if last.pc == g.pc && last.barrier == g.barrier && last.waits == g.waits && last.woken == g.woken {
			last.mask |= g.mask
		} else {
			out = append(out, g)
		}
	}
	w.groups = out
}

// where says at which instructions w is.
func (w *warp) where() string {
	s := fmt.Sprintf("warp %d", w.number)
	for _, g := range w.groups {
		s += fmt.Sprintf(" at `%s` (%d lanes)", w.b.p.text(g.pc), bits.OnesCount32(g.mask))
		if g.waits != nil {
			s += ", for " + g.waits.String()
		}
	}
	return s
}

// each calls f for the lanes that the instruction at hand is for.
func (w *warp) each(f func(lane int) error) error {
	for m := w.mask; m != 0; m &= m - 1 {
		if err := f(bits.TrailingZeros32(m)); err != nil {
			return err
		}
	}
	return nil
}
