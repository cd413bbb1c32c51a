// Package wide multiplies counts whose product does not fit 64 bits: the bytes of a tensor
// times the devices of a mesh. Results above the largest int64 are the largest int64, so
// that comparing costs stays right. It imports nothing of ours.
package wide

import (
	"math"
	"math/bits"
)

// Mul is a·b of counts, at most the largest int64.
func Mul(a, b int64) int64 { return MulDiv(a, b, 1) }

// Add is a + b of counts, at most the largest int64.
func Add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// MulDiv is a·b/c of counts, rounded down, at most the largest int64. The product may
// take 128 bits.
func MulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi >= uint64(c) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, uint64(c))
	return int64(min(q, math.MaxInt64))
}
