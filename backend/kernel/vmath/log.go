package vmath

import (
	"math"

	"ptc/backend/kernel"
)

// (log(1+f) - f + f²/2)/f³ on √½-1 ≤ f ≤ √2-1, error 2^-32 in the result.
var logPoly = []float64{0.33333302, -0.25000036, 0.20002693, -0.16667129, 0.14208701,
	-0.124123484, 0.11966678, -0.11671963, 0.065831356}

// split is x = 2^e·m with √½ ≤ m < √2, for positive finite x, subnormal or not.
// e is an i32.
func (b builder) split(x *kernel.Value) (e, m *kernel.Value) {
	tiny := b.Lt(x, b.f(0x1p-126))
	x = b.Select(tiny, b.Mul(x, b.f(0x1p24)), x)
	root := b.i(int64(math.Float32bits(math.Sqrt2 / 2)))
	above := b.Sub(b.bits(x), root)
	e = b.AShr(above, b.i(23))
	m = b.float(b.Add(b.And(above, b.i(1<<23-1)), root))
	return b.Sub(e, b.Select(tiny, b.i(24), b.i(0))), m
}

// Log is the natural logarithm.
var Log = unaryMath("log", math.Log, builder.log)

// log is e·ln 2 + log(1+f), f = m - 1, small parts first.
func (b builder) log(x *kernel.Value) *kernel.Value {
	ei, m := b.split(x)
	e := b.Convert(ei, kernel.F32)
	f := b.Sub(m, b.f(1))
	f2 := b.Mul(f, f)
	t := b.Mul(b.Mul(f, f2), b.poly(f, logPoly))
	t = b.FMA(e, b.f(ln2Lo), t)
	t = b.FMA(f2, b.f(-0.5), t)
	y := b.FMA(e, b.f(ln2Hi), b.Add(f, t))

	inf := math.Inf(1)
	y = b.Select(b.Lt(x, b.f(inf)), y, x) // infinity and NaN are their own
	y = b.Select(b.Eq(x, b.f(0)), b.f(-inf), y)
	return b.Select(b.Lt(x, b.f(0)), b.f(math.NaN()), y)
}
