package kernel

import "fmt"

// Elem is the type of one element of a buffer or one lane of a register.
type Elem uint8

// The element types. BF16, F16 and Bool exist in memory only: in registers
// they are F32, F32 and I1. I1 exists in registers only.
const (
	InvalidElem Elem = iota
	F32
	F64
	BF16
	F16
	I32
	I64
	Bool // one byte in memory, zero or one
	I1   // one lane of a mask
)

var elems = [...]struct {
	name  string
	bytes int
	reg   Elem
}{
	InvalidElem: {"invalid", 0, InvalidElem},
	F32:         {"f32", 4, F32},
	F64:         {"f64", 8, F64},
	BF16:        {"bf16", 2, F32},
	F16:         {"f16", 2, F32},
	I32:         {"i32", 4, I32},
	I64:         {"i64", 8, I64},
	Bool:        {"bool", 1, I1},
	I1:          {"i1", 0, I1},
}

func (e Elem) String() string { return elems[e].name }

// Bytes is the size of one element in memory, 0 for I1.
func (e Elem) Bytes() int { return elems[e].bytes }

// Register is the element type a load of e yields and a store to e takes.
func (e Elem) Register() Elem { return elems[e].reg }

// IsFloat reports whether e is a floating-point register type.
func (e Elem) IsFloat() bool { return e == F32 || e == F64 }

// IsInt reports whether e is an integer register type (masks excluded).
func (e Elem) IsInt() bool { return e == I32 || e == I64 }

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
	Masked     bool // masked loads and stores in hardware, for every element size
	DotBF16    bool // bf16 pair dot product into f32 (AVX512-BF16, Arm BF16)
	L1, L2, L3 int  // bytes of data cache: L1 and L2 of one core, L3 shared
}

// Lanes is how many elements e fill one vector register.
func (m Machine) Lanes(e Elem) int {
	bytes := e.Register().Bytes()
	if bytes == 0 || m.VectorBits == 0 {
		return 1
	}
	return max(1, m.VectorBits/8/bytes)
}
