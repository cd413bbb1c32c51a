package growth

import (
	"math"
	"testing"
)

// TestExponent: powers have their exponents, whatever is there once, and neither a step nor a remainder hides them.
func TestExponent(t *testing.T) {
	power := func(e float64, once int64, extra ...int64) []int64 {
		out := make([]int64, 5)
		for i := range out {
			out[i] = once + int64(1000*math.Pow(24*float64(int(1)<<i), e))
			if i < len(extra) {
				out[i] += extra[i]
			}
		}
		return out
	}
	for _, c := range []struct {
		name      string
		counts    []int64
		from, end float64
	}{
		{"linear", power(1, 0), 0.99, 1.01},
		{"linear and much that is there once", power(1, 3_000_000), 0.99, 1.01},
		{"quadratic", power(2, 0), 1.99, 2.01},
		{"quadratic and much that is there once", power(2, 50_000_000), 1.99, 2.01},
		{"quadratic of three sizes", power(2, 0)[:3], 1.99, 2.01},
		{"quadratic, with a step at the last size but one", power(2, 0, 0, 0, 0, 9_000_000, 9_000_000), packageLimit, 2.3},
		{"linear, with remainders", power(1, 0, 0, 20_000, 5_000, 30_000, 0), 0, packageLimit},
		{"linear, with a step at the last size", power(1, 0, 0, 0, 0, 0, 60_000), 1, packageLimit},
		{"a small step after no growth", []int64{624019, 624078, 640000}, 0, 0},
		{"none", []int64{500, 500, 500, 500}, 0, 0},
	} {
		if got := exponent(c.counts); got < c.from || got > c.end {
			t.Errorf("%s: %v: exponent %.2f, want %.2f to %.2f", c.name, c.counts, got, c.from, c.end)
		}
	}
}
