package dtype

import "math"

// format8 is a float of eight bits: its bits of mantissa, the bias of its exponent, and
// its largest finite code, above which are infinity, if there is one, and NaN.
type format8 struct {
	mantissa, bias int
	largest        uint32
	nan            uint32 // the quiet one that conversions give
}

var (
	e4m3 = format8{mantissa: 3, bias: 7, largest: 0x7e, nan: 0x7f}
	e5m2 = format8{mantissa: 2, bias: 15, largest: 0x7b, nan: 0x7f}
)

// float8 is the codec of a float of one byte: there are so few that a table widens.
func float8(f format8) codec {
	table := [256]float32{}
	for i := range table {
		table[i] = f.from(uint32(i))
	}
	return narrow(1, func(bits uint32) float32 { return table[bits&0xff] }, f.to,
		func(dst []float32, src []byte) {
			src = src[:len(dst)]
			for i, b := range src {
				dst[i] = table[b]
			}
		}, nil)
}

// from widens exactly: subnormal codes are multiples of the least one.
func (f format8) from(bits uint32) float32 {
	mag := bits & 0x7f
	exp, m := int(mag>>f.mantissa), int(mag&(1<<f.mantissa-1))
	v := math.Inf(1)
	switch {
	case mag > f.largest && (f == e4m3 || m != 0):
		v = math.NaN()
	case mag > f.largest:
	case exp == 0:
		v = math.Ldexp(float64(m), 1-f.bias-f.mantissa)
	default:
		v = math.Ldexp(float64(m+1<<f.mantissa), exp-f.bias-f.mantissa)
	}
	if bits&0x80 != 0 {
		v = -v
	}
	return float32(v)
}

// to rounds to nearest, ties to even, with subnormals. What is beyond the largest finite
// number becomes that, infinities too, as by cvt.rn.satfinite (PTX ISA, "cvt"): a NaN
// stays one.
func (f format8) to(x float32) uint32 {
	b := math.Float32bits(x)
	sign, mag := b>>24&0x80, b&0x7fffffff
	drop := 23 - f.mantissa
	switch {
	case mag > 0x7f800000:
		return sign | f.nan
	case mag < uint32(127+1-f.bias)<<23: // subnormal
		// The sum with a number whose last bit is worth as much as the least code's is
		// rounded to that by the processor, to nearest even.
		unit := math.Float32frombits(uint32(127+1-f.bias+drop) << 23)
		return sign | (math.Float32bits(math.Float32frombits(mag)+unit) - math.Float32bits(unit))
	}
	mag -= uint32(127-f.bias) << 23
	mag = (mag + 1<<(drop-1) - 1 + mag>>drop&1) >> drop
	return sign | min(mag, f.largest)
}
