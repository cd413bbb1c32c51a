package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
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

// stores computes what ops store, and then stores it: a result may be in the place of what
// another one is made of. Where these are sums of products, and what is computed of them, it
// does so for a slice of them after the other, and registers suffice for long epilogues.
func (l *lowering) stores(ops []*tile.Op) {
	if len(ops) == 0 {
		return
	}
	sinks := make([]sink, len(ops))
	inPlace := false
	most := sliceRegs
	if l.work(ops) >= longWork {
		most /= 2
	}
	for i, o := range ops {
		sinks[i] = l.sink(o, most)
		inPlace = inPlace || len(o.View.Buffer.Over) > 0
	}
	agree(sinks)
	fixed := l.cuts(sinks, most)
	apart := slices.ContainsFunc(sinks, func(s sink) bool { return !s.at.Equal(sinks[0].at) })
	for n := range 1 << len(fixed) {
		// Other threads may have to read what is stored over; of slices behind the first, only those do
		// that have other elements in another store.
		wait := inPlace && (n == 0 || apart)
		if len(fixed) == 0 {
			l.storeAll(sinks, wait)
			continue
		}
		part := slices.Clone(sinks)
		for i, s := range part {
			from := make(layout.Basis, len(s.dims))
			for j, b := range fixed {
				for d := range from {
					from[d] |= b[d] * (n >> j & 1)
				}
			}
			part[i].at, _ = s.at.Slice(fixed, from)
		}
		// Addresses that were computed before the products would take registers in their loop.
		l.b.Anew(func() { l.storeAll(part, wait) })
	}
}

// storeAll computes all that sinks store, waits for all threads to have done so if it has to,
// and stores it.
func (l *lowering) storeAll(sinks []sink, wait bool) {
	var now []func()
	for _, s := range sinks {
		now = append(now, l.store(s))
	}
	if wait {
		l.b.Sync()
	}
	for _, f := range now {
		f()
	}
}

// sink is a store, and the layout in which its tile is computed.
type sink struct {
	o    *tile.Op
	dims []*tile.Range
	at   *layout.Layout
	// What it is made of and is in a layout of its own, or nil; and whether it is stored in another.
	sums  *tile.Value
	moved bool
}

// sink stores in the layout of the sums that the tile is made of, if a warp's access then fills
// sectors, or else so that threads have as much side by side as an access has.
func (l *lowering) sink(o *tile.Op, most int) sink {
	s := sink{o: o, dims: o.Span()}
	s.at = l.natural(s.dims)
	v := o.Args[0]
	s.sums = l.source(v, len(s.dims), map[*tile.Value]bool{})
	if s.sums == nil {
		return s
	}
	own := l.held[s.sums]
	s.dims = s.sums.Type.Dims
	e := elementwise.Elem(o.View.Buffer.DType)
	switch {
	case s.sums == v && s.sums.Def.Kind != tile.Dot && s.sums.Def.Kind != tile.For:
		s.at = own
	case own.Regs() < sliceRegs || l.run(o, s.dims, own)*int64(e.Bytes()) >= sector:
		s.at = own
	default:
		s.at, s.moved = l.slices(own, l.sizes(s.dims), l.stored(o, s.dims), vec(e), most), true
	}
	return s
}

// agree gives stores of one sums one layout, that of the last which is not the sums' own, so that what
// they have in common is computed once; and to stores of as much that is not made of sums as well.
func agree(sinks []sink) {
	for _, s := range sinks {
		for i := range sinks {
			o := &sinks[i]
			if s.sums != nil && o.sums == nil && len(o.dims) == len(s.dims) && !slices.ContainsFunc(o.dims, func(r *tile.Range) bool { return !slices.Contains(s.dims, r) }) {
				o.sums, o.dims, o.at = s.sums, s.dims, s.at
			}
			if s.moved && o.sums == s.sums {
				o.at = s.at
			}
		}
	}
}

// source is the tile in a layout of its own, of so many dimensions, that v is computed of.
func (l *lowering) source(v *tile.Value, dims int, seen map[*tile.Value]bool) *tile.Value {
	switch {
	case seen[v] || v.Def == nil || len(v.Type.Dims) < dims:
		return nil
	case l.held[v] != nil:
		return v
	case !elementwise.Known(v.Def.Kind):
		return nil
	}
	seen[v] = true
	for _, a := range v.Def.Args {
		if x := l.source(a, dims, seen); x != nil {
			return x
		}
	}
	return nil
}

