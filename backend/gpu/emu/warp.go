package emu

import (
	"fmt"
	"math/bits"
)

// warp is 32 threads: their registers, where they are, and what they have asked for that runs by itself.
type warp struct {
	b        *blockRun
	number   int
	id       int // among the warps of the cluster
	file     []row
	flow     flow
	steps    int64
	copies   asyncCopies
	stores   bulkStores
	products warpProducts
	met      struct{ arrived, waited int } // at the barrier of the cluster
	limits   []int                         // of registers, that setmaxnreg gave
}

// start is before the first instruction of block n.
func (w *warp) start(n int) {
	w.flow.start()
	w.steps, w.limits = 0, nil
	w.copies, w.stores = asyncCopies{begun: w.copies.begun[:0]}, bulkStores{}
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

// turn executes up to so many instructions, until the warp waits or ends.
func (w *warp) turn(budget int64) error {
	limit := w.b.d.Steps
	if limit == 0 {
		limit = 1 << 32
	}
	for ; budget > 0; budget-- {
		i := w.flow.pick(w.b.p.code)
		if i < 0 {
			return nil
		}
		if w.steps++; w.steps > limit {
			return fmt.Errorf("warp %d has taken %d instructions: does it end? %s", w.number, limit, w.where())
		}
		w.b.d.Counts.Instructions++
		if err := w.step(i); err != nil {
			g := group{}
			if i < len(w.flow.groups) {
				g = w.flow.groups[i]
			}
			return fmt.Errorf("warp %d, lanes %08x: %s: %w", w.number, g.mask, w.b.p.text(g.pc), err)
		}
	}
	return nil
}

// step executes the next instruction of group i.
func (w *warp) step(i int) error {
	g := &w.flow.groups[i]
	in := &w.b.p.code[g.pc]
	w.flow.at, w.flow.mask = i, g.mask
	if in.guard >= 0 {
		var holds uint32
		p := &w.file[in.guard]
		for l := range lanes {
			if (p[l] != 0) != in.not {
				holds |= 1 << l
			}
		}
		w.flow.mask &= holds
		if in.all && w.flow.mask != 0 && w.flow.mask != g.mask {
			return fmt.Errorf("its guard holds for the lanes %08x alone", w.flow.mask)
		}
	}
	if in.run == nil { // a branch or an end
		w.flow.jump(i, in)
		return nil
	}
	if w.flow.mask != 0 {
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
	g = &w.flow.groups[i] // a barrier may have let others go on, and changes no place
	if g.waits != nil {
		return nil
	}
	g.woken = false
	g.pc++
	if len(w.flow.groups) > 1 {
		w.flow.meet()
	}
	return nil
}

// where says at which instructions w is.
func (w *warp) where() string {
	s := fmt.Sprintf("warp %d", w.number)
	for _, g := range w.flow.groups {
		s += fmt.Sprintf(" at `%s` (%d lanes)", w.b.p.text(g.pc), bits.OnesCount32(g.mask))
		if g.waits != nil {
			s += ", for " + g.waits.String()
		}
	}
	return s
}
