package fusion

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Sink is a term of a softmax's sum that no key has: exp(Logit), summed over the axes
// Over, which no score has. So the weights of a query's keys need not sum to 1 (Xiao et
// al., "Efficient streaming language models with attention sinks", 2023; in GPT-OSS a
// learned logit of each head).
type Sink struct {
	Logit *ir.Value // nil is 0
	Over  ir.Names
}

// SoftmaxOf is the scores and the sinks of norm, which is a result of [Softmax].
func SoftmaxOf(norm *ir.Op, key string) (scores *ir.Value, sinks []Sink) {
	e, l := norm.Args[0].Def, norm.Args[1].Def
	if l.Name == op.ReduceSum {
		return Exponent(e, key), nil
	}
	return withSinks(e, l, key)
}

// withSinks is the scores of which e is the exponential and the sinks next to its sum in
// l, or nil. Whatever all of them are less by changes nothing.
func withSinks(e, l *ir.Op, key string) (scores *ir.Value, sinks []Sink) {
	if e == nil || e.Name != op.Exp || l.Name != op.Add {
		return nil, nil
	}
	terms, ok := besideSum(nil, l.Result(), e.Result(), key)
	if !ok {
		return nil, nil
	}
	for _, v := range terms {
		s, ok := sinkOf(v)
		if !ok || v.Type.Has(key) || !subspace(v.Type.Axes, e.Result().Type.Axes) {
			return nil, nil
		}
		sinks = append(sinks, s)
	}
	scores = e.Args[0]
	for isFrom(scores, op.Sub) && !scores.Def.Args[1].Type.Has(key) {
		less := scores.Def.Args[1]
		more, ok := allWithout(sinks, less)
		if !ok && reduces(less, key) {
			return nil, nil // the maximum counts
		}
		if !ok {
			break
		}
		scores, sinks = scores.Def.Args[0], more
	}
	if slices.ContainsFunc(sinks, func(s Sink) bool { return slices.ContainsFunc(s.Over, scores.Type.Has) }) {
		return nil, nil
	}
	return scores, sinks
}

// besideSum appends the terms of the sum l but for that of e over the keys, and reports
// whether this is one of them.
func besideSum(list []*ir.Value, l, e *ir.Value, key string) ([]*ir.Value, bool) {
	if isSum(l, e, key) {
		return list, true
	}
	if !isFrom(l, op.Add) {
		return append(list, l), false
	}
	list, a := besideSum(list, l.Def.Args[0], e, key)
	list, b := besideSum(list, l.Def.Args[1], e, key)
	return list, a != b
}

// sinkOf is the sink of which v is the term.
func sinkOf(v *ir.Value) (s Sink, ok bool) {
	if IsConst(v, 1) {
		return s, true
	}
	if isFrom(v, op.ReduceSum) {
		s.Over, v = v.Def.Attrs.Names("over"), v.Def.Args[0]
	}
	if !isFrom(v, op.Exp) {
		return s, false
	}
	s.Logit = v.Def.Args[0]
	return s, true
}

// allWithout are the sinks with less added to their logits, where each takes it off.
func allWithout(sinks []Sink, less *ir.Value) ([]Sink, bool) {
	out := slices.Clone(sinks)
	for i, s := range sinks {
		switch x := s.Logit; {
		case isFrom(x, op.Sub) && x.Def.Args[1] == less:
			out[i].Logit = x.Def.Args[0]
			if IsConst(x.Def.Args[0], 0) {
				out[i].Logit = nil
			}
		case isFrom(x, op.Neg) && x.Def.Args[0] == less:
			out[i].Logit = nil
		default:
			return nil, false
		}
	}
	return out, true
}

// reduces reports whether v is elementwise work on a reduction over the key.
func reduces(v *ir.Value, key string) bool {
	o := v.Def
	if o == nil {
		return false
	}
	switch op.Of(o).Class {
	case op.Reduction:
		return slices.Contains(o.Attrs.Names("over"), key)
	case op.Elementwise:
		return slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return reduces(a, key) })
	}
	return false
}

func isSum(l, e *ir.Value, key string) bool {
	return isFrom(l, op.ReduceSum) && l.Def.Args[0] == e && slices.Equal(l.Def.Attrs.Names("over"), ir.Names{key})
}

func isFrom(v *ir.Value, name string) bool { return v != nil && v.Def != nil && v.Def.Name == name }
