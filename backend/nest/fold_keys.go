package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir/fusion"
)

// byKeys are tasks that have blocks of keys, and sum over rows, and over the problems that share
// an operand.
//
//	grid (outer…, keys) { loop inner…, groups…, rows { scores = dot …; weights; acc = dot weights, … init acc }; store }
//
// Statistics of the softmax are arguments here, so that no sum is ever scaled.
func (f *folding) byKeys() {
	keys := f.ranges([]fusion.Loop{f.Key}, f.s.Over)
	f.phase(slices.Concat(f.ranges(f.Outer), keys, f.whole(f.Cols)), func() {
		var acc []*tile.Value
		for _, o := range f.Outs {
			acc = append(acc, f.zero(o.Result()))
		}
		acc = f.nest(slices.Concat(f.Inner, f.Groups), acc, f.overRows)
		for i, o := range f.Outs {
			f.know(o.Result(), f.as(acc[i], o.Result().Type.DType))
		}
		f.storeAll()
	})
}

// overRows adds to acc the products of a group's rows.
func (f *folding) overRows(acc []*tile.Value) []*tile.Value {
	step := func(acc []*tile.Value) []*tile.Value {
		out := make([]*tile.Value, len(acc))
		for i, o := range f.Outs {
			out[i] = f.sum(o, acc[i])
		}
		return out
	}
	if len(f.Rows) == 0 {
		f.scores()
		return step(acc)
	}
	for _, s := range f.rowSpans(block(f.Rows[0], f.s.Rows).Size) {
		acc = f.visit(f.Rows[0], block(f.Rows[0], f.s.Rows), s, acc, step)
	}
	return acc
}

// visit is a loop over the blocks r of d in a span, in whose body the scores are known.
func (f *folding) visit(d fusion.Loop, r *tile.Range, s span, carry []*tile.Value, body func(carry []*tile.Value) []*tile.Value) []*tile.Value {
	l := tile.Loop{From: s.from, To: s.to, Stages: int(f.s.Stages)}
	return f.loopOf(r, l, carry, func(carry []*tile.Value) []*tile.Value {
		f.set(d, r)
		f.scores()
		if s.open {
			f.reveal()
		}
		return body(carry)
	})
}
