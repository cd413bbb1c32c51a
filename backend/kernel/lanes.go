package kernel

import (
	"math"

	"ptc/internal/dtype"
)

// The meaning of each lane-wise op on register bits: floats as their IEEE bits,
// i32 zero-extended, i1 as 0 or 1. The explicit float32 conversions keep Go
// from fusing a product into a sum.

func f32(x uint64) float32    { return math.Float32frombits(uint32(x)) }
func f64(x uint64) float64    { return math.Float64frombits(x) }
func bits32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func bits64(f float64) uint64 { return math.Float64bits(f) }
func signed(e Elem, x uint64) int64 {
	if e == I32 {
		return int64(int32(x))
	}
	return int64(x)
}
func wrap(e Elem, x int64) uint64 {
	if e == I32 {
		return uint64(uint32(x))
	}
	return uint64(x)
}
func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// arith evaluates a binary op in the arithmetic of e.
func arith(e Elem, a [3]uint64, s func(x, y float32) float32, d func(x, y float64) float64, i func(x, y int64) int64) uint64 {
	switch e {
	case F32:
		return bits32(s(f32(a[0]), f32(a[1])))
	case F64:
		return bits64(d(f64(a[0]), f64(a[1])))
	}
	return wrap(e, i(signed(e, a[0]), signed(e, a[1])))
}

func laneAdd(e Elem, a [3]uint64) uint64 { return arith(e, a, add, add, add) }
func laneSub(e Elem, a [3]uint64) uint64 { return arith(e, a, sub, sub, sub) }
func laneMul(e Elem, a [3]uint64) uint64 { return arith(e, a, mul, mul, mul) }
func laneDiv(e Elem, a [3]uint64) uint64 { return arith(e, a, div, div, idiv) }
func laneRem(e Elem, a [3]uint64) uint64 { return arith(e, a, nil, nil, irem) }
func laneMin(e Elem, a [3]uint64) uint64 { return arith(e, a, lesser, lesser, lesser) }
func laneMax(e Elem, a [3]uint64) uint64 { return arith(e, a, greater, greater, greater) }

type number interface{ float32 | float64 | int64 }

func add[T number](x, y T) T            { return x + y }
func sub[T number](x, y T) T            { return x - y }
func mul[T number](x, y T) T            { return x * y }
func div[T float32 | float64](x, y T) T { return x / y }

// The minimum and maximum of IEEE 754-2019, as Go's built-in functions are: NaN
// if either is, and -0 below 0.
func lesser[T number](x, y T) T  { return min(x, y) }
func greater[T number](x, y T) T { return max(x, y) }

func idiv(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x / y // Go defines min/-1 = min
}

func irem(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x % y
}

func laneNeg(e Elem, a [3]uint64) uint64 {
	switch e {
	case F32:
		return a[0] ^ 1<<31
	case F64:
		return a[0] ^ 1<<63
	}
	return wrap(e, -signed(e, a[0]))
}

func laneAbs(e Elem, a [3]uint64) uint64 {
	switch e {
	case F32:
		return a[0] &^ (1 << 31)
	case F64:
		return a[0] &^ (1 << 63)
	}
	if signed(e, a[0]) < 0 {
		return laneNeg(e, a)
	}
	return a[0]
}

func laneFMA(e Elem, a [3]uint64) uint64 {
	if e == F64 {
		return bits64(math.FMA(f64(a[0]), f64(a[1]), f64(a[2])))
	}
	return bits32(fma32(f32(a[0]), f32(a[1]), f32(a[2])))
}

// laneMulThenAdd is MulAdd on a machine without FMA.
func laneMulThenAdd(e Elem, a [3]uint64) uint64 {
	return laneAdd(e, [3]uint64{laneMul(e, a), a[2]})
}

// fma32 is x·y+z with one rounding. The product is exact in float64; the sum is
// rounded to odd there, which makes the second rounding harmless (Boldo and
// Melquiond, "Emulation of a FMA and correctly rounded sums", 2008).
func fma32(x, y, z float32) float32 {
	p, c := float64(x)*float64(y), float64(z)
	s := float64(p + c)
	if math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	// TwoSum (Knuth): s + e is p + c exactly.
	t := float64(s - p)
	e := float64(float64(p-float64(s-t)) + float64(c-t))
	if e != 0 {
		if b := math.Float64bits(s); b&1 == 0 {
			if (e > 0) == (s > 0) {
				b++
			} else {
				b--
			}
			s = math.Float64frombits(b)
		}
	}
	return float32(s)
}

func rounding(f func(float64) float64) func(Elem, [3]uint64) uint64 {
	return func(e Elem, a [3]uint64) uint64 {
		if e == F64 {
			return bits64(f(f64(a[0])))
		}
		return bits32(float32(f(float64(f32(a[0])))))
	}
}

