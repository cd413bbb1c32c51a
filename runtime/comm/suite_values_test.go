package comm_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"sort"

	"ptc/internal/collective"
	"ptc/internal/dtype"
)

// The suite computes expected values on its own: elements are encoded, decoded
// and rounded here by definition, not by the code under test.

// fill gives random elements that are not exact under reordered sums.
func fill(d dtype.DType, n int, rng *rand.Rand) []byte {
	out := make([]byte, n*d.Size())
	for i := range n {
		v := rng.NormFloat64() * math.Exp2(float64(rng.IntN(12)-6))
		if d == dtype.I32 {
			v = float64(rng.IntN(1<<20) - 1<<19)
		}
		if d == dtype.Bool {
			v = float64(rng.IntN(2))
		}
		put(d, out, i, v)
	}
	return out
}

func put(d dtype.DType, b []byte, i int, v float64) {
	le := binary.LittleEndian
	switch d {
	case dtype.F32:
		le.PutUint32(b[4*i:], math.Float32bits(float32(v)))
	case dtype.F64:
		le.PutUint64(b[8*i:], math.Float64bits(v))
	case dtype.I32:
		le.PutUint32(b[4*i:], uint32(int32(v)))
	case dtype.Bool:
		b[i] = byte(v)
	case dtype.F16:
		le.PutUint16(b[2*i:], nearest(v, 10, -14))
	case dtype.BF16:
		le.PutUint16(b[2*i:], nearest(v, 7, -126))
	case dtype.F8E4M3:
		b[i] = nearestFloat8(v, 3, 448)
	case dtype.F8E5M2:
		b[i] = nearestFloat8(v, 2, 57344)
	default:
		panic("no elements of " + d.String())
	}
}

func get(d dtype.DType, b []byte, i int) float64 {
	le := binary.LittleEndian
	switch d {
	case dtype.F32:
		return float64(math.Float32frombits(le.Uint32(b[4*i:])))
	case dtype.F64:
		return math.Float64frombits(le.Uint64(b[8*i:]))
	case dtype.I32:
		return float64(int32(le.Uint32(b[4*i:])))
	case dtype.F16:
		return half(le.Uint16(b[2*i:]), 10, -14)
	case dtype.BF16:
		return half(le.Uint16(b[2*i:]), 7, -126)
	case dtype.F8E4M3:
		return float8(b[i], 3)
	case dtype.F8E5M2:
		return float8(b[i], 2)
	case dtype.Bool:
		return float64(b[i])
	}
	panic("no elements of " + d.String())
}

// half is the value of 16 bits with that many bits of mantissa and that smallest
// normal exponent, finite.
func half(bits uint16, mantissa, emin int) float64 {
	field := int(bits&0x7fff) >> mantissa
	m := float64(int(bits) & (1<<mantissa - 1))
	if field > 0 {
		m += float64(int(1) << mantissa)
		field--
	}
	v := math.Ldexp(m, emin-mantissa+field)
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

// float8 is the value of eight bits with that many bits of mantissa, finite.
func float8(bits byte, mantissa int) float64 {
	bias := 1<<(6-mantissa) - 1
	v := half(uint16(bits&0x7f), mantissa, 1-bias)
	if bits&0x80 != 0 {
		return -v
	}
	return v
}

// nearestFloat8 is the bits of the value nearest to v, ties to even bits, and of the
// largest for what is beyond it.
func nearestFloat8(v float64, mantissa int, largest float64) byte {
	a, best := min(math.Abs(v), largest), byte(0)
	for i := byte(1); i < 0x80 && float8(i, mantissa) <= largest; i++ {
		now, then := math.Abs(float8(i, mantissa)-a), math.Abs(float8(best, mantissa)-a)
		if now < then || now == then && i&1 == 0 {
			best = i
		}
	}
	if math.Signbit(v) {
		best |= 0x80
	}
	return best
}

// nearest is the bits of the format's value nearest to v, ties to even bits. It
// searches: the magnitudes of such formats grow with their bits.
func nearest(v float64, mantissa, emin int) uint16 {
	limit := (1<<(15-mantissa) - 1) << mantissa // infinity
	a := math.Abs(v)
	lo := sort.Search(limit, func(i int) bool { return half(uint16(i), mantissa, emin) > a }) - 1
	below, above := half(uint16(lo), mantissa, emin), half(uint16(lo+1), mantissa, emin)
	if d := (a - below) - (above - a); d > 0 || d == 0 && lo&1 == 1 {
		lo++
	}
	if math.Signbit(v) {
		return uint16(lo) | 0x8000
	}
	return uint16(lo)
}

// reduce combines elements i of srcs in order, as the contract says.
func reduce(d dtype.DType, r collective.Reduction, srcs [][]byte, i int) float64 {
	acc := get(d, srcs[0], i)
	for _, s := range srcs[1:] {
		v := get(d, s, i)
		switch {
		case r == collective.Max:
			acc = max(acc, v)
		case d == dtype.F64:
			acc += v
		case d == dtype.I32:
			acc = float64(int32(acc) + int32(v))
		default:
			acc = float64(float32(acc) + float32(v))
		}
	}
	return acc
}
