package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// elementwise holds the native code of each elementwise operation: operands
// have the same number of lanes.
var elementwise = map[string]func(g *gen, o *ir.Op, x []*kernel.Value) *kernel.Value{
	op.Neg:     unary((*kernel.Builder).Neg),
	op.Abs:     unary((*kernel.Builder).Abs),
	op.Exp:     unary((*kernel.Builder).Exp),
	op.Log:     unary((*kernel.Builder).Log),
	op.Sqrt:    unary((*kernel.Builder).Sqrt),
	op.Rsqrt:   unary((*kernel.Builder).Rsqrt),
	op.Tanh:    unary((*kernel.Builder).Tanh),
	op.Erf:     unary((*kernel.Builder).Erf),
	op.Sigmoid: unary((*kernel.Builder).Sigmoid),
	op.Sin:     unary((*kernel.Builder).Sin),
	op.Cos:     unary((*kernel.Builder).Cos),
	op.Floor:   unary((*kernel.Builder).Floor),
	op.Not:     unary((*kernel.Builder).Not),
	op.Detach:  func(_ *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return x[0] },
	op.Sign:    sign,
	op.Cast:    cast,

	op.Add: binary((*kernel.Builder).Add),
	op.Sub: binary((*kernel.Builder).Sub),
	op.Mul: binary((*kernel.Builder).Mul),
	op.Div: binary((*kernel.Builder).Div),
	op.Max: binary((*kernel.Builder).Max),
	op.Min: binary((*kernel.Builder).Min),
	op.Pow: binary((*kernel.Builder).Pow),
	op.Mod: mod,
	op.And: binary((*kernel.Builder).And),
	op.Or:  binary((*kernel.Builder).Or),
	op.Eq: func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
		if x[0].Type.Elem == kernel.I1 {
			return g.b.Not(g.b.Xor(x[0], x[1]))
		}
		return g.b.Eq(x[0], x[1])
	},
	op.Ne: func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
		if x[0].Type.Elem == kernel.I1 {
			return g.b.Xor(x[0], x[1])
		}
		return g.b.Ne(x[0], x[1])
	},
	op.Lt: binary((*kernel.Builder).Lt),
	op.Le: binary((*kernel.Builder).Le),
	op.Gt: binary((*kernel.Builder).Gt),
	op.Ge: binary((*kernel.Builder).Ge),

	op.Select: func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
		return g.b.Select(x[0], x[1], x[2])
	},
}

func unary(f func(*kernel.Builder, *kernel.Value) *kernel.Value) func(*gen, *ir.Op, []*kernel.Value) *kernel.Value {
	return func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return f(g.b, x[0]) }
}

func binary(f func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value) func(*gen, *ir.Op, []*kernel.Value) *kernel.Value {
	return func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return f(g.b, x[0], x[1]) }
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

// elementwise computes o from its operands.
func (g *gen) elementwise(o *ir.Op) *kernel.Value {
	lanes := 1
	x := make([]*kernel.Value, len(o.Args))
	for i, a := range o.Args {
		x[i] = g.value(a)
		lanes = max(lanes, x[i].Type.Lanes)
	}
	for i := range x {
		x[i] = g.b.Splat(x[i], lanes)
	}
	return elementwise[o.Name](g, o, x)
}
