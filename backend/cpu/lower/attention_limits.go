package lower

import (
	"ptc/backend/cpu/attention"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir/op"
)

// bounds are the limits in the group at hand.
func (x *attending) bounds(at attention.At) (out []attention.Limit) {
	x.in(attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		index := func(v *tile.Value) kernel.Index { return kernel.Of(x.b.Convert(x.value(v), kernel.I64)) }
		for _, l := range x.limits {
			idx := kernel.Int(l.Const)
			for _, v := range l.Plus {
				idx = idx.Add(index(v))
			}
			for _, v := range l.Minus {
				idx = idx.Sub(index(v))
			}
			out = append(out, attention.Limit{Upper: l.Upper, Row: l.Row, At: idx})
		}
	})
	return out
}

// number is operand i where it is a constant, perhaps in another form.
func number(args []*tile.Value, i int) (float64, bool) {
	if i >= len(args) {
		return 0, false
	}
	switch o := args[i].Def; o.Kind {
	case tile.Const:
		return o.Const, true
	case op.Neg:
		c, ok := number(o.Args, 0)
		return -c, ok
	case tile.Repeat, op.Cast, op.Detach:
		return number(o.Args, 0)
	}
	return 0, false
}
