package vmath

import (
	"math"

	"ptc/backend/kernel"
)

// sum is hi + lo, of which lo is at most about half a unit in hi's last place: a number of some 48 bits (Dekker, "A
// floating-point technique for extending the available precision", 1971). pow takes it in place of f64, in which GPUs
// compute at a fraction of their speed, and processors in half as many lanes.
type sum struct{ hi, lo *kernel.Value }

// total is the exact sum of a and b where |a| ≥ |b| or a is 0.
func (b builder) total(a, c *kernel.Value) sum {
	hi := b.Add(a, c)
	return sum{hi, b.Sub(c, b.Sub(hi, a))}
}

// times is x·y but for about 2^-46 of it.
func (b builder) times(x, y sum) sum {
	hi := b.Mul(x.hi, y.hi)
	lo := b.FMA(x.hi, y.hi, b.Neg(hi))
	return b.total(hi, b.FMA(x.hi, y.lo, b.FMA(x.lo, y.hi, lo)))
}

// parts are a constant as a sum.
func (b builder) parts(c float64) sum {
	hi := float64(float32(c))
	return sum{b.f(hi), b.f(c - hi)}
}

// Pow is x to the power of y.
var Pow = binaryMath("pow", math.Pow, builder.pow)

// pow is 2^(y·log₂|x|), where the logarithm is a sum: its relative error times the 8 bits of the product's integer part
// stays far below a unit in the last place. Then come the sign and the cases of C99, F.9.4.4.
func (b builder) pow(x, y *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	inf, zero := b.f(math.Inf(1)), b.f(0)
	l := b.log2(a)
	// Zero, infinity and NaN.
	finite := b.And(b.Lt(zero, a), b.Lt(a, inf))
	special := b.Select(b.Eq(a, zero), b.f(math.Inf(-1)), a)
	l = sum{b.Select(finite, l.hi, special), b.Select(finite, l.lo, zero)}
	one := b.Eq(a, b.f(1)) // whose logarithm is 0, also times an infinite y
	hi := b.Select(one, zero, b.Mul(y, l.hi))
	lo := b.FMA(y, l.lo, b.FMA(y, l.hi, b.Neg(hi)))
	lo = b.Select(b.And(b.Lt(b.Abs(hi), b.f(256)), b.Not(one)), lo, zero) // beyond, where hi alone decides, it may be NaN
	r := b.exp2(sum{hi, lo})

	half := b.Mul(y, b.f(0.5))
	isInt := b.Eq(b.Floor(y), y)
	odd := b.And(isInt, b.Ne(b.Floor(half), half))
	flip := b.And(b.bits(x), b.i(-1<<31))
	r = b.Select(odd, b.float(b.Or(b.bits(r), flip)), r)
	negative := b.And(b.Lt(x, zero), b.Gt(x, b.f(math.Inf(-1))))
	r = b.Select(b.And(negative, b.Not(isInt)), b.f(math.NaN()), r)
	// y = ±∞ and NaN are no obstacle to 1^y, nor any x to x^0.
	r = b.Select(b.And(b.Ne(y, y), b.Ne(x, b.f(1))), y, r)
	return b.Select(b.Or(b.Eq(y, zero), b.Eq(x, b.f(1))), b.f(1), r)
}

// log2 of a positive finite f32: e + 2/ln 2·atanh(s), s = (m-1)/(m+1), |s| ≤ 0.172. The terms in s and s³ are sums, those
// behind, at most 2^-12 of the first, are not: within 2^-34.
func (b builder) log2(x *kernel.Value) sum {
	ei, m := b.split(x)
	one := b.f(1)
	f := b.Sub(m, one) // exact
	den := b.Add(m, one)
	lost := b.Sub(m, b.Sub(den, one))
	inv := b.Div(one, den)
	q := b.Mul(f, inv)
	rest := b.FMA(b.Neg(q), lost, b.FMA(b.Neg(q), den, f))
	s := b.total(q, b.Mul(rest, inv))

	s2 := b.times(s, s)
	c := func(n float64) float64 { return 2 / math.Ln2 / n }
	tail := b.poly(s2.hi, []float64{c(5), c(7), c(9), c(11)})
	third := b.parts(c(3))
	third = b.total(third.hi, b.FMA(s2.hi, tail, third.lo))
	series := b.times(s2, third)
	first := b.parts(c(1))
	head := b.total(first.hi, series.hi)
	head.lo = b.Add(head.lo, b.Add(series.lo, first.lo))
	log := b.times(s, head)
	out := b.total(b.Convert(ei, kernel.F32), log.hi)
	return sum{out.hi, b.Add(out.lo, log.lo)}
}

// exp2 is 2^t, held where the result is zero or infinite, in two factors, as exp has them.
func (b builder) exp2(t sum) *kernel.Value {
	hi := b.Select(b.Gt(t.hi, b.f(130)), b.f(130), t.hi)
	hi = b.Select(b.Lt(hi, b.f(-155)), b.f(-155), hi)
	n, biased := b.exponent(hi, 1, 2*bias)
	r := b.Mul(b.Add(b.Sub(hi, n), t.lo), b.f(math.Ln2))
	half := b.LShr(biased, b.i(1))
	y := b.Mul(b.expOf(r), b.shifted(half))
	return b.Mul(y, b.shifted(b.Sub(biased, half)))
}
