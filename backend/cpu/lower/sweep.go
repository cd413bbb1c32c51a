package lower

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// sweep lowers a sweep: loops over its dimensions, in vectors along the last of them. At
// each position everything is computed before any of it is stored, since one result may
// lie over what another is computed from.
func (l *lowering) sweep(s *step) {
	needed := l.spilled(s.roots(), func(g *registers) bool {
		return len(s.reds) == 0 && s.shared == nil && sameSet(g.dims, s.dims)
	})
	l.check(needed)
	if g := l.unrolled(needed); g != nil {
		l.each(g, func() { l.element(s, nil) })
		l.finish(s)
		return
	}
	if len(s.dims) == 0 {
		l.within(func() { l.element(s, nil) })
		for _, o := range s.reds { // of one element
			l.know(o.Result(), l.value(o.Args[0]))
		}
		l.finish(s)
		return
	}
	dims := l.loops(s)
	for _, v := range s.keeps {
		l.keep(v, dims)
	}
	inner, outer := dims[len(dims)-1], dims[:len(dims)-1]
	u := int64(1)
	if len(s.reds) > 0 {
		u = l.chainsOf(inner)
	}
	acc := l.outerLoops(outer, dims, l.start(s.reds, u), needed, func(acc []*kernel.Value) []*kernel.Value {
		return l.vectors(inner, int(u), acc, func(acc []*kernel.Value) []*kernel.Value { return l.element(s, acc) })
	})
	l.leave(dims)
	for i, o := range s.reds {
		l.know(o.Result(), l.join(o, acc, i, len(s.reds)))
	}
	l.finish(s)
}

// loops are the dimensions of a sweep in the order of its loops. Reductions keep the
// order of the ranges, of which the last goes in vectors.
func (l *lowering) loops(s *step) []*tile.Range {
	if len(s.reds) > 0 {
		return s.dims
	}
	return last(s.dims, l.units.vector(s.dims))
}

// element computes a sweep at the present position: the next accumulators of its
// reductions, and what it stores.
func (l *lowering) element(s *step, acc []*kernel.Value) []*kernel.Value {
	out := make([]*kernel.Value, len(s.stores))
	for i, o := range s.stores {
		out[i] = l.value(o.Args[0])
	}
	for _, v := range s.keeps {
		if k := l.kept[v]; k != nil {
			l.b.Store(k.ref(l.position).Masked(l.mask), l.b.Splat(l.value(v), l.lanes))
		}
	}
	next := make([]*kernel.Value, len(acc))
	for i := range acc {
		o := s.reds[i]
		next[i] = l.accumulate(o, acc[i], l.value(o.Args[0]))
	}
	for i, o := range s.stores {
		l.store(o, out[i])
	}
	return next
}

// finish notes what a sweep stored: from now on what it kept is loaded.
func (l *lowering) finish(s *step) {
	for _, v := range s.keeps {
		if l.kept[v] != nil {
			l.kept[v].full = true
		}
	}
	for _, o := range s.stores {
		l.wrote(o.View.Buffer)
	}
}

// scratch is a tile kept in memory, dense in the order of a sweep's loops.
type scratch struct {
	buf  *kernel.Buffer
	dims []*tile.Range
	full bool
}

// keep makes scratch for v.
func (l *evaluator) keep(v *tile.Value, dims []*tile.Range) {
	if k := l.kept[v]; k != nil { // of code for another number of positions
		k.dims = dims
		return
	}
	n := int64(1)
	for _, r := range dims {
		n *= r.Size
	}
	e := elem(v.Type.DType).Register()
	if e == kernel.I1 {
		e = kernel.Bool
	}
	l.kept[v] = &scratch{buf: l.b.Scratch("kept", e, n), dims: dims}
}

// ref is the place of the present position.
func (s *scratch) ref(l *position) kernel.Ref {
	r := kernel.Ref{Buf: s.buf}
	n := int64(1)
	for _, d := range slices.Backward(s.dims) {
		c := l.where(d)
		r.Index = r.Index.Add(c.idx.Sub(l.first[d]).Mul(n))
		if c.vec {
			r.Stride += n
		}
		n *= d.Size
	}
	return r
}

