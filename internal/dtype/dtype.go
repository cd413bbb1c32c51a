package dtype

import (
	"fmt"
	"math"
	"slices"
)

// DType is the type of a tensor's elements. The zero value is none.
type DType uint8

const (
	Invalid DType = iota
	Bool          // one byte, 0 or 1
	I32
	F16
	BF16
	F32
	F64
	I64 // of files and of kernels' registers
	U8  // of files
	// The floats of eight bits, of operands of products with a scale: the first holds
	// more digits, the second more range. Micikevicius et al., "FP8 Formats for Deep
	// Learning" (2022), section 3; OCP 8-bit Floating Point Specification, revision 1.0.
	F8E4M3
	F8E5M2

	Count // how many there are, Invalid among them
)

// Class says what kind of numbers a dtype holds.
type Class uint8

const (
	NoClass Class = iota
	Boolean
	Integer
	Float
)

// row is all that is known of one dtype.
type row struct {
	name  string // in programs, the IR, plans and messages
	bits  int    // of one element
	class Class
	// exponent and mantissa are the bits that a float has of each; the mantissa's
	// are those stored.
	exponent, mantissa int
	// finite: there are no infinities, and of the codes whose exponent is all ones only
	// those whose mantissa is too are NaN.
	finite bool
	// min and max bound what is not a float: the largest float64 that it has.
	min, max float64
	// acc is the dtype in which arithmetic on elements is done, sums among it.
	acc DType
	// tensor: tensors of programs and plans may have it.
	tensor bool
	// safetensors is its name in files, and aliases are the names that other
	// frameworks give it.
	safetensors string
	aliases     []string

	codec
}

var rows = [Count]row{
	Bool: {name: "bool", bits: 8, class: Boolean, max: 1, acc: Bool, tensor: true,
		safetensors: "BOOL", codec: codec{decode: decodeBool, encode: encodeBool}},
	I32: {name: "i32", bits: 32, class: Integer, min: math.MinInt32, max: math.MaxInt32, acc: I32, tensor: true,
		safetensors: "I32", aliases: []string{"int32", "int"}, codec: codec{decode: decodeI32, encode: encodeI32}},
	F16: {name: "f16", bits: 16, class: Float, exponent: 5, mantissa: 10, acc: F32, tensor: true,
		safetensors: "F16", aliases: []string{"float16", "fp16", "half"}, codec: half(FromF16, ToF16, widenF16, narrowF16)},
	BF16: {name: "bf16", bits: 16, class: Float, exponent: 8, mantissa: 7, acc: F32, tensor: true,
		safetensors: "BF16", aliases: []string{"bfloat16", "bfloat"}, codec: half(FromBF16, ToBF16, widenBF16, narrowBF16)},
	F32: {name: "f32", bits: 32, class: Float, exponent: 8, mantissa: 23, acc: F32, tensor: true,
		safetensors: "F32", aliases: []string{"float32", "fp32", "float"}, codec: codec{decode: decodeF32, encode: encodeF32, round: roundF32}},
	F64: {name: "f64", bits: 64, class: Float, exponent: 11, mantissa: 52, acc: F64, tensor: true,
		safetensors: "F64", aliases: []string{"float64", "fp64", "double"}, codec: codec{decode: decodeF64, encode: encodeF64}},
	I64: {name: "i64", bits: 64, class: Integer, min: math.MinInt64, max: 1<<63 - 1<<10, acc: I64,
		safetensors: "I64", aliases: []string{"int64", "long"}, codec: codec{decode: decodeI64, encode: encodeI64}},
	F8E4M3: {name: "f8e4m3", bits: 8, class: Float, exponent: 4, mantissa: 3, finite: true, acc: F32, tensor: true,
		safetensors: "F8_E4M3", aliases: []string{"float8_e4m3fn", "e4m3", "fp8"}, codec: float8(e4m3)},
	F8E5M2: {name: "f8e5m2", bits: 8, class: Float, exponent: 5, mantissa: 2, acc: F32, tensor: true,
		safetensors: "F8_E5M2", aliases: []string{"float8_e5m2", "e5m2"}, codec: float8(e5m2)},
	U8: {name: "u8", bits: 8, class: Integer, max: math.MaxUint8, acc: U8,
		safetensors: "U8", aliases: []string{"uint8", "byte"}, codec: codec{decode: decodeU8, encode: encodeU8}},
}

// All lists the dtypes.
func All() []DType { return where(func(row) bool { return true }) }

// Tensors lists the dtypes that tensors of programs and plans may have.
func Tensors() []DType { return where(func(r row) bool { return r.tensor }) }

// Compute lists the dtypes that a program's matrix products may be computed in,
// and its parameters stored in, widest first: f32 and the floats whose sums are f32.
// Those of a byte hold too few numbers without a scale of their own: see [DType.IsScaled].
func Compute() []DType {
	all := where(func(r row) bool { return r.class == Float && r.acc == F32 && r.bits > 8 })
	slices.SortStableFunc(all, func(a, b DType) int { return b.Bits() - a.Bits() + rows[b].exponent - rows[a].exponent })
	return all
}

// Reduce lists those of [Compute] in which gradients may be added up: those with
// the range of f32, which a sum of scaled gradients does not leave.
func Reduce() []DType {
	return slices.DeleteFunc(Compute(), func(d DType) bool { return rows[d].exponent < rows[F32].exponent })
}

