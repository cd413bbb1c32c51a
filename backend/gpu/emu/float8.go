package emu

import (
	"math"
	"slices"
)

// fp8 is a conversion of two numbers of 8 bits each, cvt.rn.f16x2.{e4m3x2,e5m2x2} or
// cvt.rn.satfinite.{e4m3x2,e5m2x2}.f32, whose first operand is the upper one ("PTX ISA", 9.7.9.21); nil for others.
func fp8(to, from numType, how []string) func(w *warp, in *inst) error {
	narrow := func(t numType) bool { return t.half == "e4m3" || t.half == "e5m2" }
	switch {
	case narrow(from) && to.half == "f16" && to.two && slices.Equal(how, []string{"rn"}):
		fraction := fractions[from.half]
		return lanes1(func(a uint64) uint64 {
			low, high := toHalf(fromFP8(byte(a), fraction)), toHalf(fromFP8(byte(a>>8), fraction))
			return uint64(high)<<16 | uint64(low)
		})
	case narrow(to) && from.kind == 'f' && from.bits == 32 && from.half == "" && slices.Equal(how, []string{"rn", "satfinite"}):
		fraction := fractions[to.half]
		return lanes2(func(high, low uint64) uint64 {
			return uint64(toFP8(f32(high), fraction))<<8 | uint64(toFP8(f32(low), fraction))
		})
	}
	return nil
}

// fractions is how many bits of a number of 8 are behind the point.
var fractions = map[string]int{"e4m3": 3, "e5m2": 2}

// toFP8 is the pattern of the number nearest to x, of two the even one, found by looking at all that are finite; what
// is beyond the largest becomes that, and what is no number stays none.
func toFP8(x float32, fraction int) byte {
	if x != x {
		return 0x7f
	}
	last := byte(0x7e)
	if fraction == 2 {
		last = 0x7b
	}
	a := math.Abs(float64(x))
	lo, hi := byte(0), last
	for lo < hi { // the first that is not less
		if mid := (lo + hi) / 2; float64(fromFP8(mid, fraction)) < a {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo > 0 {
		above, below := float64(fromFP8(lo, fraction))-a, a-float64(fromFP8(lo-1, fraction))
		if below < above || below == above && lo&1 == 1 {
			lo--
		}
	}
	if math.Signbit(float64(x)) {
		lo |= 0x80
	}
	return lo
}
