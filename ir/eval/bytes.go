package eval

import (
	"math"

	"ptc/ir"
)

// element is the bytes of an element of a tensor, whatever its dtype.
const element = 8

// Bytes is the most memory that the values of one execution of f use at a time, in addition to
// its arguments: each operation's results, until nothing reads them any more. Operations
// also take memory for themselves while they are computed, which is not in it.
func Bytes(f *ir.Func) int64 { return peakOf(f, map[*ir.Func]int64{}) }

func peakOf(f *ir.Func, known map[*ir.Func]int64) int64 {
	if n, ok := known[f]; ok {
		return n
	}
	args := map[*ir.Value]bool{} // who calls f holds them
	for _, a := range f.Args {
		args[a.Value] = true
	}
	p := planOf(f)
	live, peak := int64(0), int64(0)
	for i, o := range f.Ops {
		results := int64(0)
		for _, v := range o.Results {
			results = Add(results, TensorBytes(v.Type))
		}
		during := results
		if o.Callee != nil {
			during = max(during, peakOf(o.Callee, known))
		}
		peak = max(peak, Add(live, during))
		live = Add(live, results)
		for _, v := range p.dead[i] {
			if !args[v] && live < math.MaxInt64 {
				live -= TensorBytes(v.Type)
			}
		}
	}
	known[f] = peak
	return peak
}

// TensorBytes is what a tensor of type t takes; the most that there is where it would be more.
func TensorBytes(t ir.Type) int64 {
	n := int64(element)
	for _, a := range t.Axes {
		if a.Size > 0 && n > math.MaxInt64/int64(a.Size) {
			return math.MaxInt64
		}
		n *= int64(a.Size)
	}
	return n
}

// Add is a sum that stays at the most that there is.
func Add(a, b int64) int64 { return min(a, math.MaxInt64-b) + b }