func sameSet(x, y []*tile.Range) bool {
	return len(x) == len(y) && !slices.ContainsFunc(x, func(r *tile.Range) bool { return !slices.Contains(y, r) })
}

// needed are the tiles that computing roots computes, operands first.
func (l *lowering) needed(roots []*tile.Value) []*tile.Value {
	var out []*tile.Value
	seen := map[*tile.Value]bool{}
	var walk func(v *tile.Value)
	walk = func(v *tile.Value) {
		if v == nil || seen[v] || l.known(v) != nil {
			return
		}
		seen[v] = true
		if l.regs[v] == nil && !l.inScratch(v) {
			for _, a := range v.Def.Args {
				walk(a)
			}
			for _, x := range v.Def.At {
				for _, t := range x.Terms {
					walk(t.Value)
				}
			}
		}
		out = append(out, v)
	}
	for _, v := range roots {
		walk(v)
	}
	return out
}

// check refuses to load, behind a store, what was to be loaded before it.
func (l *lowering) check(needed []*tile.Value) {
	for _, v := range needed {
		if l.regs[v] == nil && !l.inScratch(v) && loads(v.Def) && l.stale(v) {
			l.fail("found a load of %s that is demanded behind a store to it; it is not lowered yet", v.Def.View.Buffer.Name)
		}
	}
}

// inScratch reports whether v is in scratch by now.
func (l *evaluator) inScratch(v *tile.Value) bool { return l.kept[v] != nil && l.kept[v].full }

// spilled is what is needed for roots once the tiles in registers among that which do
// not fit are in scratch.
func (l *lowering) spilled(roots []*tile.Value, fits func(g *registers) bool) []*tile.Value {
	for _, v := range l.needed(roots) {
		if g := l.regs[v]; g != nil && len(g.dims) > 0 && !l.inScratch(v) && !fits(g) {
			l.spill(v, g)
		}
	}
	return l.needed(roots)
}

// demanded is what is needed for roots once no tile of it is in registers; its loads are checked.
func (l *lowering) demanded(roots ...*tile.Value) []*tile.Value {
	needed := l.spilled(roots, func(*registers) bool { return false })
	l.check(needed)
	return needed
}

// last is dims with vec, if that is one of them, at the end.
func last(dims []*tile.Range, vec *tile.Range) []*tile.Range {
	if !slices.Contains(dims, vec) {
		return dims
	}
	return append(slices.DeleteFunc(slices.Clone(dims), func(r *tile.Range) bool { return r == vec }), vec)
}

// spill stores a tile in registers to scratch.
func (l *lowering) spill(v *tile.Value, g *registers) {
	l.keep(v, last(g.dims, g.vec))
	k := l.kept[v]
	l.each(g, func() { l.b.Store(k.ref(l.position).Masked(l.mask), l.pick(g)) })
	k.full = true
}

// unrolled is the tile in registers that is needed, or nil.
func (l *lowering) unrolled(needed []*tile.Value) *registers {
	for _, v := range needed {
		if g := l.regs[v]; g != nil && len(g.dims) > 0 && !l.inScratch(v) {
			return g
		}
	}
	return nil
}

// hoist computes what of needed does not vary along the ranges of inner.
func (l *lowering) hoist(needed []*tile.Value, inner []*tile.Range) {
	for _, v := range needed {
		if l.regs[v] == nil && !slices.ContainsFunc(inner, v.Type.Has) {
			l.value(v)
		}
	}
}

// outerLoops nests loops over single positions of dims, which carry registers; all are
// those and the ranges of the loops inside.
func (l *lowering) outerLoops(dims, all []*tile.Range, acc []*kernel.Value, needed []*tile.Value, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
	l.hoist(needed, all)
	if len(dims) == 0 {
		return body(acc)
	}
	r := dims[0]
	return l.b.ForCarry(kernel.Span(l.n[r]), acc, func(i kernel.Index, c []*kernel.Value) (out []*kernel.Value) {
		l.within(func() {
			l.at[r] = coord{idx: l.first[r].Add(i)}
			out = l.outerLoops(dims[1:], all[1:], c, needed, body)
		})
		return out
	})
}
