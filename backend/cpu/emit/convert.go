package emit

import (
	"fmt"

	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"ptc/backend/kernel"
)

func lowerConvert(fn *function, s *kernel.Stmt) value.Value {
	x, from, to := fn.vals[s.Args[0]], s.Args[0].Type.Elem, s.Result().Type.Elem
	t := regType(s.Result().Type)
	switch {
	case from == kernel.I1 && to.IsFloat():
		return fn.b.NewUIToFP(x, t)
	case from == kernel.I1:
		return fn.b.NewZExt(x, t)
	case from.IsInt() && to.IsFloat():
		return fn.b.NewSIToFP(x, t)
	case from == kernel.I32 && to == kernel.I64:
		return fn.b.NewSExt(x, t)
	case from == kernel.I64 && to == kernel.I32:
		return fn.b.NewTrunc(x, t)
	case from == kernel.F32 && to == kernel.F64:
		return fn.b.NewFPExt(x, t)
	case from == kernel.F64 && to == kernel.F32:
		return fn.b.NewFPTrunc(x, t)
	}
	name := fmt.Sprintf("llvm.fptosi.sat.%s.%s", mangle(t), mangle(x.Type()))
	return fn.b.NewCall(fn.m.intrinsic(name, t, x.Type()), x)
}

func lowerBitcast(fn *function, s *kernel.Stmt) value.Value {
	return fn.b.NewBitCast(fn.vals[s.Args[0]], regType(s.Result().Type))
}

func lowerRound(fn *function, s *kernel.Stmt) value.Value {
	return fn.widen(s.Elem, fn.narrow(s.Elem, fn.vals[s.Args[0]]))
}

// conversion is how elements change between memory and registers, of those that do.
type conversion struct {
	widen, narrow func(fn *function, v value.Value) value.Value
}

// conversions has a row for each element that is not in a register as it is in memory.
var conversions = map[kernel.Elem]conversion{
	kernel.Bool: {
		widen: func(fn *function, raw value.Value) value.Value {
			return fn.b.NewICmp(enum.IPredNE, raw, intOf(raw.Type(), 0))
		},
		narrow: func(fn *function, v value.Value) value.Value { return fn.b.NewZExt(v, like(v.Type(), types.I8)) },
	},
	kernel.BF16:   {(*function).widenBF16, (*function).narrowBF16},
	kernel.F16:    {(*function).widenF16, (*function).narrowF16},
	kernel.F8E4M3: float8(kernel.F8E4M3, 7, 0x7f, 0x7f),
	kernel.F8E5M2: float8(kernel.F8E5M2, 15, 0x7c, 0x7f),
}

// widen turns what lies in memory as e into its register.
func (fn *function) widen(e kernel.Elem, raw value.Value) value.Value {
	if e.Register() == e {
		return raw
	}
	return conversions[e].widen(fn, raw)
}

// narrow turns a register into what lies in memory as e.
func (fn *function) narrow(e kernel.Elem, v value.Value) value.Value {
	if e.Register() == e {
		return v
	}
	return conversions[e].narrow(fn, v)
}

func (fn *function) widenBF16(raw value.Value) value.Value {
	wide := fn.b.NewZExt(raw, like(raw.Type(), types.I32))
	return fn.b.NewBitCast(fn.b.NewShl(wide, intOf(wide.Type(), 16)), like(raw.Type(), types.Float))
}

// narrowBF16 rounds to nearest even on the bits: the x86 instruction for it
// would flush subnormals. A carry out of the mantissa is the right exponent.
func (fn *function) narrowBF16(v value.Value) value.Value {
	t := like(v.Type(), types.I32)
	bits := fn.b.NewBitCast(v, t)
	odd := fn.b.NewAnd(fn.b.NewLShr(bits, intOf(t, 16)), intOf(t, 1))
	rounded := fn.b.NewAdd(bits, fn.b.NewAdd(odd, intOf(t, 0x7fff)))
	quiet := fn.b.NewOr(bits, intOf(t, 0x400000))
	nan := fn.b.NewFCmp(enum.FPredUNO, v, v)
	top := fn.b.NewLShr(fn.b.NewSelect(nan, quiet, rounded), intOf(t, 16))
	return fn.b.NewTrunc(top, like(t, types.I16))
}

