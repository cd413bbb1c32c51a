package vec

import "math"

// widen converts to f32, exactly.
func (h half) widen(dst []float32, src []uint16) {
	src = src[:len(dst)]
	if h == bf16 {
		for i, x := range src {
			dst[i] = math.Float32frombits(uint32(x) << 16)
		}
		return
	}
	for i, x := range src {
		dst[i] = fromF16(x)
	}
}

// narrow rounds f32 to nearest, ties to even.
func (h half) narrow(dst []uint16, src []float32) {
	src = src[:len(dst)]
	if h == bf16 {
		for i, x := range src {
			dst[i] = toBF16(x)
		}
		return
	}
	for i, x := range src {
		dst[i] = toF16(x)
	}
}

// toBF16 adds half of the last kept bit, and the kept bit itself so that ties go
// to even; a NaN stays one.
func toBF16(x float32) uint16 {
	b := math.Float32bits(x)
	if x != x {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// fromF16 moves exponent and mantissa into place and corrects the bias by a
// multiplication, which also normalizes subnormal numbers.
func fromF16(h uint16) float32 {
	const rebias = 0x1p112 // 2^(127-15)
	sign := uint32(h&0x8000) << 16
	mag := uint32(h&0x7fff) << 13
	if h&0x7c00 == 0x7c00 { // infinities and NaN
		return math.Float32frombits(sign | mag | 0xff<<23)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(mag)*rebias))
}

func toF16(x float32) uint16 {
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
