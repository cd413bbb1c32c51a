package vmath

import (
	"math"
	"math/big"

	"ptc/backend/kernel"
)

var (
	// (sin r/r - 1)/r² and (cos r - 1 + r²/2)/r⁴ in powers of r² on |r| ≤ π/4,
	// errors 2^-28 and 2^-33.
	sinPoly = []float64{-0.16666655, 0.008332155, -0.00019514454}
	cosPoly = []float64{0.041666646, -0.0013887308, 2.443221e-05}
)

// π/2 in three f32 parts. For |x| below reach the first step of the reduction
// is exact: the integer has 15 bits, and x and the product are multiples of
// 2^-23 that differ by less than 1.
var (
	halfPi1 = float64(float32(math.Pi / 2))
	halfPi2 = float64(float32(math.Pi/2 - halfPi1))
	halfPi3 = math.Pi/2 - halfPi1 - halfPi2 + 6.123233995736766e-17
)

const reach = 1 << 15

// Sin is the sine of radians, Cos the cosine.
var (
	Sin = unaryMath("sin", math.Sin, func(b builder, x *kernel.Value) *kernel.Value { return b.sine(x, 0) })
	Cos = unaryMath("cos", math.Cos, func(b builder, x *kernel.Value) *kernel.Value { return b.sine(x, 1) })
)

// sine is sin(x + quarter·π/2): x = n·π/2 + r, and sin or ±cos of r by the
// quadrant. Large arguments, which no trained model should have, take a branch
// of their own.
func (b builder) sine(x *kernel.Value, quarter int64) *kernel.Value {
	n, ni := b.nearest(x, 2/math.Pi)
	r := b.FMA(n, b.f(-halfPi1), x)
	r = b.FMA(n, b.f(-halfPi2), r)
	r = b.FMA(n, b.f(-halfPi3), r)

	large := b.Ge(b.Abs(x), b.f(reach))
	out := b.If(b.anyLane(large), func() []*kernel.Value {
		rl, nl := b.reduceLarge(x)
		return []*kernel.Value{b.Select(large, rl, r), b.Select(large, nl, ni)}
	}, func() []*kernel.Value { return []*kernel.Value{r, ni} })
	r, ni = out[0], b.Add(out[1], b.i(quarter))

	r2 := b.Mul(r, r)
	sin := b.FMA(b.Mul(r, r2), b.poly(r2, sinPoly), r)
	sin = b.Select(b.Eq(x, b.f(0)), x, sin) // -0 + 0 would lose the sign
	cos := b.FMA(b.Mul(r2, r2), b.poly(r2, cosPoly), b.FMA(r2, b.f(-0.5), b.f(1)))
	y := b.Select(b.Eq(b.And(ni, b.i(1)), b.i(0)), sin, cos)
	sign := b.Shl(b.And(ni, b.i(2)), b.i(30))
	return b.float(b.Xor(b.bits(y), sign))
}

func (b builder) anyLane(m *kernel.Value) *kernel.Value {
	// A reduction takes a power of two of lanes.
	lanes := m.Type.Lanes
	if lanes&(lanes-1) == 0 {
		return b.ReduceOr(m)
	}
	any := b.Extract(m, 0)
	for l := 1; l < lanes; l++ {
		any = b.Or(any, b.Extract(m, l))
	}
	return any
}

// twoOverPi are the bits of 2/π after the point, in words, after one word of
// zeros before it.
var twoOverPi = func() [8]int64 {
	// 230 bits of π (OEIS A000796).
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651", 10, 360, big.ToNearestEven)
	if err != nil {
		panic(err)
	}
	q := new(big.Float).SetPrec(360).Quo(big.NewFloat(2), pi)
	bits, _ := q.SetMantExp(q, 224).Int(nil)
	var words [8]int64
	for i := 7; i > 0; i-- {
		words[i] = int64(int32(uint32(bits.Uint64())))
		bits.Rsh(bits, 32)
	}
	return words
}()

// reduceLarge is Payne and Hanek's reduction ("Radian reduction for
// trigonometric functions", SIGNUM 1983) for |x| ≥ reach: with |x| = m·2^k, m of
// 24 bits, only the 96 bits of 2/π from weight 2^(1-k) on matter for m·2^k·2/π
// modulo 4. Infinite and NaN x give r = NaN.
func (b builder) reduceLarge(x *kernel.Value) (r, n *kernel.Value) {
	bits := b.bits(x)
	m := b.Or(b.And(bits, b.i(1<<23-1)), b.i(1<<23))
	// k = exponent - 150; bit 0 of the words has weight 2^31, so start at k+30.
	start := b.Sub(b.And(b.LShr(bits, b.i(23)), b.i(255)), b.i(120))
	word, shift := b.LShr(start, b.i(5)), b.And(start, b.i(31))

	var window [4]*kernel.Value
	for i := range window {
		w := b.i(twoOverPi[i])
		for at := 1; at+i < len(twoOverPi); at++ {
			w = b.Select(b.Eq(word, b.i(int64(at))), b.i(twoOverPi[at+i]), w)
		}
		window[i] = w
	}
	funnel := func(hi, lo *kernel.Value) *kernel.Value {
		// Shifting by 32-shift in two steps is right for 0 as well.
		low := b.LShr(b.LShr(lo, b.i(1)), b.Sub(b.i(31), shift))
		return b.Or(b.Shl(hi, shift), low)
	}
	hi, mid, lo := funnel(window[0], window[1]), funnel(window[1], window[2]), funnel(window[2], window[3])

	// The upper 64 of the lower 96 bits of m·(hi:mid:lo): 2 bits of quadrant and
	// 62 of fraction.
	p1 := b.Add(b.Mul(m, mid), b.MulHi(m, lo))
	carry := b.Convert(b.ULt(p1, b.MulHi(m, lo)), kernel.I32)
	p0 := b.Add(b.Add(b.Mul(m, hi), b.MulHi(m, mid)), carry)
	n = b.LShr(b.Add(p0, b.i(1<<29)), b.i(30))
	p0 = b.Sub(p0, b.Shl(n, b.i(30)))

	// fraction = p0·2^32 + p1 with a signed p1, so that what is small in p0 is small in all. p0 has 30 bits, which one
	// f32 and the rest hold.
	p0 = b.Add(p0, b.LShr(p1, b.i(31)))
	top := b.Convert(p0, kernel.F32)
	left := b.Convert(b.Sub(p0, b.Convert(top, kernel.I32)), kernel.F32)
	low := b.FMA(left, b.f(0x1p32), b.Convert(p1, kernel.F32))
	scale := b.parts(math.Pi / 2 * 0x1p-62)
	top = b.Mul(top, b.f(0x1p32)) // exact
	r = b.FMA(top, scale.hi, b.FMA(top, scale.lo, b.Mul(low, scale.hi)))
	flip := b.And(bits, b.i(-1<<31))
	r = b.float(b.Xor(b.bits(r), flip))
	n = b.Select(b.Lt(x, b.f(0)), b.Sub(b.i(0), n), n)
	return b.Add(r, b.Sub(x, x)), n // x - x is NaN for infinity and NaN, else 0
}