func where(is func(row) bool) []DType {
	var all []DType
	for d := Invalid + 1; d < Count; d++ {
		if is(rows[d]) {
			all = append(all, d)
		}
	}
	return all
}

// Names is the names of dtypes.
func Names(all []DType) []string {
	names := make([]string, len(all))
	for i, d := range all {
		names[i] = d.String()
	}
	return names
}

// Parse is the inverse of [DType.String] for the dtypes of tensors.
func Parse(name string) (DType, bool) {
	for d := Invalid + 1; d < Count; d++ {
		if rows[d].tensor && rows[d].name == name {
			return d, true
		}
	}
	return Invalid, false
}

// Alias is the dtype to which another framework gives that name, for suggestions.
func Alias(name string) (DType, bool) {
	for d := Invalid + 1; d < Count; d++ {
		if slices.Contains(rows[d].aliases, name) {
			return d, true
		}
	}
	return Invalid, false
}

// ParseSafetensors is the inverse of [DType.Safetensors].
func ParseSafetensors(name string) (DType, bool) {
	for d := Invalid + 1; d < Count; d++ {
		if rows[d].safetensors == name {
			return d, true
		}
	}
	return Invalid, false
}

// Valid says whether d is a dtype at all.
func (d DType) Valid() bool { return d > Invalid && d < Count }

func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return rows[d].name
}

// Safetensors is the name that files of safetensors have for d.
func (d DType) Safetensors() string {
	if !d.Valid() {
		return d.String()
	}
	return rows[d].safetensors
}

// Bits is the number of bits of one element; 0 for Invalid.
func (d DType) Bits() int { return rows[d].bits }

// Size is the number of bytes of one element that has a place of its own in memory; 0 for Invalid, and for
// formats of less than a byte. Who counts bytes of many elements asks [Bytes].
func (d DType) Size() int { return rows[d].bits / 8 }

// Bytes is how many bytes n elements take that follow one another in memory.
func Bytes[N ~int | ~int64](d DType, n N) N {
	if bits := N(rows[d].bits); bits%8 != 0 {
		return (n*bits + 7) / 8
	}
	return n * N(d.Size()) // of more bits than a count has
}

// Elems is how many whole elements so many bytes hold; 0 for Invalid.
func Elems[N ~int | ~int64](d DType, bytes N) N {
	switch bits := N(rows[d].bits); {
	case bits == 0:
		return 0
	case bits%8 != 0:
		return bytes * 8 / bits
	default:
		return bytes / (bits / 8)
	}
}

// Class says what kind of numbers d holds.
func (d DType) Class() Class { return rows[d].class }

// IsFloat reports whether d is a floating-point type.
func (d DType) IsFloat() bool { return rows[d].class == Float }

// IsInt reports whether d is an integer type; booleans are not.
func (d DType) IsInt() bool { return rows[d].class == Integer }

// Acc is the dtype in which arithmetic on elements of d is done and sums of them
// are accumulated.
func (d DType) Acc() DType { return rows[d].acc }

// IsNarrow reports whether d only stores numbers: they are widened to compute with
// them, and results are rounded.
func (d DType) IsNarrow() bool { return rows[d].acc != d }

// Bounds are the least and the largest number of a dtype that is no float.
func (d DType) Bounds() (lo, hi float64) { return rows[d].min, rows[d].max }

// Holds reports whether v is a number of d, which rounding does not change or, of a
// float, may.
func (d DType) Holds(v float64) bool {
	r := &rows[d]
	return r.class == Float || r.class != NoClass && v == math.Trunc(v) && v >= r.min && v <= r.max
}

// Within reports whether every number of d is one of e, so that a conversion loses
// nothing.
func (d DType) Within(e DType) bool {
	a, b := &rows[d], &rows[e]
	switch {
	case d == e:
		return true
	case a.class == Float:
		return b.class == Float && a.exponent <= b.exponent && a.mantissa <= b.mantissa
	case b.class == Float: // integers up to 2^(mantissa+1) are exact
		limit := math.Ldexp(1, b.mantissa+1)
		return a.min >= -limit && a.max <= limit
	}
	return a.min >= b.min && a.max <= b.max
}

// IsScaled reports whether d is a float that holds too few numbers to be used without a
// scale of the tensor's own: one of a byte.
func (d DType) IsScaled() bool { return rows[d].class == Float && rows[d].bits <= 8 }

// Max is the largest finite number of a float; 0 for others.
func (d DType) Max() float64 {
	r := &rows[d]
	if r.class != Float {
		return 0
	}
	bias := 1<<(r.exponent-1) - 1
	if r.finite { // one more exponent, whose last mantissa is NaN
		return math.Ldexp(2-math.Ldexp(2, -r.mantissa), bias+1)
	}
	return math.Ldexp(2-math.Ldexp(1, -r.mantissa), bias)
}

// Masks are the bits of a float's exponent and mantissa: all of the exponent's set,
// the number is not finite, and NaN if any of the mantissa's is. Zero for others. Where
// the only such number is NaN, the exponent's bits are those of both.
func (d DType) Masks() (exponent, mantissa uint64) {
	r := &rows[d]
	if r.finite {
		return 1<<(r.exponent+r.mantissa) - 1, 1<<r.mantissa - 1
	}
	return (1<<r.exponent - 1) << r.mantissa, 1<<r.mantissa - 1
}
