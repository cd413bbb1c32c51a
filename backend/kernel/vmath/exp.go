package vmath

import (
	"math"

	"ptc/backend/kernel"
)

// ln 2 in two parts: the first has 15 significant bits, so that its product with
// an exponent is exact.
const (
	ln2Hi = 0x1.62e4p-1
	ln2Lo = math.Ln2 - ln2Hi
)

// (e^r - 1 - r)/r² on |r| ≤ ln 2/2, error 2^-28 in the result.
var expPoly = []float64{0.49999994, 0.1666652, 0.041668408, 0.008368914, 0.001381419}

// Exp is e to the power of x.
var Exp = unaryMath("exp", math.Exp, builder.exp)

// exp is 2^n·e^r with x = n·ln 2 + r. Arguments are held where the result is
// zero or infinite; 2^n is applied in two factors, which makes subnormal
// results round once.
func (b builder) exp(x *kernel.Value) *kernel.Value {
	x = b.Select(b.Gt(x, b.f(89)), b.f(89), x)
	x = b.Select(b.Lt(x, b.f(-104)), b.f(-104), x)
	n, biased := b.exponent(x, math.Log2E, 2*bias)
	r := b.FMA(n, b.f(-ln2Hi), x)
	r = b.FMA(n, b.f(-ln2Lo), r)
	half := b.LShr(biased, b.i(1)) // ends with bias + n/2, and what is left with bias + n − n/2
	y := b.Mul(b.expOf(r), b.shifted(half))
	return b.Mul(y, b.shifted(b.Sub(biased, half)))
}

// expWithin is exp for -87 ≤ x ≤ 44, within 2^-22: one factor is enough there, and ln
// 2 in one part, as n is small where the error of its product counts.
func (b builder) expWithin(x *kernel.Value) *kernel.Value {
	n, biased := b.exponent(x, math.Log2E, bias)
	return b.Mul(b.expOf(b.FMA(n, b.f(-math.Ln2), x)), b.shifted(biased))
}

// expOf is e^r on |r| ≤ ln 2/2, as 1 + (r + r²·q): the last sum rounds, and before
// it nothing that is larger than a quarter of that.
func (b builder) expOf(r *kernel.Value) *kernel.Value {
	return b.Add(b.f(1), b.FMA(b.Mul(r, r), b.poly(r, expPoly), r))
}

// bias is what the exponent of a float32 is stored with.
const bias = 127

// exponent is x·scale rounded to the nearest integer n, as a float, and an i32 whose
// low nine bits are those of n + plus, for |n| below 2^21: adding 3·2^22 leaves the
// integer in the low bits of the sum, whose higher ones are of the constant alone.
func (b builder) exponent(x *kernel.Value, scale float64, plus int) (n, biased *kernel.Value) {
	magic := b.f(float64(3<<22 + plus))
	t := b.FMA(x, b.f(scale), magic)
	return b.Sub(t, magic), b.bits(t)
}

// shifted is the float whose exponent field is the low eight bits of n: 2^(n − bias).
// The ninth bit must be zero.
func (b builder) shifted(n *kernel.Value) *kernel.Value { return b.float(b.Shl(n, b.i(23))) }

