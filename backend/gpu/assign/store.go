package assign

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

const (
	// sliceRegs is how many registers of a tile are computed and stored at a time, where sums
	// are already in as many as a thread can have.
	sliceRegs = 16
	// longWork is of how many tiles computed from sums on slices are half as long.
	longWork = 12
	// sector is what a GPU moves at least between memory and caches, in bytes.
	sector = 32
)

// Stores are stores that follow each other. What they store is computed first: a result may be in the place of what
// another one is made of. Where these are sums of products, and what is computed of them, that is done for a slice of
// them after the other, and registers suffice for long epilogues.
type Stores struct {
	Slices [][]Sink
	Wait   []bool // by slice: between computing and storing, for all threads to have read what is stored over
}

// Sink is a store, and the layout in which its tile is computed.
type Sink struct {
	Op   *tile.Op
	Dims []*tile.Range
	At   *layout.Layout
	// What it is made of and is in a layout of its own, or nil; and whether it is stored in another.
	sums  *tile.Value
	moved bool
}

// stores decides how ops store.
func (c *chosen) stores(ops []*tile.Op) *Stores {
	sinks := make([]Sink, len(ops))
	inPlace := false
	most := sliceRegs
	if c.work(ops) >= longWork {
		most /= 2
	}
	for i, o := range ops {
		sinks[i] = c.sink(o, most)
		inPlace = inPlace || len(o.View.Buffer.Over) > 0
	}
	agree(sinks)
	fixed := c.cuts(sinks, most)
	if len(fixed) == 0 {
		return &Stores{Slices: [][]Sink{sinks}, Wait: []bool{inPlace}}
	}
	apart := slices.ContainsFunc(sinks, func(s Sink) bool { return !s.At.Equal(sinks[0].At) })
	out := &Stores{}
	for n := range 1 << len(fixed) {
		part := slices.Clone(sinks)
		for i, s := range part {
			from := make(layout.Basis, len(s.Dims))
			for j, b := range fixed {
				for d := range from {
					from[d] |= b[d] * (n >> j & 1)
				}
			}
			part[i].At, _ = s.At.Slice(fixed, from)
		}
		out.Slices = append(out.Slices, part)
		// Of slices behind the first, only those wait that have other elements in another store.
		out.Wait = append(out.Wait, inPlace && (n == 0 || apart))
	}
	return out
}

// sink stores in the layout of the sums that the tile is made of, if a warp's access then fills
// sectors, or else so that threads have as much side by side as an access has.
func (c *chosen) sink(o *tile.Op, most int) Sink {
	s := Sink{Op: o, Dims: o.Span()}
	s.At = c.Natural(s.Dims)
	v := o.Args[0]
	s.sums = c.source(v, len(s.Dims), map[*tile.Value]bool{})
	if s.sums == nil {
		return s
	}
	own := c.own[s.sums]
	s.Dims = s.sums.Type.Dims
	e := elementwise.Elem(o.View.Buffer.DType)
	switch {
	case s.sums == v && s.sums.Def.Kind != tile.Dot && s.sums.Def.Kind != tile.For:
		s.At = own
	case own.Regs() < sliceRegs || StridesOf(o, s.Dims, own).run()*int64(e.Bytes()) >= sector:
		s.At = own
	default:
		s.At, s.moved = c.slices(own, c.Sizes(s.Dims), storedAlong(o, s.Dims), Vec(e), most), true
	}
	return s
}

// agree gives stores of one sums one layout, that of the last which is not the sums' own, so that what
// they have in common is computed once; and to stores of as much that is not made of sums as well.
func agree(sinks []Sink) {
	for _, s := range sinks {
		for i := range sinks {
			o := &sinks[i]
			if s.sums != nil && o.sums == nil && len(o.Dims) == len(s.Dims) && !slices.ContainsFunc(o.Dims, func(r *tile.Range) bool { return !slices.Contains(s.Dims, r) }) {
				o.sums, o.Dims, o.At = s.sums, s.Dims, s.At
			}
			if s.moved && o.sums == s.sums {
				o.At = s.At
			}
		}
	}
}

// source is the tile in a layout of its own, of so many dimensions, that v is computed of.
func (c *chosen) source(v *tile.Value, dims int, seen map[*tile.Value]bool) *tile.Value {
	switch {
	case seen[v] || v.Def == nil || len(v.Type.Dims) < dims:
		return nil
	case c.own[v] != nil:
		return v
	case !elementwise.Known(v.Def.Kind):
		return nil
	}
	seen[v] = true
	for _, arg := range v.Def.Args {
		if x := c.source(arg, dims, seen); x != nil {
			return x
		}
	}
	return nil
}

// storedAlong is the dimension along which o stores neighbours in memory; the last where there is none.
func storedAlong(o *tile.Op, dims []*tile.Range) int {
	if d := slices.Index(dims, neighbours(o)); d >= 0 {
		return d
	}
	return max(0, len(dims)-1)
}

// cuts are the bits of positions that tell slices apart: none where the stores are not of one
// product's sums, or threads have few.
func (c *chosen) cuts(sinks []Sink, most int) []layout.Basis {
	var fixed []layout.Basis
	for i, s := range sinks {
		if s.sums == nil || s.sums != sinks[0].sums {
			return nil
		}
		own := c.own[s.sums]
		if own.Regs() <= most {
			return nil
		}
		both := own.Common(s.At, 3) // an access of 8 numbers is not cut
		if i == 0 {
			fixed = both
			continue
		}
		fixed = slices.DeleteFunc(fixed, func(b layout.Basis) bool { return !layout.Has(both, b) })
	}
	n := 0
	for regs := c.own[sinks[0].sums].Regs(); n < len(fixed) && regs > most; regs /= 2 {
		n++
	}
	return fixed[:n]
}

// work is how many tiles of the sums' size ops have computed, each of which may take registers until all
// is stored.
func (c *chosen) work(ops []*tile.Op) int {
	seen := map[*tile.Value]bool{}
	n := 0
	var visit func(v *tile.Value, dims int)
	visit = func(v *tile.Value, dims int) {
		if seen[v] || v.Def == nil || len(v.Type.Dims) < dims || c.own[v] != nil {
			return
		}
		seen[v] = true
		n++
		if elementwise.Known(v.Def.Kind) {
			for _, x := range v.Def.Args {
				visit(x, dims)
			}
		}
	}
	for _, o := range ops {
		visit(o.Args[0], len(o.Span()))
	}
	return n
}

// slices is a layout in which threads have as much side by side as an access has, and which is cut into slices
// as own is, the layout of sums: in so many registers of each thread.
func (t *Tiles) slices(own *layout.Layout, sizes []int, fast, vec, most int) *layout.Layout {
	at := layout.Blocked(sizes, fast, vec, t.Threads)
	wanted := 0
	for regs := own.Regs(); regs > most; regs /= 2 {
		wanted++
	}
	if len(own.Common(at, 3)) >= wanted {
		return at
	}
	var last []layout.Basis
	for _, b := range slices.Backward(own.Reg) {
		if len(last) < wanted && (b[fast] == 0 || b[fast] >= 2*vec) {
			last = append(last, b)
		}
	}
	slices.Reverse(last)
	return layout.BlockedBut(sizes, fast, vec, t.Threads, last)
}
