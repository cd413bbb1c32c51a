package fusion

import (
	"math/bits"

	"ptc/ir"
	"ptc/ir/op"
)

// Mathematics is the arithmetic of a step before any pass repeats some of it: the FLOPs of its operations, of which those on scores
// under a mask of positions count for the pairs of query and key that the mask lets through, as in [Flops].
func Mathematics(f *ir.Func) (sum float64) {
	inside := func(_, o *ir.Op) bool { return op.Of(o).Class != op.Boundary }
	forward := forwardOf(f)
	pairs := map[*ir.Op][2]int64{} // by the exponential
	for _, c := range Cores(f, func(_, o *ir.Op) bool { return inside(nil, o) && forward[o] }) {
		if k, err := Analyze(c.Kernel(c.Results())); err == nil && k.Attention != nil {
			some, all := k.pairs()
			pairs[c.Exp] = [2]int64{some, all}
		}
	}
	seen := map[*ir.Op][2]int64{}
	for _, c := range Cores(f, inside) {
		for _, o := range c.Ops {
			if x := pairs[c.Exp]; x[0] < x[1] && c.onScores(o) {
				seen[o] = x
			}
		}
	}
	for _, o := range f.Ops {
		n := op.Of(o).Flops(o)
		if x, ok := seen[o]; ok {
			hi, lo := bits.Mul64(uint64(n), uint64(x[0]))
			q, _ := bits.Div64(hi, lo, uint64(x[1]))
			n = int64(q)
		}
		sum += float64(n) * float64(o.Times())
	}
	return sum
}

// onScores reports whether an operation makes or reads what is over the scores.
func (c *Core) onScores(o *ir.Op) bool {
	for _, v := range o.Results {
		if c.Over(v) {
			return true
		}
	}
	for _, v := range o.Args {
		if c.Over(v) {
			return true
		}
	}
	return false
}

// forwardOf are the operations up to the loss.
func forwardOf(f *ir.Func) map[*ir.Op]bool {
	var loss *ir.Op
	for _, r := range f.Results {
		if r.Role == ir.RoleLoss {
			loss = r.Value.Def
		}
	}
	out := map[*ir.Op]bool{}
	for _, o := range f.Ops {
		if out[o] = true; o == loss {
			break
		}
	}
	return out
}