// run is how many neighbours in memory the lanes of a warp store together.
func (l *lowering) run(o *tile.Op, dims []*tile.Range, at *layout.Layout) int64 {
	p := l.strides(o, dims, at)
	if p.looked != nil {
		return 1
	}
	n := int64(1)
	bases := append(append([]layout.Basis(nil), at.Reg[:min(2, len(at.Reg))]...), at.Lane...)
	for again := true; again; {
		again = false
		for _, b := range bases {
			far := int64(0)
			for d, s := range p.stride {
				far += s * int64(b[d])
			}
			if far == n {
				n, again = 2*n, true
			}
		}
	}
	return n
}

// stored is the dimension along which o stores neighbours in memory; the last where there is none.
func (l *lowering) stored(o *tile.Op, dims []*tile.Range) int {
	r := neighbours(o)
	for d, x := range dims {
		if x == r {
			return d
		}
	}
	return max(0, len(dims)-1)
}

// cuts are the bits of positions that tell slices apart: none where the stores are not of one
// product's sums, or threads have few.
func (l *lowering) cuts(sinks []sink, most int) []layout.Basis {
	var fixed []layout.Basis
	for i, s := range sinks {
		if s.sums == nil || s.sums != sinks[0].sums {
			return nil
		}
		own := l.held[s.sums]
		if own.Regs() <= most {
			return nil
		}
		both := own.Common(s.at, 3) // an access of 8 numbers is not cut
		if i == 0 {
			fixed = both
			continue
		}
		var kept []layout.Basis
		for _, b := range fixed {
			if layout.Has(both, b) {
				kept = append(kept, b)
			}
		}
		fixed = kept
	}
	n := 0
	for regs := l.held[sinks[0].sums].Regs(); n < len(fixed) && regs > most; regs /= 2 {
		n++
	}
	return fixed[:n]
}

// work is how many tiles of the sums' size ops have computed, each of which may take registers until all
// is stored.
func (l *lowering) work(ops []*tile.Op) int {
	seen := map[*tile.Value]bool{}
	n := 0
	var visit func(v *tile.Value, dims int)
	visit = func(v *tile.Value, dims int) {
		if seen[v] || v.Def == nil || len(v.Type.Dims) < dims || l.held[v] != nil {
			return
		}
		seen[v] = true
		n++
		if elementwise.Known(v.Def.Kind) {
			for _, a := range v.Def.Args {
				visit(a, dims)
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
func (l *lowering) slices(own *layout.Layout, sizes []int, fast, vec, most int) *layout.Layout {
	at := layout.Blocked(sizes, fast, vec, l.warps)
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
	return layout.BlockedBut(sizes, fast, vec, l.warps, last)
}

// store computes what s stores, and gives what stores it.
func (l *lowering) store(s sink) func() {
	o, at := s.o, s.at
	p := l.place(o, s.dims, at)
	in := l.exists(at, s.dims)
	buf := l.bufs[o.View.Buffer]
	g := group{p: p, base: l.b.At(buf, p.base), n: p.width(at, s.dims, buf.Elem), once: l.once(at), in: in}
	g.regs, g.pick = l.part(o.Args[0], s.dims, at)
	return func() {
		for r := 0; r < at.Regs(); r += g.n {
			l.storeGroup(g, r)
		}
	}
}

// storeGroup stores the registers [r, r+n), which are next to each other.
func (l *lowering) storeGroup(g group, r int) {
	a := thread.Access{If: g.once}
	if g.in != nil {
		a.If = l.both(g.in(r), g.once)
	}
	to := g.base
	if g.p.looked != nil {
		more, inside := g.p.looked(r)
		to = l.b.At(to, more)
		a.If = l.both(a.If, inside)
	}
	x := make([]*thread.Value, g.n)
	for i := range x {
		x[i] = g.regs[g.pick(r+i)]
	}
	l.b.Store(l.b.At(to, kernel.Int(g.p.offset(r))), a, x)
}

// group is what stores of one tile share.
type group struct {
	p    place
	base thread.Pointer
	n    int
	once *thread.Value
	in   func(r int) *thread.Value
	regs []*thread.Value
	pick func(r int) int
}

// once holds for one of the threads that have the same elements; nil where none do.
func (l *lowering) once(at *layout.Layout) *thread.Value {
	lane, warp := at.Copies()
	var out *thread.Value
	for _, x := range []struct {
		n    *thread.Value
		mask int
	}{{l.b.Special(thread.Lane), lane}, {l.warp(), warp}} {
		if x.mask != 0 {
			out = l.both(out, l.b.Eq(l.b.And(x.n, l.i32(int64(x.mask))), l.i32(0)))
		}
	}
	return out
}
