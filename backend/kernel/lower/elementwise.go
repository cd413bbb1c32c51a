package lower

import (
	"ptc/backend/kernel"
	"ptc/ir"
)

// elementwise holds the native code of each elementwise operation: operands
// have the same number of lanes.
var elementwise = map[string]func(g *gen, o *ir.Op, x []*kernel.Value) *kernel.Value{
	"neg":     unary((*kernel.Builder).Neg),
	"abs":     unary((*kernel.Builder).Abs),
	"exp":     unary((*kernel.Builder).Exp),
	"log":     unary((*kernel.Builder).Log),
	"sqrt":    unary((*kernel.Builder).Sqrt),
	"rsqrt":   unary((*kernel.Builder).Rsqrt),
	"tanh":    unary((*kernel.Builder).Tanh),
	"erf":     unary((*kernel.Builder).Erf),
	"sigmoid": unary((*kernel.Builder).Sigmoid),
	"sin":     unary((*kernel.Builder).Sin),
	"cos":     unary((*kernel.Builder).Cos),
	"floor":   unary((*kernel.Builder).Floor),
	"not":     unary((*kernel.Builder).Not),
	"detach":  func(_ *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return x[0] },
	"sign":    sign,
	"cast":    cast,

	"add": binary((*kernel.Builder).Add),
	"sub": binary((*kernel.Builder).Sub),
	"mul": binary((*kernel.Builder).Mul),
	"div": binary((*kernel.Builder).Div),
	"max": binary((*kernel.Builder).Max),
	"min": binary((*kernel.Builder).Min),
	"pow": binary((*kernel.Builder).Pow),
	"mod": mod,
	"and": binary((*kernel.Builder).And),
	"or":  binary((*kernel.Builder).Or),
	"eq": func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
		if x[0].Type.Elem == kernel.I1 {
			return g.b.Not(g.b.Xor(x[0], x[1]))
		}
		return g.b.Eq(x[0], x[1])
	},
	"ne": func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
		if x[0].Type.Elem == kernel.I1 {
			return g.b.Xor(x[0], x[1])
		}
		return g.b.Ne(x[0], x[1])
	},
	"lt": binary((*kernel.Builder).Lt),
	"le": binary((*kernel.Builder).Le),
	"gt": binary((*kernel.Builder).Gt),
	"ge": binary((*kernel.Builder).Ge),

	"select": func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value {
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
