package ringattention

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// ungate has attentions of f that are multiplied by what keys have of all weights, a gate,
// count that as a sink. With m the largest score and l the sum,
//
//	sigmoid(m + log l − t) = l / (l + exp(t − m))
//
// is how sinks are added behind a kernel of attention that knows of none.
func ungate(c *pass.Context, f *ir.Func) {
	b := new(op.Builder)
	rewrite(f, b, func(o *ir.Op, i int) *ir.Value { return gated(c, b, o, i) })
}

// gated is o with a sink, where operand i is an attention and the other is the gate; or nil.
func gated(c *pass.Context, b *op.Builder, o *ir.Op, i int) *ir.Value {
	if o.Name != op.Mul || len(o.Args) != 2 {
		return nil
	}
	gate := uncast(o.Args[1-i])
	if gate.Def == nil || gate.Def.Name != op.Sigmoid {
		return nil
	}
	plus, minus := termsOf(gate.Def.Args[0], nil, nil, true)
	at := slices.IndexFunc(plus, func(v *ir.Value) bool { return v.Def != nil && v.Def.Name == op.Log })
	if at < 0 || len(minus) != 1 {
		return nil
	}
	sum := plus[at].Def.Args[0]
	x := uncast(o.Args[i])
	dot, weights := x.Def, 0
	if dot == nil || dot.Name != op.Dot || len(dot.Attrs.Names("over")) != 1 {
		return nil
	}
	key := dot.Attrs.Names("over")[0]
	norm := fusion.Softmax(dot.Args[0], key)
	if norm == nil {
		norm, weights = fusion.Softmax(dot.Args[1], key), 1
	}
	if norm == nil || norm.Args[1] != sum || slices.ContainsFunc(minus[0].Type.Axes, func(a ir.Axis) bool { return !sum.Type.Has(a.Name) }) {
		return nil
	}
	scores, sinks := fusion.SoftmaxOf(norm, key)
	if !sameValues(slices.Delete(plus, at, at+1), takenOff(norm.Args[0].Def.Args[0], scores)) || !c.May("a gate as a sink", o) {
		return nil
	}
	b.Scope, b.Pos, b.Slot = o.Scope, o.Pos, o.Slot
	e, sum := exponentials(b, scores, append(sinks, fusion.Sink{Logit: minus[0]}), key)
	args := slices.Clone(dot.Args)
	args[weights] = multiple(b, args[weights], norm, key, b.Div(e, sum), same)
	y := b.Cast(b.Emit(op.Dot, dot.Attrs, args...), o.Result().Type.DType)
	return b.Reorder(y, o.Result().Type)
}

// uncast is what v is a cast of.
func uncast(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Name == op.Cast && v.Type.DType.IsFloat() && v.Def.Args[0].Type.DType.IsFloat() {
		v = v.Def.Args[0]
	}
	return v
}

// termsOf appends the terms that v adds and takes off, by whether v is added itself.
func termsOf(v *ir.Value, plus, minus []*ir.Value, added bool) (p, m []*ir.Value) {
	o := v.Def
	switch {
	case o != nil && o.Name == op.Add:
		plus, minus = termsOf(o.Args[0], plus, minus, added)
		return termsOf(o.Args[1], plus, minus, added)
	case o != nil && o.Name == op.Sub:
		plus, minus = termsOf(o.Args[0], plus, minus, added)
		return termsOf(o.Args[1], plus, minus, !added)
	case added:
		return append(plus, v), minus
	}
	return plus, append(minus, v)
}

// takenOff are the values that x is scores less.
func takenOff(x, scores *ir.Value) (out []*ir.Value) {
	for ; x != scores; x = x.Def.Args[0] {
		out = append(out, x.Def.Args[1])
	}
	return out
}

// sameValues reports whether both are the same in some order.
func sameValues(a, b []*ir.Value) bool {
	if len(a) != len(b) {
		return false
	}
	b = slices.Clone(b)
	for _, v := range a {
		i := slices.Index(b, v)
		if i < 0 {
			return false
		}
		b = slices.Delete(b, i, i+1)
	}
	return true
}
