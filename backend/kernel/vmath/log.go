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

// horner is c[0] + c[1]·x + … in f64, where a second rounding does no harm.
func (b builder) horner(x *kernel.Value, c []float64) *kernel.Value {
	y := b.d(c[len(c)-1])
	for i := len(c) - 2; i >= 0; i-- {
		y = b.mulThenAdd(y, x, b.d(c[i]))
	}
	return y
}

// mulThenAdd is x·y+z with two roundings on every machine.
func (b builder) mulThenAdd(x, y, z *kernel.Value) *kernel.Value { return b.Add(b.Mul(x, y), z) }

// pow is 2^(y·log₂|x|) in f64, which leaves the 8 bits that the product's
// integer part takes and more; then the sign and the cases of C99, F.9.4.4.
func (b builder) pow(x, y *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	inf := b.f(math.Inf(1))
	l := b.log2(a)
	l = b.Select(b.Eq(a, b.f(0)), b.d(math.Inf(-1)), l)
	l = b.Select(b.Lt(a, inf), l, b.Convert(a, kernel.F64)) // infinity and NaN
	t := b.Select(b.Eq(a, b.f(1)), b.d(0), b.Mul(b.Convert(y, kernel.F64), l))
	r := b.Convert(b.exp2(t), kernel.F32)

	half := b.Mul(y, b.f(0.5))
	isInt := b.Eq(b.Floor(y), y)
	odd := b.And(isInt, b.Ne(b.Floor(half), half))
	flip := b.And(b.bits(x), b.i(-1<<31))
	r = b.Select(odd, b.float(b.Or(b.bits(r), flip)), r)
	negative := b.And(b.Lt(x, b.f(0)), b.Gt(x, b.f(math.Inf(-1))))
	r = b.Select(b.And(negative, b.Not(isInt)), b.f(math.NaN()), r)
	// y = ±∞ and NaN are no obstacle to 1^y, nor any x to x^0.
	r = b.Select(b.And(b.Ne(y, y), b.Ne(x, b.f(1))), y, r)
	return b.Select(b.Or(b.Eq(y, b.f(0)), b.Eq(x, b.f(1))), b.f(1), r)
}

// log2 of a positive finite f32 in f64: e + 2/ln 2·atanh((m-1)/(m+1)), whose
// argument is at most 0.172; the series to s^17 leaves 2^-50.
func (b builder) log2(x *kernel.Value) *kernel.Value {
	ei, mf := b.split(x)
	m := b.Convert(mf, kernel.F64)
	s := b.Div(b.Sub(m, b.d(1)), b.Add(m, b.d(1)))
	series := make([]float64, 9)
	for i := range series {
		series[i] = 2 / math.Ln2 / float64(2*i+1)
	}
	return b.mulThenAdd(s, b.horner(b.Mul(s, s), series), b.Convert(ei, kernel.F64))
}

// exp2 in f64, held where the f32 result is zero or infinite: 2^n·e^(f·ln 2),
// |f| ≤ ½; the series to the 11th power leaves 2^-43.
func (b builder) exp2(t *kernel.Value) *kernel.Value {
	t = b.Select(b.Gt(t, b.d(130)), b.d(130), t)
	t = b.Select(b.Lt(t, b.d(-155)), b.d(-155), t)
	const magic = 3 << 51
	n := b.Add(t, b.d(magic))
	f := b.Sub(t, b.Sub(n, b.d(magic)))
	series := make([]float64, 12)
	term := 1.0
	for i := range series {
		series[i] = term
		term *= math.Ln2 / float64(i+1)
	}
	p := b.horner(f, series)
	wide := b.t.With(kernel.I64)
	ni := b.Sub(b.Bitcast(n, kernel.I64), b.Bitcast(b.d(magic), kernel.I64))
	scale := b.Shl(b.Add(ni, b.ConstInt(wide, 1023)), b.ConstInt(wide, 52))
	return b.Mul(p, b.Bitcast(scale, kernel.F64))
}
