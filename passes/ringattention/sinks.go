package ringattention

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// A sink is a term of the softmax's sum without a key. It counts once, so the softmax
// that is carried begins with it: before any key the largest score is the sink's logit.
//
//	m = max(t, max s)   l = exp(t − m) + Σ exp(s − m)   o = Σ exp(s − m)·v   y = o / l
//
// What divides by more than the sum of a kernel's exponentials stands behind the product
// with values, where there is a number for each query, and nothing over the keys waits for it.
// It is differentiated as if it stood before: the backward phase, which has the sum, is that
// of an attention without sinks.

// topOfSinks is the largest of top and the sinks' logits.
func topOfSinks(b *op.Builder, sinks []fusion.Sink, top *ir.Value, at func(*ir.Value) *ir.Value) *ir.Value {
	for _, s := range sinks {
		x := b.Like(top, 0)
		if s.Logit != nil {
			x = at(s.Logit)
		}
		if len(s.Over) > 0 {
			x = b.Emit(op.ReduceMax, ir.A("over", s.Over), x)
		}
		top = b.Emit(op.Max, nil, top, x)
	}
	return top
}

// sumWithSinks is sum and the sinks' exponentials less base.
func sumWithSinks(b *op.Builder, sinks []fusion.Sink, sum, base *ir.Value, at func(*ir.Value) *ir.Value) *ir.Value {
	for _, s := range sinks {
		x := b.Neg(base)
		if s.Logit != nil {
			x = b.Sub(at(s.Logit), base)
		}
		x = b.Emit(op.Exp, nil, x)
		if len(s.Over) > 0 {
			x = b.Sum(x, s.Over...)
		}
		sum = b.Add(sum, x)
	}
	return sum
}

// multiple is x, a multiple of the softmax norm over the key, with e in its place; other
// operands are given by at.
func multiple(b *op.Builder, x *ir.Value, norm *ir.Op, key string, e *ir.Value, at func(*ir.Value) *ir.Value) *ir.Value {
	o := x.Def
	if o == norm {
		return e
	}
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		if fusion.Softmax(a, key) == norm && !(o.Name == op.Select && i == 0) {
			args[i] = multiple(b, a, norm, key, e, at)
		} else {
			args[i] = at(a)
		}
	}
	return b.Emit(o.Name, o.Attrs, args...)
}

// regular gives the attentions of f that are in no ring the form that kernels have: less
// the largest score, which is a constant, and divided behind the product with values where
// there are sinks.
func regular(c *pass.Context, f *ir.Func) {
	w := &regularizer{c: c, uses: f.Uses(), differentiated: slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return op.Of(o).Class == op.Symbolic })}
	rewrite(f, &w.b, w.product)
}

// rewrite has what by makes of an operation in its place, of its first operand of which it makes
// something; b writes behind the operation.
func rewrite(f *ir.Func, b *op.Builder, by func(o *ir.Op, i int) *ir.Value) {
	var out []*ir.Op
	*b = op.Builder{F: f, Sink: &out}
	with := map[*ir.Value]*ir.Value{}
	for _, o := range f.Ops {
		out = append(out, o)
		for i := range o.Args {
			if y := by(o, i); y != nil {
				with[o.Result()] = y
				break
			}
		}
	}
	if len(with) == 0 {
		return
	}
	f.Ops = out
	f.Replace(with)
	f.DropDead(nil)
}

// regularizer is the work of regular.
type regularizer struct {
	c              *pass.Context
	b              op.Builder
	uses           map[*ir.Value]int
	differentiated bool
}

// product is the product o in that form where operand i is weights in another, or nil.
func (w *regularizer) product(o *ir.Op, i int) *ir.Value {
	b := &w.b
	over := o.Attrs.Names("over")
	if o.Name != op.Dot || len(over) != 1 {
		return nil
	}
	key := over[0]
	norm := fusion.Softmax(o.Args[i], key)
	if norm == nil {
		return nil
	}
	scores, sinks := fusion.SoftmaxOf(norm, key)
	if len(sinks) == 0 && w.isRegular(norm, scores) {
		return nil
	}
	if len(sinks) == 0 && w.uses[norm.Result()] > 1 {
		w.c.Because(o, "the softmax keeps its form: others read its weights as well")
		return nil
	}
	if !w.c.May("the form of a kernel", o) {
		return nil
	}
	b.Scope, b.Pos, b.Slot = norm.Scope, norm.Pos, o.Slot
	e, sum := exponentials(b, scores, sinks, key)
	product := func(e *ir.Value) *ir.Value {
		args := slices.Clone(o.Args)
		args[i] = multiple(b, args[i], norm, key, e, same)
		b.Scope, b.Pos = o.Scope, o.Pos
		return b.Emit(op.Dot, o.Attrs, args...)
	}
	y := product(b.Div(e, sum))
	if len(sinks) > 0 {
		y = b.Emit(op.Surrogate, nil, b.Div(product(e), sum), y)
	}
	return b.Reorder(y, o.Result().Type)
}

// exponentials are those of scores, less the largest as a constant, and their sum with the sinks.
func exponentials(b *op.Builder, scores *ir.Value, sinks []fusion.Sink, key string) (e, sum *ir.Value) {
	top := b.Emit(op.ReduceMax, ir.A("over", ir.Names{key}), scores)
	base := b.Emit(op.Detach, nil, topOfSinks(b, sinks, top, same))
	e = b.Emit(op.Exp, nil, b.Sub(scores, base))
	return e, sumWithSinks(b, sinks, b.Sum(e, key), base, same)
}

// same gives values where they are.
func same(v *ir.Value) *ir.Value { return v }

// isRegular reports whether the softmax norm takes the largest of the scores off as a
// constant.
func (w *regularizer) isRegular(norm *ir.Op, scores *ir.Value) bool {
	x := norm.Args[0].Def.Args[0]
	return x != scores && (!w.differentiated || x.Def.Args[1].Def.Name == op.Detach)
}
