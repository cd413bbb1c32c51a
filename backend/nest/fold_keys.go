package nest

import (
	"slices"

	"ptc/backend/tile"
)

// byKeys are tasks that have blocks of keys, and sum over rows, and over the problems that share
// an operand.
//
//	grid (outer…, keys) { loop inner…, groups…, rows { scores = dot …; weights; acc = dot weights, … init acc }; store }
//
// Statistics of the softmax are arguments here, so that no sum is ever scaled.
func (f *folding) byKeys() {
	keys := f.ranges([]dim{f.key}, f.s.Over)
	f.phase(slices.Concat(f.ranges(f.outer), keys, f.whole(f.cols)), func() {
		var acc []*tile.Value
		for _, o := range f.outs {
			acc = append(acc, f.zero(o))
		}
		acc = f.nest(slices.Concat(f.inner, f.groups), acc, f.overRows)
		for i, o := range f.outs {
			f.know(o.Result(), f.as(acc[i], o.Result().Type.DType))
		}
		f.storeAll()
	})
}

// overRows adds to acc the products of a group's rows.
func (f *folding) overRows(acc []*tile.Value) []*tile.Value {
	step := func(acc []*tile.Value) []*tile.Value {
		f.scores()
		out := make([]*tile.Value, len(acc))
		for i, o := range f.outs {
			out[i] = f.sum(o, acc[i])
		}
		return out
	}
	if len(f.rows) == 0 {
		return step(acc)
	}
	l := tile.Loop{Stages: int(f.s.Stages)}
	l.From, l.To = f.rowsSeeing()
	r := f.rows[0].block(f.s.Rows)
	return f.loopOf(r, l, acc, func(acc []*tile.Value) []*tile.Value {
		f.set(f.rows[0], r)
		return step(acc)
	})
}
