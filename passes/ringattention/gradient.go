package ringattention

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// terms are what is differentiated in the place of the softmax that is carried: with
// the last maximum m, a constant, the sums over the views
//
//	l = Σ exp(s − m)   o = Σ exp(s − m)·v
//
// So each step of the backward ring needs the weights exp(s − m) of its keys and the
// gradients of o and l alone, as in Dao et al., "FlashAttention" (2022), algorithm 4,
// and nothing that the forward steps before the last one carried is kept. Of the terms,
// the backward phase computes what it reads: the exponentials.
type terms struct{ base, sum, out *ir.Value }

// terms are none, for the softmax that ends as c.
func (t *blocks) terms(c *carried) *terms {
	return &terms{base: t.emit(op.Detach, nil, t.base(c.top))}
}

// term is the sums over the keys of a view.
func (t *blocks) term(base *ir.Value, v view) (sum, out *ir.Value) {
	v.back = v.step > 0
	e := t.emit(op.Exp, nil, t.b.Sub(t.at(t.k.scores, v), base))
	return t.b.Sum(e, t.k.key+t.suffix()), t.product(e, v)
}

// add adds to the sums.
func (a *terms) add(t *blocks, sum, out *ir.Value) {
	if a.sum != nil {
		sum, out = t.b.Add(a.sum, sum), t.b.Add(a.out, out)
	}
	a.sum, a.out = sum, out
}

// addView adds the keys of a view.
func (a *terms) addView(t *blocks, v view) {
	sum, out := t.term(a.base, v)
	a.add(t, sum, out)
}

// addChosen adds the keys of a view whose queries are lo's where the condition holds,
// else hi's.
func (t *blocks) addChosen(cond *ir.Value, lo, hi *terms, v view) {
	sum, out := t.term(t.b.Select(cond, lo.base, hi.base), v)
	zero := t.b.Like(sum, 0)
	lo.add(t, t.b.Select(cond, sum, zero), t.b.Select(cond, out, zero))
	hi.add(t, t.b.Select(cond, zero, sum), t.b.Select(cond, zero, out))
}

// result is the attention of the queries of a view, values weighted by the softmax:
// computed of what was carried, differentiated as the terms.
func (t *blocks) result(c *carried, a *terms, v view) *ir.Value {
	sum := sumWithSinks(&t.b, t.k.sinks, a.sum, a.base, t.over(v))
	return t.b.Div(t.emit(op.Surrogate, nil, c.out, a.out), t.emit(op.Surrogate, nil, c.sum, sum))
}

// back is x, of an axis, in blocks, as after so many steps of the ring, for the backward
// phase, which needs the last step first. There the keys and values go the other way
// round, with their gradients, so that a device has those of one block at a time:
//
//	forward   step 0 ──▶ step 1 ──▶ step 2 ──▶ step 3
//	backward  step 0 ──▶ step 3 ──▶ step 2 ──▶ step 1     values
//	          step 0 ◀── step 1 ◀── step 2 ◀── step 3     gradients
//
// The last step's begin at home, and where a window leaves steps out, go there at once.
// The way of the gradients is a forward one that nothing computes, besides the terms of
// each step, so that a step's gradient leaves before the next step's is made.
func (t *blocks) back(x *ir.Value, axis string, step int) *ir.Value {
	key := blockKey{x, view{step: step, queries: low, visible: true, back: true}} // no view of one axis is visible alone
	if t.made[key] == nil {
		t.made[key] = t.returned(x, axis, step)
		if x.Type.DType.IsFloat() {
			t.made[key] = t.emit(op.Surrogate, nil, t.made[key], t.away(x, axis, step))
		}
	}
	return t.made[key]
}

// away is what the value of back is the gradient of.
func (t *blocks) away(x *ir.Value, axis string, step int) *ir.Value {
	key := blockKey{x, view{step: step, queries: high, visible: true, back: true}}
	if t.made[key] == nil {
		before, last := t.moved(x, axis, 0), t.stepBefore(step)
		if last > 0 {
			before = t.away(x, axis, last)
		}
		t.made[key] = t.take(before, t.neighbours(last-step))
	}
	return t.made[key]
}

// returned is the value of back.
func (t *blocks) returned(x *ir.Value, axis string, step int) *ir.Value {
	key := blockKey{x, view{step: step, visible: true, back: true}}
	if t.made[key] == nil {
		before, next := t.moved(x, axis, 0), 0
		if i := slices.Index(t.steps, step); i < len(t.steps)-1 {
			next = t.steps[i+1]
			before = t.returned(x, axis, next)
		}
		t.made[key] = t.take(before, t.neighbours(next-step))
	}
	return t.made[key]
}

// neighbours are the sources of a permutation by which every block gets that of the one
// so many places on: one list for all steps.
func (t *blocks) neighbours(on int) ir.Ints {
	on = (on + t.devices) % t.devices
	if t.turned[on] == nil {
		sources := make(ir.Ints, t.devices)
		for d := range sources {
			sources[d] = int64((d + on) % t.devices)
		}
		t.turned[on] = sources
	}
	return t.turned[on]
}
