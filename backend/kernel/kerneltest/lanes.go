package kerneltest

import (
	"math"

	"ptc/backend/kernel"
)

// The meaning of each lane-wise op on register bits: floats as their IEEE bits,
// i32 zero-extended, i1 as 0 or 1. The explicit float32 conversions keep Go
// from fusing a product into a sum.

func f32(x uint64) float32    { return math.Float32frombits(uint32(x)) }
func f64(x uint64) float64    { return math.Float64frombits(x) }
func bits32(f float32) uint64 { return uint64(math.Float32bits(f)) }
func bits64(f float64) uint64 { return math.Float64bits(f) }
func wrap(e kernel.Elem, x int64) uint64 {
	if e == kernel.I32 {
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

// lane is what an op makes of one lane of its operands, of element e.
type lane func(e kernel.Elem, a [3]uint64) uint64

// lanewise has a row for each lane-wise op.
var lanewise = map[kernel.Op]lane{
	kernel.OpAdd:    arith(add, add, add),
	kernel.OpSub:    arith(sub, sub, sub),
	kernel.OpMul:    arith(mul, mul, mul),
	kernel.OpDiv:    arith(div, div, quotient),
	kernel.OpRem:    arith(nil, nil, remainder),
	kernel.OpMin:    arith(lesser, lesser, lesser),
	kernel.OpMax:    arith(greater, greater, greater),
	kernel.OpNeg:    negative,
	kernel.OpAbs:    absolute,
	kernel.OpFMA:    fma,
	kernel.OpMulAdd: fma,
	// The root of a float32 rounded to float64 first is the correctly rounded
	// float32 root: 53 ≥ 2·24+2 (Figueroa, 1995).
	kernel.OpSqrt:  rounding(math.Sqrt),
	kernel.OpFloor: rounding(math.Floor),
	kernel.OpMulHi: func(_ kernel.Elem, a [3]uint64) uint64 { return a[0] * a[1] >> 32 },
	kernel.OpDotBF16: func(e kernel.Elem, a [3]uint64) uint64 {
		const upper = 0xffff0000
		sum := fma(e, [3]uint64{a[1] & upper, a[2] & upper, a[0]})
		return fma(e, [3]uint64{a[1] << 16 & upper, a[2] << 16 & upper, sum})
	},

	kernel.OpAnd:  func(_ kernel.Elem, a [3]uint64) uint64 { return a[0] & a[1] },
	kernel.OpOr:   func(_ kernel.Elem, a [3]uint64) uint64 { return a[0] | a[1] },
	kernel.OpXor:  func(_ kernel.Elem, a [3]uint64) uint64 { return a[0] ^ a[1] },
	kernel.OpNot:  complement,
	kernel.OpShl:  func(e kernel.Elem, a [3]uint64) uint64 { return wrap(e, int64(a[0]<<(a[1]%width(e)))) },
	kernel.OpLShr: func(e kernel.Elem, a [3]uint64) uint64 { return a[0] >> (a[1] % width(e)) },
	kernel.OpAShr: func(e kernel.Elem, a [3]uint64) uint64 { return wrap(e, e.Signed(a[0])>>(a[1]%width(e))) },

	kernel.OpEq:  ordered(equal, equal),
	kernel.OpNe:  ordered(differ, differ),
	kernel.OpLt:  ordered(less, less),
	kernel.OpLe:  ordered(lessEqual, lessEqual),
	kernel.OpULt: func(_ kernel.Elem, a [3]uint64) uint64 { return truth(a[0] < a[1]) },
}

// arith is a binary op in the arithmetic of the element.
func arith(s func(x, y float32) float32, d func(x, y float64) float64, i func(x, y int64) int64) lane {
	return func(e kernel.Elem, a [3]uint64) uint64 {
		switch e {
		case kernel.F32:
			return bits32(s(f32(a[0]), f32(a[1])))
		case kernel.F64:
			return bits64(d(f64(a[0]), f64(a[1])))
		}
		return wrap(e, i(e.Signed(a[0]), e.Signed(a[1])))
	}
}

type number interface{ float32 | float64 | int64 }

func add[T number](x, y T) T            { return x + y }
func sub[T number](x, y T) T            { return x - y }
func mul[T number](x, y T) T            { return x * y }
func div[T float32 | float64](x, y T) T { return x / y }

// The minimum and maximum of IEEE 754-2019, as Go's built-in functions are: NaN
// if either is, and -0 below 0.
func lesser[T number](x, y T) T  { return min(x, y) }
func greater[T number](x, y T) T { return max(x, y) }

func quotient(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x / y // Go defines min/-1 = min
}

func remainder(x, y int64) int64 {
	if y == 0 {
		return 0
	}
	return x % y
}

func negative(e kernel.Elem, a [3]uint64) uint64 {
	if e.IsFloat() {
		return a[0] ^ 1<<(width(e)-1)
	}
	return wrap(e, -e.Signed(a[0]))
}

func absolute(e kernel.Elem, a [3]uint64) uint64 {
	if e.IsFloat() {
		return a[0] &^ (1 << (width(e) - 1))
	}
	if e.Signed(a[0]) < 0 {
		return negative(e, a)
	}
	return a[0]
}

func complement(e kernel.Elem, a [3]uint64) uint64 {
	if e == kernel.I1 {
		return a[0] ^ 1
	}
	return wrap(e, int64(^a[0]))
}

func fma(e kernel.Elem, a [3]uint64) uint64 {
	if e == kernel.F64 {
		return bits64(math.FMA(f64(a[0]), f64(a[1]), f64(a[2])))
	}
	return bits32(fma32(f32(a[0]), f32(a[1]), f32(a[2])))
}

// mulThenAdd is MulAdd on a machine without FMA.
func mulThenAdd(e kernel.Elem, a [3]uint64) uint64 {
	product := lanewise[kernel.OpMul](e, a)
	return lanewise[kernel.OpAdd](e, [3]uint64{product, a[2]})
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

func rounding(f func(float64) float64) lane {
	return func(e kernel.Elem, a [3]uint64) uint64 {
		if e == kernel.F64 {
			return bits64(f(f64(a[0])))
		}
		return bits32(float32(f(float64(f32(a[0])))))
	}
}

func width(e kernel.Elem) uint64 { return uint64(e.Bytes()) * 8 }

// ordered is a comparison in the order of the element.
func ordered(f func(x, y float64) bool, i func(x, y int64) bool) lane {
	return func(e kernel.Elem, a [3]uint64) uint64 {
		switch e {
		case kernel.F32:
			return truth(f(float64(f32(a[0])), float64(f32(a[1]))))
		case kernel.F64:
			return truth(f(f64(a[0]), f64(a[1])))
		}
		return truth(i(e.Signed(a[0]), e.Signed(a[1])))
	}
}

func equal[T number](x, y T) bool     { return x == y }
func differ[T number](x, y T) bool    { return x != y }
func less[T number](x, y T) bool      { return x < y }
func lessEqual[T number](x, y T) bool { return x <= y }

// convert is OpConvert of one lane.
func convert(from, to kernel.Elem, x uint64) uint64 {
	switch from {
	case kernel.I1:
		return convert(kernel.I64, to, x) // zero or one
	case kernel.I32, kernel.I64:
		n := from.Signed(x)
		switch to {
		case kernel.F32:
			return bits32(float32(n))
		case kernel.F64:
			return bits64(float64(n))
		}
		return wrap(to, n)
	}
	f := f64(x)
	if from == kernel.F32 {
		f = float64(f32(x))
	}
	switch to {
	case kernel.F32:
		return bits32(float32(f))
	case kernel.F64:
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

// call is one lane of a function: its exact value, rounded.
func call(f *kernel.Math) lane {
	return func(_ kernel.Elem, a [3]uint64) uint64 {
		return bits32(float32(f.Exact(float64(f32(a[0])), float64(f32(a[1])))))
	}
}
