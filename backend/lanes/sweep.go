package lanes

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// stores lowers stores with the same dimensions as one sweep: at each position all are
// computed before any is stored, since one may lie over what another is computed from.
func (l *lowering) stores(group []*tile.Op) {
	var roots []*tile.Value
	for _, o := range group {
		roots = append(roots, o.Args[0])
		for _, x := range o.At {
			for _, t := range x.Terms {
				if t.Value != nil {
					roots = append(roots, t.Value)
				}
			}
		}
	}
	body := func() {
		out := make([]*kernel.Value, len(group))
		for i, o := range group {
			out[i] = l.value(o.Args[0])
		}
		for i, o := range group {
			l.store(o, out[i])
		}
	}
	l.sweep(group[0].Span(), roots, body)
	for _, o := range group {
		l.wrote(o.View.Buffer)
	}
}

// sweep runs body at all positions of dims, in vectors along one of them. roots is what
// body computes: what of it does not vary in a loop is computed before.
func (l *lowering) sweep(dims []*tile.Range, roots []*tile.Value, body func()) {
	needed := l.needed(roots)
	l.check(needed)
	if g := l.unrolled(needed); g != nil {
		if !sameSet(g.dims, dims) {
			l.fail("found a carried tile over other dimensions than what is stored of it; it is not lowered yet")
			return
		}
		l.each(g, body)
		return
	}
	if len(dims) == 0 {
		l.within(body)
		return
	}
	vec := l.vector(dims)
	outer := slices.DeleteFunc(slices.Clone(dims), func(r *tile.Range) bool { return r == vec })
	l.outerLoops(outer, append(slices.Clone(outer), vec), nil, needed, func([]*kernel.Value) []*kernel.Value {
		l.vectors(vec, body)
		return nil
	})
	l.leave(dims)
}

func (l *lowering) leave(dims []*tile.Range) {
	for _, r := range dims {
		delete(l.at, r)
	}
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
		if l.regs[v] == nil {
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
		if l.regs[v] == nil && v.Def.Kind == tile.Load && l.stored[v.Def.View.Buffer] > l.loaded[v] {
			l.fail("found a load of %s that is demanded behind a store to it; it is not lowered yet", v.Def.View.Buffer.Name)
		}
	}
}

// unrolled is the tile in registers that is needed, or nil.
func (l *lowering) unrolled(needed []*tile.Value) *registers {
	for _, v := range needed {
		if g := l.regs[v]; g != nil && len(g.dims) > 0 {
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

// vectors runs body over the positions of r, a vector at a time: whole vectors in a
// loop, then the tail under a mask.
func (l *lowering) vectors(r *tile.Range, body func()) {
	lo, n := l.first[r], l.n[r]
	at := func(i kernel.Index) {
		l.within(func() {
			l.at[r] = coord{idx: i, vec: true}
			body()
		})
	}
	l.lanes = int(l.wide)
	whole := n / l.wide * l.wide
	if whole > 0 {
		l.b.For(kernel.Between(lo, lo.Plus(whole)).By(l.wide).Unrolled(4), at)
	}
	if n > whole {
		l.mask = l.b.TailMask(kernel.Int(n-whole), l.lanes)
		at(lo.Plus(whole))
		l.mask = nil
	}
	l.lanes = 1
}
