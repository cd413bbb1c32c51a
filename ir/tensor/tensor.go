package tensor

import (
	"math"

	"ptc/ir"
)

// Tensor is a dense tensor. Booleans are 0 and 1; integers are exact, as every
// i32 is a float64.
type Tensor struct {
	Type ir.Type
	Data []float64 // row-major over Type.Axes
}

// New is a tensor of zeros.
func New(t ir.Type) *Tensor {
	return &Tensor{Type: t, Data: make([]float64, t.Elems())}
}

// Scalar is a tensor without axes.
func Scalar(d ir.DType, v float64) *Tensor {
	return &Tensor{Type: ir.Scalar(d), Data: []float64{v}}
}

// Round rounds every element to the tensor's dtype (nearest even for floats,
// as a store of that dtype would) and returns the tensor.
func (t *Tensor) Round() *Tensor {
	RoundTo(t.Type.DType, t.Data)
	return t
}

// RoundTo rounds each element to what dtype d can hold.
func RoundTo(d ir.DType, x []float64) {
	switch d {
	case ir.F32:
		for i, v := range x {
			x[i] = float64(float32(v))
		}
	case ir.BF16:
		for i, v := range x {
			x[i] = float64(BF16ToF32(F32ToBF16(float32(v))))
		}
	case ir.F16:
		for i, v := range x {
			x[i] = float64(F16ToF32(F32ToF16(float32(v))))
		}
	}
}

// F32ToBF16 rounds to nearest even; NaN stays a quiet NaN.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// BF16ToF32 is exact.
func BF16ToF32(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// F32ToF16 rounds to nearest even, with subnormals and overflow to infinity
// (IEEE 754-2008, binary16).
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	b &= 0x7fffffff
	switch {
	case b > 0x7f800000:
		return sign | 0x7e00
	case b >= 0x477ff000: // rounds to 65536 or more
		return sign | 0x7c00
	case b < 0x38800000: // below 2^-14: subnormal, in units of 2^-24
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(b))*(1<<24)))
	}
	b += 0xfff + b>>13&1
	return sign | uint16((b-0x38000000)>>13)
}

// F16ToF32 is exact.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, man := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case 0:
		f := math.Ldexp(float64(man), -24)
		return math.Float32frombits(sign | math.Float32bits(float32(f)))
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}
