package ringattention

import (
	"ptc/ir"
	"ptc/ir/op"
)

// causal is the attention of a core whose mask hides keys after the query, in
// the zig-zag order. Block b of n has the chunks b and 2n−1−b of 2n, and meets
// those of block e = b − step. Of the four pairs of chunks, after the first
// step, the mask leaves two whole and hides two (n = 4, block 1):
//
//	            e = 0 < b           e = 2 > b
//	            k0      k7          k2      k5
//	q1 (low)    all     hidden      hidden  hidden
//	q6 (high)   all     hidden      all     all
//
// So high·low is always whole, and the other is low·low or high·high: which, is
// chosen by block. Every block has the same work. The order is that of Megatron's
// context parallelism and of Llama 3 (Dubey et al., "The Llama 3 herd of
// models", 2024, section 3.3.2).
func (t *blocks) causal() *ir.Value {
	first, second := view{queries: low, keys: low}, view{queries: high, keys: whole}
	lo, hi := t.add(nil, first), t.add(nil, second)
	for _, step := range t.steps {
		if t.seesAlways(step) {
			hi = t.add(hi, t.always(step))
		}
		if !t.seesEither(step) {
			continue
		}
		before := t.before(step)
		c := t.add(t.choose(before, lo, hi), t.either(step))
		lo, hi = t.choose(before, c, lo), t.choose(before, hi, c)
	}
	a, b := t.terms(lo), t.terms(hi)
	a.addView(t, first)
	b.addView(t, second)
	for _, step := range t.steps {
		if t.seesAlways(step) {
			b.addView(t, t.always(step))
		}
		if t.seesEither(step) {
			t.addChosen(t.before(step), a, b, t.either(step))
		}
	}
	x, y := t.result(lo, a, first), t.result(hi, b, second)
	return t.emit(op.Concat, ir.A("axis", ir.Name(t.axis+t.suffix())), x, y)
}

// always are the pairs of chunks of a step that are whole in every block.
func (t *blocks) always(step int) view {
	return view{queries: high, keys: low, step: step, visible: true}
}

// either are those that are low·low or high·high, by block.
func (t *blocks) either(step int) view {
	return view{queries: chosen, keys: chosen, step: step, visible: true}
}

// seesAlways reports whether any query of the pairs of a step that are whole in every block
// sees a key: of block b these are chunks 2n−1−b and b−step, or b−step+n.
func (t *blocks) seesAlways(step int) bool { return t.seesChunk(min(1+step, t.devices+1-step)) }

// seesEither is the same of the pairs that are low·low, chunks b and b−step, or high·high.
func (t *blocks) seesEither(step int) bool { return t.seesChunk(min(step, t.devices-step)) }

// seesChunk reports whether a chunk sees keys of one that is so many before it, or more.
func (t *blocks) seesChunk(ahead int) bool {
	n := t.part() / 2
	return t.k.seen.most >= ahead*n-n+1
}

// pairs are how many pairs of chunks a device multiplies.
func (t *blocks) pairs() int {
	n := 3
	for _, step := range t.steps {
		for _, seen := range []bool{t.seesAlways(step), t.seesEither(step)} {
			if seen {
				n++
			}
		}
	}
	return n
}