// widenF16 converts, where there are no instructions for it, so: the half's exponent
// and mantissa, moved to their places in an f32, are 2^-112 of the value, for
// subnormals too. Infinities and NaNs then need the full exponent.
func (fn *function) widenF16(raw value.Value) value.Value {
	if fn.m.t.HasF16 {
		return fn.b.NewFPExt(fn.b.NewBitCast(raw, like(raw.Type(), types.Half)), like(raw.Type(), types.Float))
	}
	t := like(raw.Type(), types.I32)
	f := like(raw.Type(), types.Float)
	h := fn.b.NewZExt(raw, t)
	magnitude := fn.b.NewAnd(h, intOf(t, 0x7fff))
	small := fn.b.NewBitCast(fn.b.NewShl(magnitude, intOf(t, 13)), f)
	bits := fn.b.NewBitCast(fn.b.NewFMul(small, floatOf(f, 0x1p112)), t)
	special := fn.b.NewICmp(enum.IPredSGE, magnitude, intOf(t, 0x7c00))
	full := fn.b.NewSelect(special, fn.b.NewOr(bits, intOf(t, 0x7f800000)), bits)
	sign := fn.b.NewShl(fn.b.NewAnd(h, intOf(t, 0x8000)), intOf(t, 16))
	return fn.b.NewBitCast(fn.b.NewOr(full, sign), f)
}

// narrowF16 rounds to nearest even, where there are no instructions for it so: normal
// results on the bits; subnormal ones by adding 1/2, whose last place is the smallest
// half; above, infinity or NaN.
func (fn *function) narrowF16(v value.Value) value.Value {
	if fn.m.t.HasF16 {
		return fn.b.NewBitCast(fn.b.NewFPTrunc(v, like(v.Type(), types.Half)), like(v.Type(), types.I16))
	}
	t := like(v.Type(), types.I32)
	bits := fn.b.NewBitCast(v, t)
	magnitude := fn.b.NewAnd(bits, intOf(t, 0x7fffffff))

	odd := fn.b.NewAnd(fn.b.NewLShr(magnitude, intOf(t, 13)), intOf(t, 1))
	const rebias = (15-127)<<23 + 0xfff
	normal := fn.b.NewLShr(fn.b.NewAdd(fn.b.NewAdd(magnitude, odd), intOf(t, rebias)), intOf(t, 13))

	half := fn.b.NewFAdd(fn.b.NewBitCast(magnitude, v.Type()), floatOf(v.Type(), 0.5))
	tiny := fn.b.NewSub(fn.b.NewBitCast(half, t), intOf(t, 0x3f000000))

	nan := fn.b.NewICmp(enum.IPredSGT, magnitude, intOf(t, 0x7f800000))
	huge := fn.b.NewSelect(nan, intOf(t, 0x7e00), intOf(t, 0x7c00))

	r := fn.b.NewSelect(fn.b.NewICmp(enum.IPredSLT, magnitude, intOf(t, 0x38800000)), tiny, normal)
	r = fn.b.NewSelect(fn.b.NewICmp(enum.IPredSGE, magnitude, intOf(t, 0x47800000)), huge, r)
	sign := fn.b.NewAnd(fn.b.NewLShr(bits, intOf(t, 16)), intOf(t, 0x8000))
	return fn.b.NewTrunc(fn.b.NewOr(r, sign), like(t, types.I16))
}

// fma is x·y+z with one rounding: an instruction, or in f64 as kerneltest.Interpret
// does it (product exact, sum rounded to odd, then rounded to f32).
func (fn *function) fma(x, y, z value.Value) value.Value {
	if fn.m.t.HasFMA {
		return fn.call("fma", x.Type(), x, y, z)
	}
	if e, _ := lanesOf(x.Type()); !e.Equal(types.Float) {
		fn.fail("fma of %s needs a processor with FMA; use muladd", x.Type())
		return x
	}
	d, l := like(x.Type(), types.Double), like(x.Type(), types.I64)
	p := fn.b.NewFMul(fn.b.NewFPExt(x, d), fn.b.NewFPExt(y, d))
	c := fn.b.NewFPExt(z, d)
	s := fn.b.NewFAdd(p, c)
	t := fn.b.NewFSub(s, p)
	e := fn.b.NewFAdd(fn.b.NewFSub(p, fn.b.NewFSub(s, t)), fn.b.NewFSub(c, t))

	zero := floatOf(d, 0)
	bits := fn.b.NewBitCast(s, l)
	even := fn.b.NewICmp(enum.IPredEQ, fn.b.NewAnd(bits, intOf(l, 1)), intOf(l, 0))
	fix := fn.b.NewAnd(even, fn.b.NewFCmp(enum.FPredONE, e, zero))
	differ := fn.b.NewXor(fn.b.NewFCmp(enum.FPredOGT, e, zero), fn.b.NewFCmp(enum.FPredOGT, s, zero))
	step := fn.b.NewSelect(differ, intOf(l, -1), intOf(l, 1))
	odd := fn.b.NewSelect(fix, fn.b.NewAdd(bits, step), bits)
	return fn.b.NewFPTrunc(fn.b.NewBitCast(odd, d), x.Type())
}
