package cost

import (
	"math"

	"ptc/foresight/machine"
	"ptc/internal/wide"
)

// rate is a number of bytes or of operations a second. Zero means that the machine does not say, and takes no time.
type rate int64

// rateOf is the product of a rate and of shares of it, rounded to a whole number. Each product is converted, so that no
// processor fuses it with another operation.
func rateOf(r machine.Sourced, shares ...float64) rate {
	v := r.Value
	for _, s := range shares {
		v = float64(v * s)
	}
	return rate(math.Round(min(max(v, 0), 1<<62)))
}

// time is how long n bytes or operations take, rounded up, and at most Longest.
func (r rate) time(n int64) machine.PS {
	if r <= 0 || n <= 0 {
		return 0
	}
	return min(Longest, machine.PS(ceilDiv(n, second, int64(r))))
}

// Longest bounds the time of one piece of work: three days, so that sums of some do not overflow.
const Longest = machine.PS(1) << 58

// second is a second in picoseconds.
const second = 1_000_000_000_000

// ceilDiv is a·b/c, rounded up.
func ceilDiv(a, b, c int64) int64 {
	q := wide.MulDiv(a, b, c)
	if q < math.MaxInt64 && wide.MulDiv(q, c, b) < a {
		q++
	}
	return q
}

// blocks is how many blocks of a size cover n.
func blocks(n, size int64) int64 { return (n + size - 1) / max(size, 1) }
