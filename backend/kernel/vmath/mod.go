package vmath

import (
	"math"

	"ptc/backend/kernel"
)

// modBits is by how many bits a step of the reduction shortens the quotient.
const modBits = 28

// Mod is x - y·trunc(x/y), exact.
var Mod = binaryMath("mod", math.Mod, builder.mod)

// mod is the exact remainder of the truncated quotient: |x| - q·|y| in f64, with
// the sign of x. Where the quotient q is below 2^28, it comes out of one division:
// operands of 24 bits keep x/y at least 2^-24 away from an integer that it is
// not, four times as far as the division rounds, so that floor finds q; q·|y| has
// at most 52 bits, and the difference as few as an operand. Larger quotients take
// a branch of their own: the remainders by |y|·2^252, …, |y|·2^28, |y| in turn,
// each below the one before. The quotient of two f32 is below 2^277.
func (b builder) mod(x, y *kernel.Value) *kernel.Value {
	n, d := b.Abs(b.Convert(x, kernel.F64)), b.Abs(b.Convert(y, kernel.F64))
	step := func(n, d *kernel.Value) *kernel.Value {
		return b.Sub(n, b.Mul(b.Floor(b.Div(n, d)), d))
	}
	short := b.Lt(n, b.Mul(d, b.d(1<<modBits)))
	r := b.If(b.anyLane(b.Not(short)), func() []*kernel.Value {
		r := n
		for k := 9; k > 0; k-- {
			r = step(r, b.Mul(d, b.d(math.Ldexp(1, modBits*k))))
		}
		return []*kernel.Value{step(r, d)}
	}, func() []*kernel.Value { return []*kernel.Value{step(n, d)} })[0]
	// 0·∞ is NaN, but what is finite is its own remainder.
	inf := b.d(math.Inf(1))
	r = b.Select(b.And(b.Eq(d, inf), b.Lt(n, inf)), n, r)
	return b.copySign(b.Convert(r, kernel.F32), x)
}
