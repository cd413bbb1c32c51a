package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
)

func unary(f func(*kernel.Builder, *kernel.Value) *kernel.Value) native {
	return lanewise(func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return f(g.b, x[0]) })
}

func binary(f func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value) native {
	return lanewise(func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return f(g.b, x[0], x[1]) })
}

// sign is -1, 0 or 1; NaN stays NaN.
func sign(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
	b, v := g.b, x[0]
	zero, one := b.Like(v, 0), b.Like(v, 1)
	r := b.Select(b.Lt(zero, v), one, b.Select(b.Lt(v, zero), b.Neg(one), v))
	return r
}

// mod is the remainder of the truncated quotient, with the sign of the first
// operand.
func mod(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
	if x[0].Type.Elem.IsFloat() {
		return g.b.Mod(x[0], x[1])
	}
	return g.b.Rem(x[0], x[1])
}

// cast converts; to a type of low precision it rounds, and keeps f32.
func cast(g *gen, o *ir.Op, x []*kernel.Value) *kernel.Value {
	b, v := g.b, x[0]
	to := elem(o.Result().Type.DType)
	switch {
	case to == kernel.Bool:
		if v.Type.Elem == kernel.I1 {
			return v
		}
		return b.Ne(v, b.Like(v, 0))
	case to.IsNarrow():
		if from := elem(o.Args[0].Type.DType); from == to {
			return v
		}
		return b.Round(b.Convert(v, kernel.F32), to)
	}
	return b.Convert(v, to.Register())
}

// lanewise is the facet of an elementwise operation: f of its operands, which get the
// same number of lanes.
func lanewise(f func(g *gen, o *ir.Op, x []*kernel.Value) *kernel.Value) native {
	return native{value: func(g *gen, o *ir.Op) *kernel.Value {
		lanes := 1
		x := make([]*kernel.Value, len(o.Args))
		for i, a := range o.Args {
			x[i] = g.value(a)
			lanes = max(lanes, x[i].Type.Lanes)
		}
		for i := range x {
			x[i] = g.b.Splat(x[i], lanes)
		}
		return f(g, o, x)
	}}
}

// Bools are equal where neither or both are set.

func equal(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
	if x[0].Type.Elem == kernel.I1 {
		return g.b.Not(g.b.Xor(x[0], x[1]))
	}
	return g.b.Eq(x[0], x[1])
}

func unequal(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
	if x[0].Type.Elem == kernel.I1 {
		return g.b.Xor(x[0], x[1])
	}
	return g.b.Ne(x[0], x[1])
}
