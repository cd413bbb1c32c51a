package dtype

import (
	"encoding/binary"
	"math"
	"sync"
)

// Elements go through these a slice at a time, so that a loop over them has no call
// inside.

var le = binary.LittleEndian

// codec turns elements into numbers and back.
type codec struct {
	decode func(dst []float64, src []byte)
	encode func(dst []byte, src []float64) // rounds floats; others must be numbers of the dtype
	round  func(x []float64)               // to numbers of the dtype; nil where there is nothing to round
	// widen and narrow, of floats whose arithmetic is done in f32, convert from and to
	// it: exactly, and to nearest, ties to even.
	widen  func(dst []float32, src []byte)
	narrow func(dst []byte, src []float32)
	// from and to are the same of one element's bits.
	from func(bits uint32) float32
	to   func(x float32) uint32
}

// Decode reads len(dst) elements.
func (d DType) Decode(dst []float64, src []byte) { rows[d].decode(dst, src) }

// Encode writes src as elements. Floats are rounded to nearest, ties to even, those
// narrower than f32 through it; of others [DType.Holds] must hold.
func (d DType) Encode(dst []byte, src []float64) { rows[d].encode(dst, src) }

// Round makes floats what [DType.Encode] and [DType.Decode] would make of them, and
// leaves other numbers as they are.
func (d DType) Round(x []float64) {
	if f := rows[d].round; f != nil {
		f(x)
	}
}

// Widen reads len(dst) elements of a narrow float.
func (d DType) Widen(dst []float32, src []byte) { rows[d].widen(dst, src) }

// Narrow writes src as elements of a narrow float.
func (d DType) Narrow(dst []byte, src []float32) { rows[d].narrow(dst, src) }

// FromBits is the number that a narrow float's bits stand for.
func (d DType) FromBits(bits uint32) float32 { return rows[d].from(bits) }

// ToBits is the bits of the narrow float nearest to x.
func (d DType) ToBits(x float32) uint32 { return rows[d].to(x) }

// scratch is a block of elements on its way between float64 and memory. It comes from
// a pool because what a function of a row is given would otherwise be allocated anew.
type scratch struct {
	wide [block]float32
	mem  [8 * block]byte
}

const block = 256

var pool = sync.Pool{New: func() any { return new(scratch) }}

// narrow is the codec of a float of size bytes by the conversions of its bits with
// f32. widen and narrow are the same of many, where that has a faster loop; may be nil.
func narrow(size int, from func(uint32) float32, to func(float32) uint32, widen func([]float32, []byte), narrow func([]byte, []float32)) codec {
	if widen == nil {
		widen = func(dst []float32, src []byte) {
			for i := range dst {
				var bits uint32
				for k := range size {
					bits |= uint32(src[i*size+k]) << (8 * k)
				}
				dst[i] = from(bits)
			}
		}
	}
	if narrow == nil {
		narrow = func(dst []byte, src []float32) {
			for i, x := range src {
				bits := to(x)
				for k := range size {
					dst[i*size+k] = byte(bits >> (8 * k))
				}
			}
		}
	}
	decode := func(dst []float64, src []byte, s *scratch) {
		for len(dst) > 0 {
			n := min(len(dst), block)
			widen(s.wide[:n], src)
			for i, v := range s.wide[:n] {
				dst[i] = float64(v)
			}
			dst, src = dst[n:], src[n*size:]
		}
	}
	encode := func(dst []byte, src []float64, s *scratch) {
		for len(src) > 0 {
			n := min(len(src), block)
			for i, v := range src[:n] {
				s.wide[i] = float32(v)
			}
			narrow(dst, s.wide[:n])
			dst, src = dst[n*size:], src[n:]
		}
	}
	with := func(f func(*scratch)) {
		s := pool.Get().(*scratch)
		f(s)
		pool.Put(s)
	}
	return codec{
		widen: widen, narrow: narrow, from: from, to: to,
		decode: func(dst []float64, src []byte) { with(func(s *scratch) { decode(dst, src, s) }) },
		encode: func(dst []byte, src []float64) { with(func(s *scratch) { encode(dst, src, s) }) },
		round: func(x []float64) {
			with(func(s *scratch) {
				for len(x) > 0 {
					n := min(len(x), block)
					encode(s.mem[:], x[:n], s)
					decode(x[:n], s.mem[:], s)
					x = x[n:]
				}
			})
		},
	}
}

