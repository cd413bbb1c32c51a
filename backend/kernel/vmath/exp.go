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

// exp is 2^n·e^r with x = n·ln 2 + r. Arguments are held where the result is
// zero or infinite; 2^n is applied in two factors, which makes subnormal
// results round once.
func (b builder) exp(x *kernel.Value) *kernel.Value {
	x = b.Select(b.Gt(x, b.f(89)), b.f(89), x)
	x = b.Select(b.Lt(x, b.f(-104)), b.f(-104), x)
	n, ni := b.nearest(x, math.Log2E)
	r := b.FMA(n, b.f(-ln2Hi), x)
	r = b.FMA(n, b.f(-ln2Lo), r)
	// 1 + r + r²·q: what 1 + r loses goes into the last sum.
	s := b.Add(r, b.f(1))
	lost := b.Sub(r, b.Sub(s, b.f(1)))
	p := b.Add(s, b.FMA(b.Mul(r, r), b.poly(r, expPoly), lost))
	half := b.AShr(ni, b.i(1))
	y := b.Mul(p, b.pow2(half))
	return b.Mul(y, b.pow2(b.Sub(ni, half)))
}

// pow2 is 2^n for -126 ≤ n ≤ 127.
func (b builder) pow2(n *kernel.Value) *kernel.Value {
	return b.float(b.Shl(b.Add(n, b.i(127)), b.i(23)))
}

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

// tanh is an odd polynomial near 0 and 1 - 2/(e^2|x|+1) elsewhere.
func (b builder) tanh(x *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	a2 := b.Mul(a, a)
	small := b.FMA(b.Mul(a, a2), b.poly(a2, tanhPoly), a)
	e := b.exp(b.Add(a, a))
	large := b.Sub(b.f(1), b.Div(b.f(2), b.Add(e, b.f(1))))
	return b.copySign(b.Select(b.Lt(a, b.f(0.625)), small, large), x)
}

var (
	// (erf x/x - 2/√π)/x² in powers of x² on |x| ≤ 0.95, error 2^-30.
	erfSmall = []float64{-0.37612635, 0.11283684, -0.026858464, 0.0051983506, -0.00081100664, 8.227119e-05}
	// log erfc x on [0.9, 4], error 2^-34 in erf x.
	erfLarge = []float64{0.00015061231, -1.1293818, -0.63366336, -0.10785819, 0.024774492,
		-0.0039940905, 0.00037884628, -1.1310757e-05, -7.3750067e-07}
)

// erf is an odd polynomial near 0 and 1 - e^Q(|x|) elsewhere, 1 from 4 on.
func (b builder) erf(x *kernel.Value) *kernel.Value {
	a := b.Abs(x)
	x2 := b.Mul(x, x)
	small := b.FMA(x, b.FMA(x2, b.poly(x2, erfSmall), b.f(2/math.SqrtPi-1)), x)
	held := b.Select(b.Gt(a, b.f(4)), b.f(4), a)
	large := b.Sub(b.f(1), b.exp(b.poly(held, erfLarge)))
	return b.Select(b.Lt(a, b.f(0.92)), small, b.copySign(large, x))
}

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
