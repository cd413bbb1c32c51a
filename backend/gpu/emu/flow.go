package emu

import (
	"math/bits"
	"slices"
)

// flow is where the lanes of a warp are: those at the same place are one group and go on together.
type flow struct {
	exists uint32
	groups []group // by place
	at     int     // the group that the instruction at hand is for
	mask   uint32  // of its lanes that it is for
	vain   int     // how often they looked at barriers in memory in vain
}

// group is lanes at the same place.
type group struct {
	pc      int
	mask    uint32
	barrier int // 1 + the number of the barrier where they wait; 0 if none
	waits   waiting
	woken   bool // its last wait timed out
}

// waiting is what lanes are blocked on at an instruction, which is executed again when that may have happened; nil if
// they are not.
type waiting interface{ String() string }

const everyLane = 1<<lanes - 1

// start is before the first instruction of a block.
func (f *flow) start() { f.groups, f.vain = append(f.groups[:0], group{mask: f.exists}), 0 }

func (f *flow) done() bool { return len(f.groups) == 0 }

// pick is the group at the lowest place that may go on; -1 if none may. Before an
// instruction that needs all lanes, those at it wait for the others.
func (f *flow) pick(code []inst) int {
	for i := range f.groups {
		g := &f.groups[i]
		if g.barrier > 0 || g.waits != nil {
			continue
		}
		if in := &code[g.pc]; in.all && g.mask != f.alive() {
			continue
		}
		return i
	}
	return -1
}

// alive is the lanes that have not ended.
func (f *flow) alive() uint32 {
	var all uint32
	for i := range f.groups {
		all |= f.groups[i].mask
	}
	return all
}

// ended is the target of the instruction that ends a thread.
const ended = -1

// jump takes the lanes of f.mask of group i to the target of in, the others behind it.
func (f *flow) jump(i int, in *inst) {
	g := &f.groups[i]
	stay := g.mask &^ f.mask
	if in.target == ended {
		g.mask = stay
	} else if f.mask != 0 {
		if stay != 0 {
			f.groups = append(f.groups, group{pc: in.target, mask: f.mask})
			g = &f.groups[i]
			g.mask = stay
		} else {
			g.pc = in.target - 1
		}
	}
	g.pc++
	f.groups = slices.DeleteFunc(f.groups, func(g group) bool { return g.mask == 0 })
	if len(f.groups) > 1 {
		f.meet()
	}
}

// meet sorts groups by place and puts those at the same place together.
func (f *flow) meet() {
	slices.SortStableFunc(f.groups, func(a, b group) int { return a.pc - b.pc })
	out := f.groups[:1]
	for _, g := range f.groups[1:] {
		last := &out[len(out)-1]
		if last.pc == g.pc && last.barrier == g.barrier && last.waits == g.waits && last.woken == g.woken {
			last.mask |= g.mask
		} else {
			out = append(out, g)
		}
	}
	f.groups = out
}

// sleep blocks the group at hand on x; it executes the same instruction again when it wakes.
func (f *flow) sleep(x waiting) { f.groups[f.at].waits = x }

// woken reports whether the wait of the group at hand timed out.
func (f *flow) woken() bool { return f.groups[f.at].woken }

// each calls f for the lanes that the instruction at hand is for.
func (f *flow) each(do func(lane int) error) error {
	for m := f.mask; m != 0; m &= m - 1 {
		if err := do(bits.TrailingZeros32(m)); err != nil {
			return err
		}
	}
	return nil
}
