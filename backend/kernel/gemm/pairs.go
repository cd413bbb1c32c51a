package gemm

import "ptc/backend/kernel"

// Where a machine multiplies pairs of bf16, two steps of K lie in one word of the
// packed operands, the first one in its lower half:
//
//	left  [tile][k/2][row]      right  [panel][k/2][column]
//
// Loops over steps go by two, and k is even in them. Behind an odd K comes a step of
// zeros. A sum is in the order of kernel.OpDotBF16: the odd step before the even one.

// step is how many steps of K are packed as one.
func (p *blocking) step() int64 {
	if p.pairs {
		return 2
	}
	return 1
}

// leftStep and rightStep are how many words of a packed tile and of a packed panel a
// step takes. Of a tile with an odd number of rows, a pair has a row more.
func (p *blocking) leftStep() int64  { return ceil(p.mr, p.step()) }
func (p *blocking) rightStep() int64 { return ceil(p.nr, p.step()) }

// packed is what is packed of step k of operand o: its elements at at, or the pairs of
// these and those of the next step.
func (g *gen) packed(o Operand, at At, k kernel.Index, along Along, lanes int, mask *kernel.Value) *kernel.Value {
	at.K = g.at.K.Add(k)
	x := o.Load(at, along, lanes, mask)
	if !g.pairs {
		return x
	}
	next := at.K.Plus(1)
	if g.K%2 == 0 {
		at.K = next
		return g.b.PairBF16(x, o.Load(at, along, lanes, mask))
	}
	at.K = g.least(next, g.K-1)
	y := o.Load(at, along, lanes, mask)
	y = g.b.Select(g.atLeast(next, g.K), g.b.Like(y, 0), y)
	return g.b.PairBF16(x, y)
}

// pair is what is packed of step i, of which steps has one vector each; behind the last
// one that exists they are zero.
func (g *gen) pair(steps []*kernel.Value, i int64) *kernel.Value {
	if !g.pairs {
		return steps[i]
	}
	return g.b.PairBF16(steps[i], steps[i+1])
}

// multiplyAdd adds the products of a step, or of a pair, to sum.
func (g *gen) multiplyAdd(sum, left, right *kernel.Value) *kernel.Value {
	if g.pairs {
		return g.b.DotBF16(sum, left, right)
	}
	return g.b.MulAdd(left, right, sum)
}
