package ringattention

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
)

// carried is a softmax over the keys seen so far, for each query: the largest
// score, the sum of exponentials less that, and the sum of values weighted by
// them. Milakov, Gimelshein, "Online normalizer calculation for softmax" (2018),
// algorithm 3, with the values as in Dao et al., "FlashAttention" (2022),
// algorithm 1, lines 11 and 12:
//
//	m' = max(m, max s)   l' = l·exp(m − m') + Σ exp(s − m')
//	o' = o·exp(m − m') + Σ exp(s − m')·v
type carried struct{ top, sum, out *ir.Value }

// add is the softmax with the keys of a view as well; c is nil at first, and sinks are
// added.
func (t *blocks) add(c *carried, v view) *carried {
	s := t.at(t.k.scores, v)
	top := t.emit(op.ReduceMax, ir.A("over", ir.Names{t.k.key + t.suffix()}), s)
	if c != nil {
		top = t.emit(op.Max, nil, c.top, top)
	} else {
		top = topOfSinks(&t.b, t.k.sinks, top, t.over(v))
	}
	base := t.base(top)
	e := t.emit(op.Exp, nil, t.b.Sub(s, base))
	sum := t.b.Sum(e, t.k.key+t.suffix())
	out := t.product(e, v)
	if c != nil {
		scale := t.emit(op.Exp, nil, t.b.Sub(c.top, base))
		sum = t.b.Add(t.b.Mul(c.sum, scale), sum)
		out = t.b.Add(t.b.Mul(c.out, scale), out)
	} else {
		sum = sumWithSinks(&t.b, t.k.sinks, sum, base, t.over(v))
	}
	return &carried{top, sum, out}
}

// base is what the exponentials take off. Where every key so far is hidden, the
// largest score is −inf, and −inf less itself would be no number: there 0 is taken
// off, and all exponentials are 0.
func (t *blocks) base(top *ir.Value) *ir.Value {
	return t.b.Select(t.emit(op.Gt, nil, top, t.b.Like(top, math.Inf(-1))), top, t.b.Like(top, 0))
}

// product is the values of a view weighted by the exponentials.
func (t *blocks) product(e *ir.Value, v view) *ir.Value {
	weights := multiple(&t.b, t.k.weights, t.k.norm, t.k.key, e, t.over(v))
	values := t.at(t.k.values, v)
	over := ir.A("over", ir.Names{t.k.key + t.suffix()})
	if t.k.left {
		return t.emit(op.Dot, over, weights, values)
	}
	return t.emit(op.Dot, over, values, weights)
}

// over gives values over a view.
func (t *blocks) over(v view) func(*ir.Value) *ir.Value {
	return func(x *ir.Value) *ir.Value { return t.at(x, v) }
}

// choose is a where the condition holds, else b.
func (t *blocks) choose(cond *ir.Value, a, b *carried) *carried {
	return &carried{t.b.Select(cond, a.top, b.top), t.b.Select(cond, a.sum, b.sum), t.b.Select(cond, a.out, b.out)}
}
