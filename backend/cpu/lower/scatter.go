package lower

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// scatter adds a tile to what a view has, element by element: loops in the order of the
// dimensions, and vectors along one that no position is looked up by, so that those of a
// vector never meet.
func (l *lowering) scatter(o *tile.Op) {
	needed := l.demanded(append(lookups(o), o.Args[0])...)
	free := slices.DeleteFunc(o.Span(), func(r *tile.Range) bool {
		return stride(o, r) == 0 || slices.ContainsFunc(o.At, func(x tile.Affine) bool { return looks(x) && spans(x, r) })
	})
	var vec []*tile.Range
	if v := l.units.vector(free); v != nil {
		vec = []*tile.Range{v}
	}
	outer := slices.DeleteFunc(o.Span(), func(r *tile.Range) bool { return slices.Contains(vec, r) })
	l.outerLoops(outer, slices.Concat(outer, vec), nil, needed, func([]*kernel.Value) []*kernel.Value {
		l.inside(o, func() {
			if len(vec) == 0 {
				l.addTo(o)
				return
			}
			l.vectors(vec[0], 1, nil, func([]*kernel.Value) []*kernel.Value { l.addTo(o); return nil })
		})
		return nil
	})
	l.leave(o.Span())
	l.wrote(o.View.Buffer)
}

func looks(x tile.Affine) bool {
	return slices.ContainsFunc(x.Terms, func(t tile.Term) bool { return t.Value != nil })
}

// spans reports whether x varies along r.
func spans(x tile.Affine, r *tile.Range) bool {
	return slices.ContainsFunc(x.Terms, func(t tile.Term) bool {
		return t.Range == r || t.Value != nil && t.Value.Type.Has(r)
	})
}

// inside runs body where the positions that o looks up, scalars here, are in range. It
// finds them in l.sure.
func (l *evaluator) inside(o *tile.Op, body func()) {
	var cond *kernel.Value
	at := map[int]*kernel.Value{}
	for i, x := range o.At {
		if j := l.looked(x); j != nil {
			zero, n := l.b.ConstInt(j.Type, 0), l.b.ConstInt(j.Type, int64(o.View.Axes[i].Size))
			at[i], cond = j, both(l.b, cond, l.b.And(l.b.Le(zero, j), l.b.Lt(j, n)))
		}
	}
	if cond == nil {
		body()
		return
	}
	l.b.When(cond, func() {
		l.within(func() {
			l.sure = map[int]kernel.Index{}
			for i := range o.At {
				if at[i] != nil {
					l.sure[i] = kernel.Of(l.b.Convert(at[i], kernel.I64))
				}
			}
			body()
			l.sure = nil
		})
	})
}

// addTo adds at the present position.
func (l *evaluator) addTo(o *tile.Op) {
	sure := l.sure
	l.sure = nil // of o alone, not of what it adds
	x := l.value(o.Args[0])
	l.sure = sure
	r, vector, _ := l.ref(o)
	if !vector {
		r.Stride = 1
		l.b.Store(r, l.b.Add(l.b.Load(r, 1), x))
		return
	}
	r = r.Masked(l.mask)
	l.b.Store(r, l.b.Add(l.b.Load(r, l.lanes), l.b.Splat(x, l.lanes)))
}
