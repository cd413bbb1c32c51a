package ringattention

import (
	"fmt"

	"ptc/ir"
)

// attention is the result of a core in blocks, and what was done:
//
//	         step 0     step 1     step 2     step 3
//	block 0  q0·k0 ──┐  q0·k3      q0·k2      q0·k1
//	block 1  q1·k1   └▶ q1·k0 ──┐  q1·k3      q1·k2
//	block 2  q2·k2      q2·k1   └▶ q2·k0 ──┐  q2·k3
//	block 3  q3·k3      q3·k2      q3·k1   └▶ q3·k0
//
// Each step makes what it adds from the keys and values of the step before, moved on by one
// block, or by several where a window hides all keys of the steps between.
func (w *rewriter) attention(k *core) (*ir.Value, string) {
	w.b.Scope, w.b.Pos, w.b.Slot = k.out.Scope, k.out.Pos, k.out.Slot
	t := w.blocks(k)
	var y *ir.Value
	how := fmt.Sprintf("%d products of %d queries and %d keys each", 1+len(t.steps), w.part(), w.part())
	switch {
	case w.order != nil && k.causal():
		y = t.causal()
		n := w.part() / 2
		how = fmt.Sprintf("zig-zag, %d products of %d queries and %d keys each", t.pairs(), n, n)
	case w.order != nil:
		how = "zig-zag, but no mask is known to hide later keys: " + how
		fallthrough
	default:
		y = t.around()
	}
	y = w.merge(y, w.axis)
	if w.order != nil {
		w.order.mark(y, w.axis)
		if !w.order.is(k.out.Result(), w.axis) {
			y = w.order.logical(y, w.axis)
		}
	}
	return w.b.Reorder(y, k.out.Result().Type), how
}

// around is the attention in the contiguous order, or where no mask hides later keys.
func (t *blocks) around() *ir.Value {
	c := t.add(nil, view{})
	for _, step := range t.steps {
		c = t.add(c, view{step: step})
	}
	a := t.terms(c)
	a.addView(t, view{})
	for _, step := range t.steps {
		a.addView(t, view{step: step})
	}
	return t.result(c, a, view{})
}

// stepsOf are the steps behind the first at which some block has keys that it sees.
func (t *blocks) stepsOf() (steps []int) {
	for step := 1; step < t.devices; step++ {
		seen := t.meets(step) || t.meets(step-t.devices)
		if t.order != nil {
			seen = true
			if t.k.causal() {
				seen = t.seesAlways(step) || t.seesEither(step)
			}
		}
		if seen {
			steps = append(steps, step)
		}
	}
	return steps
}

// meets reports whether a block sees keys of the one so many before it.
func (t *blocks) meets(ahead int) bool { return t.k.seen.meets(ahead*t.part(), t.part()) }
