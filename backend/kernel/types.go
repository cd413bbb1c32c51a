package kernel

import (
	"fmt"

	"ptc/internal/dtype"
)

// Elem is the type of one element of a buffer or one lane of a register: a dtype, or
// I1.
type Elem uint8

// The element types that generators name. Some dtypes (BF16, F16, F8E4M3, F8E5M2, Bool) exist in
// memory only: in registers they are what they are computed in, and I1. I1 exists in
// registers only.
const (
	InvalidElem = Elem(dtype.Invalid)
	F32         = Elem(dtype.F32)
	F64         = Elem(dtype.F64)
	BF16        = Elem(dtype.BF16)
	F16         = Elem(dtype.F16)
	F8E4M3      = Elem(dtype.F8E4M3)
	F8E5M2      = Elem(dtype.F8E5M2)
	I32         = Elem(dtype.I32)
	I64         = Elem(dtype.I64)
	Bool        = Elem(dtype.Bool)  // one byte in memory, zero or one
	I1          = Elem(dtype.Count) // one lane of a mask
)

// DType is the dtype that e is; Invalid for I1.
func (e Elem) DType() dtype.DType {
	if e == I1 {
		return dtype.Invalid
	}
	return dtype.DType(e)
}

func (e Elem) String() string {
	switch e {
	case InvalidElem:
		return "invalid"
	case I1:
		return "i1"
	}
	return e.DType().String()
}

// Bytes is the size of one element in memory, 0 for I1.
func (e Elem) Bytes() int { return e.DType().Size() }

// Register is the element type a load of e yields and a store to e takes; invalid
// for what no kernel computes with.
func (e Elem) Register() Elem {
	switch d := e.DType(); {
	case e == I1 || e == Bool:
		return I1
	case e == InvalidElem || d.IsInt() && d.Bits() < 32:
		return InvalidElem
	default:
		return Elem(d.Acc())
	}
}

// IsNarrow reports whether e is a float that is converted between memory and
// registers, to which registers may be rounded.
func (e Elem) IsNarrow() bool { return e.DType().IsNarrow() }

// IsFloat reports whether e is a floating-point register type.
func (e Elem) IsFloat() bool { return e == F32 || e == F64 }

// IsInt reports whether e is an integer register type (masks excluded).
func (e Elem) IsInt() bool { return e == I32 || e == I64 }

// Signed is the integer that the bits of an integer register are.
func (e Elem) Signed(bits uint64) int64 {
	if e == I32 {
		return int64(int32(bits))
	}
	return int64(bits)
}

// Type is a register type: a scalar when Lanes is 1, else a vector.
type Type struct {
	Elem  Elem
	Lanes int
}

// Scalar is the scalar type of e.
func Scalar(e Elem) Type { return Type{e, 1} }

// Vec is the type of lanes elements e.
func Vec(e Elem, lanes int) Type { return Type{e, lanes} }

func (t Type) String() string {
	if t.Lanes == 1 {
		return t.Elem.String()
	}
	return fmt.Sprintf("%sx%d", t.Elem, t.Lanes)
}

// With is t with another element type and the same lanes.
func (t Type) With(e Elem) Type { return Type{e, t.Lanes} }

// Machine is what a generator needs to know of the target to choose tile sizes
// and vector widths. It describes; it never changes what a kernel means.
type Machine struct {
	VectorBits int  // widest vector register
	Registers  int  // vector registers
	FMA        bool // fused multiply-add in hardware
	DotBF16    bool // OpDotBF16 in hardware
	MatBF16    bool // OpMatBF16 in hardware, on vectors of 128 bits
	TileBF16   bool // tile registers and OpTileDot in hardware
	Masked     bool // masked loads and stores in hardware, for every element size
	L1, L2, L3 int  // bytes of data cache: L1 and L2 of one core, L3 shared
}

// Steps is how many steps of a loop that adds to so many vectors are to be written out.
// A step of few multiply-adds takes hardly longer than its loop does: four of 12 each gain
// 7% on a Zen 3. Those of many fill the registers, and two of them would be
// interleaved so that some no longer fit.
func (m Machine) Steps(sums int64) int {
	if m.FMA && sums < 16 {
		return 4
	}
	return 1
}

// Lanes is how many elements e fill one vector register.
func (m Machine) Lanes(e Elem) int {
	bytes := e.Register().Bytes()
	if bytes == 0 || m.VectorBits == 0 {
		return 1
	}
	return max(1, m.VectorBits/8/bytes)
}
