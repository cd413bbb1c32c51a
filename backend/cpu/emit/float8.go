package emit

import (
	"math"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

// float8 is the conversion of a float of one byte, which no processor has instructions
// for: the bias of its exponent, the first code that is not finite, and that of NaN.
func float8(e kernel.Elem, bias, special, nan int64) conversion {
	_, mantissa := e.DType().Masks()
	kept := int64(1)
	for mantissa>>kept != 0 {
		kept++
	}
	drop := 23 - kept
	return conversion{
		widen:  func(fn *function, raw value.Value) value.Value { return fn.widenFloat8(raw, bias, drop, special) },
		narrow: func(fn *function, v value.Value) value.Value { return fn.narrowFloat8(v, bias, drop, special-1, nan) },
	}
}

// widenFloat8 has exponent and mantissa moved to their places in an f32, which are
// 2^(bias-127) of the value, for subnormals too. Infinities and NaN then need the full
// exponent.
func (fn *function) widenFloat8(raw value.Value, bias, drop, special int64) value.Value {
	t, f := like(raw.Type(), types.I32), like(raw.Type(), types.Float)
	h := fn.b.NewZExt(raw, t)
	magnitude := fn.b.NewAnd(h, intOf(t, 0x7f))
	small := fn.b.NewBitCast(fn.b.NewShl(magnitude, intOf(t, drop)), f)
	bits := fn.b.NewBitCast(fn.b.NewFMul(small, floatOf(f, math.Ldexp(1, int(127-bias)))), t)
	rare := fn.b.NewICmp(enum.IPredSGE, magnitude, intOf(t, special))
	full := fn.b.NewSelect(rare, fn.b.NewOr(bits, intOf(t, 0x7f800000)), bits)
	sign := fn.b.NewShl(fn.b.NewAnd(h, intOf(t, 0x80)), intOf(t, 24))
	return fn.b.NewBitCast(fn.b.NewOr(full, sign), f)
}

// narrowFloat8 rounds to nearest even: normal results on the bits, no further than to the
// largest; subnormal ones by adding a number whose last place is the smallest of the
// format. A NaN stays one.
func (fn *function) narrowFloat8(v value.Value, bias, drop, largest, nan int64) value.Value {
	t := like(v.Type(), types.I32)
	bits := fn.b.NewBitCast(v, t)
	magnitude := fn.b.NewAnd(bits, intOf(t, 0x7fffffff))

	odd := fn.b.NewAnd(fn.b.NewLShr(magnitude, intOf(t, drop)), intOf(t, 1))
	rebias := (bias-127)<<23 + 1<<(drop-1) - 1
	var normal value.Value = fn.b.NewLShr(fn.b.NewAdd(fn.b.NewAdd(magnitude, odd), intOf(t, rebias)), intOf(t, drop))
	normal = fn.pick(enum.IPredSGT, normal, intOf(t, largest), intOf(t, largest), normal)

	unit := (127 + 1 - bias + drop) << 23
	sum := fn.b.NewFAdd(fn.b.NewBitCast(magnitude, v.Type()), floatOf(v.Type(), float64(math.Float32frombits(uint32(unit)))))
	tiny := fn.b.NewSub(fn.b.NewBitCast(sum, t), intOf(t, unit))

	r := fn.pick(enum.IPredSLT, magnitude, intOf(t, (127+1-bias)<<23), tiny, normal)
	r = fn.pick(enum.IPredSGT, magnitude, intOf(t, 0x7f800000), intOf(t, nan), r)
	sign := fn.b.NewAnd(fn.b.NewLShr(bits, intOf(t, 24)), intOf(t, 0x80))
	return fn.b.NewTrunc(fn.b.NewOr(r, sign), like(t, types.I8))
}

// pick is a where the comparison of x and y holds, else b.
func (fn *function) pick(p enum.IPred, x, y, a, b value.Value) value.Value {
	return fn.b.NewSelect(fn.b.NewICmp(p, x, y), a, b)
}