// Sigmoid is 1/(1+e^-x).
var Sigmoid = unaryMath("sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, builder.sigmoid)

// sigmoid is z/(1+z) or 1/(1+z) with z = e^-|x|, so that nothing overflows and
// tiny results keep their digits. The quotient is corrected for its own
// rounding and that of 1+z.
func (b builder) sigmoid(x *kernel.Value) *kernel.Value {
	z := b.exp(b.Neg(b.Abs(x)))
	top := b.Select(b.Lt(x, b.f(0)), z, b.f(1))
	den := b.Add(z, b.f(1))
	lost := b.Sub(z, b.Sub(den, b.f(1)))
	inv := b.Div(b.f(1), den)
	q := b.Mul(top, inv)
	rest := b.FMA(b.Neg(q), lost, b.FMA(b.Neg(q), den, top))
	return b.FMA(rest, inv, q)
}

// (tanh x/x - 1)/x² in powers of x² on |x| ≤ 0.65, error 2^-27 in the result.
var tanhPoly = []float64{-0.3333326, 0.1333083, -0.053688023, 0.02046942, -0.005515164}

// Tanh is the hyperbolic tangent.
var Tanh = unaryMath("tanh", math.Tanh, builder.tanh)

// tanh is an odd polynomial near 0 and 1 - 2/(e^2|x|+1) elsewhere, 1 from 9.02 on.
func (b builder) tanh(x *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	a2 := b.Mul(a, a)
	small := b.FMA(b.Mul(a, a2), b.poly(a2, tanhPoly), a)
	held := b.Select(b.Gt(a, b.f(9.02)), b.f(9.02), a)
	e := b.expWithin(b.Add(held, held))
	large := b.Sub(b.f(1), b.Div(b.f(2), b.Add(e, b.f(1))))
	return b.copySign(b.Select(b.Lt(a, b.f(0.625)), small, large), x)
}

var (
	// (erf x/x - 2/√π)/x² in powers of x² on |x| ≤ 1.32, error 2^-28.
	erfSmall = []float64{-0.37612626, 0.11283615, -0.026857499, 0.0052034887, -0.00082845014, 0.000101269674, -7.07073e-06}
	// erf x in powers of (x - 2.61)/1.31 on [1.28, 3.92], error 2^-25.7.
	erfLarge = []float64{0.9997767, 0.0016263094, -0.005561402, 0.011753182, -0.016898628, 0.017006565, -0.011718642,
		0.0046806936, 0.00049225683, -0.0022344685, 0.0011248873, 0.00016372645, -0.00021123927}
)

// Erf is the error function.
var Erf = unaryMath("erf", math.Erf, builder.erf)

// erf is an odd polynomial near 0, another polynomial elsewhere, and from 3.92 on 1, to
// the bit: gelu subtracts it from 1.
func (b builder) erf(x *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	x2 := b.Mul(x, x)
	small := b.FMA(x, b.FMA(x2, b.poly(x2, erfSmall), b.f(2/math.SqrtPi-1)), x)
	large := b.poly(b.FMA(a, b.f(1/1.31), b.f(-2.61/1.31)), erfLarge)
	large = b.Select(b.Gt(a, b.f(3.92)), b.f(1), large)
	return b.Select(b.Lt(a, b.f(1.3)), small, b.copySign(large, x))
}

// Rsqrt is one over the square root.
var Rsqrt = unaryMath("rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, builder.rsqrt)

// rsqrt rounds twice: root and quotient.
func (b builder) rsqrt(x *kernel.Value) *kernel.Value { return b.Div(b.f(1), b.Sqrt(x)) }

// ExpNormal is e^x for x ≤ 0, or not far above, within Bound ulp where that is at least
// 2^-126, and from 0 to that below, 0 of −∞. It is what softmax and its gradient
// need, at two thirds of the cost of the call. NaN gives NaN; from 88 on the result means
// nothing.
func ExpNormal(b *kernel.Builder, x *kernel.Value) *kernel.Value {
	return builder{b, x.Type}.expNormal(x)
}

func (b builder) expNormal(x *kernel.Value) *kernel.Value {
	// The low bits of x·log₂e + magic are the exponent field of 2^n, which is 0 where
	// arguments are held.
	const magic = 3<<22 + 127
	x = b.Select(b.Lt(x, b.f(-127*math.Ln2)), b.f(-127*math.Ln2), x)
	t := b.FMA(x, b.f(math.Log2E), b.f(magic))
	n := b.Sub(t, b.f(magic))
	r := b.FMA(n, b.f(-ln2Hi), x)
	r = b.FMA(n, b.f(-ln2Lo), r)
	one := b.f(1)
	p := b.FMA(b.FMA(b.poly(r, expPoly), r, one), r, one)
	return b.Mul(p, b.float(b.Shl(b.bits(t), b.i(23))))
}
