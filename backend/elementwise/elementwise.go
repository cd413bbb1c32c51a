package elementwise

import (
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// Known reports whether k is an elementwise operation.
func Known(k tile.Kind) bool { return forms[k] != nil || vmath.Lookup(string(k)) != nil }

// Compute appends o of its operands, which have the same number of lanes: by its form, or if it
// has none, as the function of backend/kernel/vmath that has its name.
func Compute(b *kernel.Builder, o *tile.Op, x []*kernel.Value) *kernel.Value {
	if f := forms[o.Kind]; f != nil {
		return f(b, o, x)
	}
	return b.Call(vmath.Lookup(string(o.Kind)), x...)
}

// Elem is what elements of a tile of d are in memory.
func Elem(d ir.DType) kernel.Elem { return kernel.Elem(d) }

// Register is the type of lanes elements of d while they are computed with.
func Register(d ir.DType, lanes int) kernel.Type { return kernel.Vec(Elem(d).Register(), lanes) }

// form is an elementwise operation as statements of the loop/tile form.
type form func(b *kernel.Builder, o *tile.Op, x []*kernel.Value) *kernel.Value

func unary(f func(*kernel.Builder, *kernel.Value) *kernel.Value) form {
	return func(b *kernel.Builder, _ *tile.Op, x []*kernel.Value) *kernel.Value { return f(b, x[0]) }
}

func binary(f func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value) form {
	return func(b *kernel.Builder, _ *tile.Op, x []*kernel.Value) *kernel.Value { return f(b, x[0], x[1]) }
}

var forms = map[tile.Kind]form{
	op.Neg:    unary((*kernel.Builder).Neg),
	op.Abs:    unary((*kernel.Builder).Abs),
	op.Sqrt:   unary((*kernel.Builder).Sqrt),
	op.Floor:  unary((*kernel.Builder).Floor),
	op.Not:    unary((*kernel.Builder).Not),
	op.Detach: unary(func(_ *kernel.Builder, x *kernel.Value) *kernel.Value { return x }),
	op.Sign:   unary(sign),
	op.Add:    binary((*kernel.Builder).Add),
	op.Sub:    binary((*kernel.Builder).Sub),
	op.Mul:    binary((*kernel.Builder).Mul),
	op.Div:    binary((*kernel.Builder).Div),
	op.Max:    binary((*kernel.Builder).Max),
	op.Min:    binary((*kernel.Builder).Min),
	op.Mod:    binary(mod),
	op.And:    binary((*kernel.Builder).And),
	op.Or:     binary((*kernel.Builder).Or),
	op.Lt:     binary((*kernel.Builder).Lt),
	op.Le:     binary((*kernel.Builder).Le),
	op.Gt:     binary((*kernel.Builder).Gt),
	op.Ge:     binary((*kernel.Builder).Ge),
	op.Eq:     binary(equal),
	op.Ne:     binary(unequal),
	op.Cast:   cast,
	op.Select: func(b *kernel.Builder, _ *tile.Op, x []*kernel.Value) *kernel.Value {
		return b.Select(x[0], x[1], x[2])
	},
}

// sign is -1, 0 or 1; NaN stays NaN.
func sign(b *kernel.Builder, v *kernel.Value) *kernel.Value {
	zero, one := b.Like(v, 0), b.Like(v, 1)
	return b.Select(b.Lt(zero, v), one, b.Select(b.Lt(v, zero), b.Neg(one), v))
}

// mod is the remainder of the truncated quotient, with the sign of the first operand.
func mod(b *kernel.Builder, x, y *kernel.Value) *kernel.Value {
	if x.Type.Elem.IsFloat() {
		return b.Call(vmath.Mod, x, y)
	}
	return b.Rem(x, y)
}

// Bools are equal where neither or both are set.

func equal(b *kernel.Builder, x, y *kernel.Value) *kernel.Value {
	if x.Type.Elem == kernel.I1 {
		return b.Not(b.Xor(x, y))
	}
	return b.Eq(x, y)
}

func unequal(b *kernel.Builder, x, y *kernel.Value) *kernel.Value {
	if x.Type.Elem == kernel.I1 {
		return b.Xor(x, y)
	}
	return b.Ne(x, y)
}

// cast converts; to a type of low precision it rounds, and keeps f32.
func cast(b *kernel.Builder, o *tile.Op, x []*kernel.Value) *kernel.Value {
	v := x[0]
	from, to := o.Args[0].Type.DType, o.Result().Type.DType
	switch {
	case to == ir.Bool:
		if v.Type.Elem == kernel.I1 {
			return v
		}
		return b.Ne(v, b.Like(v, 0))
	case from == to:
		return v
	case Elem(to).IsNarrow():
		return b.Round(b.Convert(v, kernel.F32), Elem(to))
	}
	return b.Convert(v, Elem(to).Register())
}
