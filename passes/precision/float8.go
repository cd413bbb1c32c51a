package precision

import (
	"ptc/ir"
	"ptc/ir/op"
)

// least is what the largest element of a tensor is taken for if it is less, so that the
// scale of a tensor of zeros is finite: its square is still a normal number of f32.
const least = 0x1p-60

// float8 is a tensor in a float of eight bits, and what its elements are multiples of.
type float8 struct{ x, unit *ir.Value }

// product computes contraction o of operands in eight bits, each with one scale, as of the
// current values (Micikevicius et al., section 3.1, with the scale of this step rather than
// of those before, as Transformer Engine's Float8CurrentScaling and torchao's tensorwise
// dynamic scaling do it): sums are f32, and so are the two products by the units.
func (l *lowering) product(o *ir.Op) (wide bool) {
	a, b := l.float8(o.Args[0]), l.float8(o.Args[1])
	res, err := l.b.TryEmit(o.Name, []*ir.Value{a.x, b.x}, o.Attrs.With("to", ir.Name(ir.F32.String())))
	if err != nil {
		panic("precision: " + o.Name + ": " + err.Error())
	}
	v := l.b.Mul(l.b.Mul(res[0], a.unit), b.unit)
	if wide = l.p.leavesWide(o); !wide {
		v = l.b.Cast(v, l.compute)
	}
	l.home[o.Result()] = v
	return wide
}

// mostRows is how many rows a tensor has at most whose maxima are found one by one, before that of all.
const mostRows = 1 << 16

// largest is the maximum of x: that of each row first, so that there are many which do not depend on one another, and
// which a kernel can find that has whole rows.
func (l *lowering) largest(x *ir.Value) *ir.Value {
	names, kept, rows := x.Type.Names(), 0, 1
	for kept < len(names)-1 && rows*x.Type.Axes[kept].Size <= mostRows {
		rows *= x.Type.Axes[kept].Size
		kept++
	}
	for _, over := range [][]string{names[kept:], names[:kept]} {
		if len(over) > 0 {
			x = l.b.Emit(op.ReduceMax, ir.A("over", ir.Names(over), op.AttrOwn, ir.BoolVal(true)), x)
		}
	}
	return x
}

// float8 is the old value v in eight bits. As a cast it is made where it is first needed,
// and shared: see castKey. What is computed is stored in the compute dtype first, and not
// once more in f32: the maximum must be known before the first element is rounded.
func (l *lowering) float8(v *ir.Value) float8 {
	k := l.key(v, l.eights.format(v))
	if e, ok := l.made[k]; ok {
		return e
	}
	stored := l.stays(v)
	if v.Def != nil {
		stored = l.at(v, l.compute)
	}
	x := l.b.Cast(stored, ir.F32)
	top := l.largest(l.b.Emit(op.Abs, nil, x))
	top = l.b.Emit(op.Max, nil, top, l.b.Const(ir.F32, least))
	largest := l.b.Const(ir.F32, k.d.Max())
	e := float8{unit: l.b.Div(top, largest)}
	e.x = l.b.Cast(l.b.Mul(x, l.b.Div(largest, top)), k.d)
	l.made[k] = e
	return e
}