// half is the codec of a float of two bytes.
func half(from func(uint16) float32, to func(float32) uint16, widen func([]float32, []byte), fill func([]byte, []float32)) codec {
	return narrow(2, func(bits uint32) float32 { return from(uint16(bits)) }, func(x float32) uint32 { return uint32(to(x)) }, widen, fill)
}

func decodeBool(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = float64(min(src[i], 1))
	}
}

func encodeBool(dst []byte, src []float64) {
	for i, v := range src {
		dst[i] = 0
		if v != 0 {
			dst[i] = 1
		}
	}
}

func decodeU8(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = float64(src[i])
	}
}

func encodeU8(dst []byte, src []float64) {
	for i, v := range src {
		dst[i] = uint8(v)
	}
}

func decodeI32(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = float64(int32(le.Uint32(src[4*i:])))
	}
}

func encodeI32(dst []byte, src []float64) {
	for i, v := range src {
		le.PutUint32(dst[4*i:], uint32(int32(v)))
	}
}

func decodeI64(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = float64(int64(le.Uint64(src[8*i:])))
	}
}

func encodeI64(dst []byte, src []float64) {
	for i, v := range src {
		le.PutUint64(dst[8*i:], uint64(int64(v)))
	}
}

func decodeF32(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = float64(math.Float32frombits(le.Uint32(src[4*i:])))
	}
}

func encodeF32(dst []byte, src []float64) {
	for i, v := range src {
		le.PutUint32(dst[4*i:], math.Float32bits(float32(v)))
	}
}

func roundF32(x []float64) {
	for i, v := range x {
		x[i] = float64(float32(v))
	}
}

func decodeF64(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = math.Float64frombits(le.Uint64(src[8*i:]))
	}
}

func encodeF64(dst []byte, src []float64) {
	for i, v := range src {
		le.PutUint64(dst[8*i:], math.Float64bits(v))
	}
}

// widenBF16 takes four at a time: each is the upper half of the f32.
func widenBF16(dst []float32, src []byte) {
	const upper = 0xffff0000
	src = src[:2*len(dst)]
	for len(dst) >= 4 && len(src) >= 8 {
		w := le.Uint64(src)
		lo, hi := uint32(w), uint32(w>>32)
		dst[0], dst[1] = math.Float32frombits(lo<<16), math.Float32frombits(lo&upper)
		dst[2], dst[3] = math.Float32frombits(hi<<16), math.Float32frombits(hi&upper)
		dst, src = dst[4:], src[8:]
	}
	for i := range dst {
		dst[i] = FromBF16(le.Uint16(src[2*i:]))
	}
}

func narrowBF16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, x := range src {
		le.PutUint16(dst[2*i:], ToBF16(x))
	}
}

func widenF16(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = FromF16(le.Uint16(src[2*i:]))
	}
}

func narrowF16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, x := range src {
		le.PutUint16(dst[2*i:], ToF16(x))
	}
}

// FromBF16 widens bfloat16 bits exactly.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// ToBF16 adds half of the last kept bit, and the kept bit itself so that ties go to
// even; a NaN stays one, and quiet.
func ToBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromF16 widens binary16 bits (IEEE 754-2008) exactly: it moves exponent and
// mantissa into place and corrects the bias by a multiplication, which also
// normalizes subnormal numbers.
func FromF16(h uint16) float32 {
	const rebias = 0x1p112 // 2^(127-15)
	sign := uint32(h&0x8000) << 16
	mag := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinities and NaN
		return math.Float32frombits(sign | mag | 0xff<<23)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(mag)*rebias))
}

// ToF16 rounds to nearest, ties to even, with subnormals and overflow to infinity; a
// NaN stays one, and quiet.
func ToF16(x float32) uint16 {
	b := math.Float32bits(x)
	sign := uint16(b >> 16 & 0x8000)
	mag := b & 0x7fffffff
	switch {
	case mag > 0x7f800000: // NaN
		return sign | 0x7e00 | uint16(mag>>13&0x3ff)
	case mag >= 0x477ff000: // 65520 and above round to infinity
		return sign | 0x7c00
	case mag < 0x38800000: // below 2^-14: subnormal
		// Adding 0.5 puts the last bit of a subnormal f16, 2^-24, at the last bit
		// of the f32 sum, which the processor rounds to nearest even.
		f := math.Float32frombits(mag) + 0.5
		return sign | uint16(math.Float32bits(f)-math.Float32bits(0.5))
	default:
		mag -= (127 - 15) << 23
		return sign | uint16((mag+0xfff+mag>>13&1)>>13)
	}
}