// The root of a float32 rounded to float64 first is the correctly rounded
// float32 root: 53 ≥ 2·24+2 (Figueroa, 1995).
var (
	laneSqrt  = rounding(math.Sqrt)
	laneFloor = rounding(math.Floor)
	laneRint  = rounding(math.RoundToEven)
)

func laneMulHi(_ Elem, a [3]uint64) uint64 { return a[0] * a[1] >> 32 }

func laneAnd(_ Elem, a [3]uint64) uint64 { return a[0] & a[1] }
func laneOr(_ Elem, a [3]uint64) uint64  { return a[0] | a[1] }
func laneXor(_ Elem, a [3]uint64) uint64 { return a[0] ^ a[1] }
func laneNot(e Elem, a [3]uint64) uint64 {
	if e == I1 {
		return a[0] ^ 1
	}
	return wrap(e, int64(^a[0]))
}

func width(e Elem) uint64 { return uint64(e.Bytes()) * 8 }

func laneShl(e Elem, a [3]uint64) uint64  { return wrap(e, int64(a[0]<<(a[1]%width(e)))) }
func laneLShr(e Elem, a [3]uint64) uint64 { return a[0] >> (a[1] % width(e)) }
func laneAShr(e Elem, a [3]uint64) uint64 { return wrap(e, signed(e, a[0])>>(a[1]%width(e))) }

// ordered evaluates a comparison in the order of e.
func ordered(e Elem, a [3]uint64, f func(x, y float64) bool, i func(x, y int64) bool) uint64 {
	switch e {
	case F32:
		return truth(f(float64(f32(a[0])), float64(f32(a[1]))))
	case F64:
		return truth(f(f64(a[0]), f64(a[1])))
	}
	return truth(i(signed(e, a[0]), signed(e, a[1])))
}

func equal[T number](x, y T) bool     { return x == y }
func differ[T number](x, y T) bool    { return x != y }
func less[T number](x, y T) bool      { return x < y }
func lessEqual[T number](x, y T) bool { return x <= y }

func laneEq(e Elem, a [3]uint64) uint64  { return ordered(e, a, equal, equal) }
func laneNe(e Elem, a [3]uint64) uint64  { return ordered(e, a, differ, differ) }
func laneLt(e Elem, a [3]uint64) uint64  { return ordered(e, a, less, less) }
func laneLe(e Elem, a [3]uint64) uint64  { return ordered(e, a, lessEqual, lessEqual) }
func laneULt(_ Elem, a [3]uint64) uint64 { return truth(a[0] < a[1]) }

// convert is OpConvert of one lane.
func convert(from, to Elem, x uint64) uint64 {
	switch from {
	case I1:
		if to.IsFloat() {
			return constBits(to, float64(x))
		}
		return x
	case I32, I64:
		n := signed(from, x)
		switch to {
		case F32:
			return bits32(float32(n))
		case F64:
			return bits64(float64(n))
		}
		return wrap(to, n)
	}
	f := f64(x)
	if from == F32 {
		f = float64(f32(x))
	}
	switch to {
	case F32:
		return bits32(float32(f))
	case F64:
		return bits64(f)
	}
	return wrap(to, saturate(f, uint(width(to))))
}

// saturate is f truncated to a signed integer of n bits, NaN giving 0.
func saturate(f float64, n uint) int64 {
	limit := math.Ldexp(1, int(n-1))
	switch {
	case f != f:
		return 0
	case f >= limit:
		return int64(1<<(n-1) - 1)
	case f < -limit:
		return -1 << (n - 1)
	}
	return int64(f)
}

// dotBF16 is OpDotBF16 of one lane.
func dotBF16(acc, x, y uint64) uint64 {
	hi := fma32(dtype.FromBF16(uint16(x>>16)), dtype.FromBF16(uint16(y>>16)), f32(acc))
	return bits32(fma32(dtype.FromBF16(uint16(x)), dtype.FromBF16(uint16(y)), hi))
}

// mathLane evaluates a math call by float64 math, rounded: the value that
// expansions are measured against.
func mathLane(op Op) func(Elem, [3]uint64) uint64 {
	return func(_ Elem, a [3]uint64) uint64 {
		return bits32(float32(Reference(op, float64(f32(a[0])), float64(f32(a[1])))))
	}
}

// Reference is the math call op at x (and y, for Pow and Mod) in float64.
func Reference(op Op, x, y float64) float64 {
	switch op {
	case OpExp:
		return math.Exp(x)
	case OpLog:
		return math.Log(x)
	case OpTanh:
		return math.Tanh(x)
	case OpErf:
		return math.Erf(x)
	case OpRsqrt:
		return 1 / math.Sqrt(x)
	case OpSigmoid:
		return 1 / (1 + math.Exp(-x))
	case OpSin:
		return math.Sin(x)
	case OpCos:
		return math.Cos(x)
	case OpPow:
		return math.Pow(x, y)
	case OpMod:
		return math.Mod(x, y)
	}
	return math.NaN()
}
