package nvptx

import (
	"math"

	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// arithmetic is that of backend/kernel, on scalars, whose statements become instructions as they are made.
type arithmetic struct {
	*entry
	near bool // exponentials are the hardware's
	fp8  bool // conversions and products of floats of eight bits are the hardware's
}

func (b *arithmetic) Near(near bool, body func()) {
	before := b.near
	b.near = near || before
	body()
	b.near = before
}

// nearExp is e to the power of x, as one of 2. It is off by 2 units in the last place at most ("PTX ISA", 9.7.3, ex2), 2⁻²²
// of it, and by |x| · 2⁻²³ of it for what is rounded before; where x is below -88, it is 0.
func (b *arithmetic) nearExp(x ptx.Operand) ptx.Operand {
	log2e := ptx.Operand{Kind: ptx.IsF32, Imm: int64(math.Float32bits(math.Log2E))}
	return b.pure(ptx.B32, "ex2.approx.ftz.f32", b.pure(ptx.B32, "mul.rn.f32", x, log2e))
}

// float8 is a float of eight bits: what instructions call it, the bias of its exponent, the bits of an f32's significand
// that it has not, its first code that is not finite, and that of NaN.
type float8 struct {
	name                     string
	bias, drop, special, nan int64
}

var fp8 = map[kernel.Elem]float8{
	kernel.F8E4M3: {"e4m3", 7, 20, 0x7f, 0x7f},
	kernel.F8E5M2: {"e5m2", 15, 21, 0x7c, 0x7f},
}

// halfName is what instructions call numbers e of 16 or 8 bits.
func halfName(e kernel.Elem) string {
	if e == kernel.BF16 {
		return "bf16"
	}
	if x, ok := fp8[e]; ok {
		return x.name
	}
	return "f16"
}

// widen is the f32 of 16 bits in a register.
func (b *arithmetic) widen(half string, h ptx.Operand) ptx.Operand {
	if half == "bf16" { // cvt.f32.bf16 is of sm_90 alone
		return b.pure(ptx.B32, "mov.b32", ptx.Vec(b.pure(ptx.B16, "mov.b16", ptx.Imm(0)), h))
	}
	return b.pure(ptx.B32, "cvt.f32.f16", h)
}

// Floats of eight bits are converted by instructions on sm_89 and sm_90 ("PTX ISA", cvt), and elsewhere by arithmetic on
// their bits.

// widenFloat8s is the f32 of as many elements e as a register has, 1, 2 or 4.
func (b *arithmetic) widenFloat8s(e kernel.Elem, r ptx.Operand, each int) []*thread.Value {
	if !b.fp8 {
		if r.Reg.Class == ptx.B16 {
			r = b.pure(ptx.B32, "cvt.u32.u16", r)
		}
		out := make([]*thread.Value, each)
		for i := range out {
			out[i] = b.widenFloat8(e, b.LShr(b.value(kernel.I32, r), b.whole(int64(8*i))))
		}
		return out
	}
	halves := func(r ptx.Operand) []ptx.Operand {
		low, high := ptx.R(b.reg(ptx.B16)), ptx.R(b.reg(ptx.B16))
		b.op("mov.b32", ptx.Vec(low, high), r)
		return []ptx.Operand{low, high}
	}
	pairs := []ptx.Operand{r}
	if r.Reg.Class == ptx.B32 {
		pairs = halves(r)
	}
	var out []*thread.Value
	for _, p := range pairs {
		for _, h := range halves(b.pure(ptx.B32, "cvt.rn.f16x2."+fp8[e].name+"x2", p)) {
			out = append(out, b.value(kernel.F32, b.widen("f16", h)))
		}
	}
	return out[:each]
}

// narrowFloat8s is 1, 2 or 4 elements e in a register of that class, rounded to the nearest, and no further than to the
// largest.
func (b *arithmetic) narrowFloat8s(e kernel.Elem, c ptx.Class, vs []*thread.Value) ptx.Operand {
	if b.fp8 {
		pair := func(low, high ptx.Operand) ptx.Operand {
			return b.pure(ptx.B16, "cvt.rn.satfinite."+fp8[e].name+"x2.f32", high, low)
		}
		switch len(vs) {
		case 1:
			return pair(b.inReg(vs[0]), b.pure(ptx.B32, "mov.b32", ptx.Imm(0)))
		case 2:
			return pair(b.inReg(vs[0]), b.inReg(vs[1]))
		}
		low, high := pair(b.inReg(vs[0]), b.inReg(vs[1])), pair(b.inReg(vs[2]), b.inReg(vs[3]))
		return b.pure(ptx.B32, "mov.b32", ptx.Vec(low, high))
	}
	var all *thread.Value
	for i, v := range vs {
		x := b.Shl(b.narrowFloat8(e, v), b.whole(int64(8*i)))
		if all == nil {
			all = x
		} else {
			all = b.Or(all, x)
		}
	}
	if c == ptx.B16 {
		return b.pure(ptx.B16, "cvt.u16.u32", b.inReg(all))
	}
	return b.inReg(all)
}

// widenFloat8 takes the element in the low bits of w: exponent and significand moved to their places in an f32 are
// 2^(bias-127) of it, for subnormal numbers too. Infinities and NaN need the full exponent.
func (b *arithmetic) widenFloat8(e kernel.Elem, w *thread.Value) *thread.Value {
	x := fp8[e]
	magnitude := b.And(w, b.whole(0x7f))
	small := b.Bitcast(b.Shl(magnitude, b.whole(x.drop)), kernel.F32)
	bits := b.Bitcast(b.Mul(small, b.Const(kernel.Scalar(kernel.F32), math.Ldexp(1, int(127-x.bias)))), kernel.I32)
	full := b.Select(b.Lt(magnitude, b.whole(x.special)), bits, b.Or(bits, b.whole(0x7f800000)))
	sign := b.Shl(b.And(w, b.whole(0x80)), b.whole(24))
	return b.Bitcast(b.Or(full, sign), kernel.F32)
}

// narrowFloat8 is the bits of v: normal ones on the bits, subnormal ones by the sum with a number whose last place is
// the smallest of e.
func (b *arithmetic) narrowFloat8(e kernel.Elem, v *thread.Value) *thread.Value {
	x := fp8[e]
	bits := b.Bitcast(v, kernel.I32)
	magnitude := b.And(bits, b.whole(0x7fffffff))
	odd := b.And(b.LShr(magnitude, b.whole(x.drop)), b.whole(1))
	normal := b.LShr(b.Add(b.Add(magnitude, odd), b.whole((x.bias-127)<<23+1<<(x.drop-1)-1)), b.whole(x.drop))
	normal = b.Min(normal, b.whole(x.special-1))

	unit := (127 + 1 - x.bias + x.drop) << 23
	sum := b.Add(b.Bitcast(magnitude, kernel.F32), b.Bitcast(b.whole(unit), kernel.F32))
	tiny := b.Sub(b.Bitcast(sum, kernel.I32), b.whole(unit))

	r := b.Select(b.Lt(magnitude, b.whole((127+1-x.bias)<<23)), tiny, normal)
	r = b.Select(b.Lt(b.whole(0x7f800000), magnitude), b.whole(x.nan), r)
	return b.Or(r, b.And(b.LShr(bits, b.whole(24)), b.whole(0x80)))
}
