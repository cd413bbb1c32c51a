package gemm

import "ptc/backend/kernel"

// What adding up costs, in multiply-adds as the constants of packing are: an element of
// a partial sum is stored and loaded again, and a launch more begins and ends.
const (
	addCost    = 16
	launchCost = 1 << 17
)

// A product is summed in parts where that is estimated to save so much of its time at
// least: estimates err by some hundredths. A part has leastDepth steps of K at least, and
// all partial sums together take half of the second cache at most.
const (
	leastGain  = 0.1
	leastDepth = 256
)

// numbers are those of parts that are tried.
var numbers = []int64{2, 3, 4, 6, 8, 12, 16}

// Numbers lists how many equal parts the sum over k, of a product with so many results,
// may be cut into on m.
func Numbers(results, k int64, m kernel.Machine) []int64 {
	var out []int64
	for _, n := range numbers {
		if k%n == 0 && k/n >= leastDepth && 4*results*n <= int64(m.L2)/2 {
			out = append(out, n)
		}
	}
	return out
}

// Saves is the share of its time that product whole, which has one part, is estimated to
// be done earlier in the n parts that cut describes, the time to add them up included.
// It is negative where that takes longer, and below [leastGain] no reason to do it; ok is
// false where one of them is not cut into blocks.
func Saves(whole, cut Spec, n int64, m kernel.Machine) (share float64, ok bool) {
	before, ok1 := lost(whole, m)
	after, ok2 := lost(cut, m)
	if !ok1 || !ok2 {
		return 0, false
	}
	k := float64(whole.K * product(whole.OuterK))
	work := float64(whole.M*whole.N*product(whole.Outer)) * k
	wide := max(1, float64(m.Lanes(kernel.F32))/8)
	after += float64(n)*addCost*wide/k + launchCost/work
	return 1 - (1+after)/(1+before), true
}

// Worth reports whether a share of the time is one that [Saves] can be trusted with.
func Worth(share float64) bool { return share >= leastGain }

// lost is the time beside multiply-adds that a product is estimated to take, in theirs.
func lost(s Spec, m kernel.Machine) (float64, bool) {
	if err := s.check(); err != nil {
		return 0, false
	}
	if _, dots := newDots(&s, m); dots {
		return 0, false
	}
	s.Blocks = nil
	p, err := newBlocking(&s, m)
	return p.cost, err == nil && !p.direct
}
