package simplify

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
		{"attention-grad", "sum(w * (d . v)) over keys is sum(d * o) over the axes of values, where o = w . v and w has an exponential", []string{op.ReduceSum}, attentionGrad},
		{"softmax-grad", "(g/s - sum(g/s * p)) * e is (g - sum(g * p)) * p, where p is e/s", []string{op.Mul}, softmaxGrad},
	})
}

// softmaxGrad is the product of a vector and the Jacobian of softmax, diag(p) −
// p·pᵀ, in terms of p alone. By the rules of its exponential, sum and quotient it
// needs e as well, and both would be kept since the forward phase.
func softmaxGrad(r *rewriter, o *ir.Op) *ir.Value {
	for i, e := range o.Args {
		d := o.Args[1-i]
		if !from(e, op.Exp) || !from(d, op.Sub) {
			continue
		}
		q, total := d.Def.Args[0], d.Def.Args[1]
		if !from(q, op.Div) || !from(total, op.ReduceSum) || !from(total.Def.Args[0], op.Mul) {
			continue
		}
		g, s := q.Def.Args[0], q.Def.Args[1]
		for k, p := range total.Def.Args[0].Def.Args {
			if total.Def.Args[0].Def.Args[1-k] != q || !from(p, op.Div) || p.Def.Args[0] != e || p.Def.Args[1] != s || alongAny(s.Type, total.Def.Attrs.Names("over")) {
				continue
			}
			sum := r.emit(total.Def, op.ReduceSum, total.Def.Attrs, r.emit(total.Def, op.Mul, nil, g, p))
			return r.keep(o, r.emit(o, op.Mul, nil, r.emit(o, op.Sub, nil, g, sum), p))
		}
	}
	return nil
}

// alongAny reports whether t has one of the axes.
func alongAny(t ir.Type, axes []string) bool {
	return slices.ContainsFunc(axes, t.Has)
}

// attentionGrad is what the gradient of a softmax takes off, of an attention: the sum
// over the keys of weights and their gradient, which is the gradient of the result by
// values, is the sum of the result and its gradient over the axes of a value (Dao et
// al., "FlashAttention", 2022, equation 4). Factors of the weights such as dropout are
// those of their gradient. Nothing over queries and keys is then summed in the backward
// phase.
func attentionGrad(r *rewriter, o *ir.Op) *ir.Value {
	over := o.Attrs.Names("over")
	if len(over) != 1 || !from(o.Args[0], op.Mul) {
		return nil
	}
	all := factors(nil, o.Args[0])
	if !slices.ContainsFunc(all, func(f factor) bool { return from(f.v, op.Exp) && f.v.Type.Has(over[0]) }) {
		return nil // no weights: the rule would turn its own result back
	}
	for i, f := range all {
		if f.kind != "" || !from(f.v, op.Dot) {
			continue
		}
		weights := slices.Delete(slices.Clone(all), i, i+1)
		for k, values := range f.v.Def.Args {
			d := f.v.Def.Args[1-k]
			if !values.Type.Has(over[0]) || d.Type.Has(over[0]) {
				continue
			}
			if r.uses[o.Args[0]] > 1 {
				return r.refuse(o, readByOthers)
			}
			if out, left := r.mixed(weights, values, over, d.Type); out != nil {
				sum := ir.A("over", ir.Names(f.v.Def.Attrs.Names("over")))
				return r.keep(o, r.times(o, r.emit(o, op.ReduceSum, sum, r.emit(o, op.Mul, nil, d, out)), left))
			}
			r.refuse(o, "no product of these weights and values is there")
		}
	}
	return nil
}

// factor is one of a product: a value, what it is divided by, or a condition without
// which it is 0.
type factor struct {
	kind string // "", "/", "if", "if not"
	v    *ir.Value
}

// mostFactors is how many are told apart; what is left is one.
const mostFactors = 16

// factors appends those of v.
func factors(list []factor, v *ir.Value) []factor {
	o := v.Def
	switch {
	case len(list) >= mostFactors:
	case from(v, op.Mul):
		return factors(factors(list, o.Args[0]), o.Args[1])
	case from(v, op.Div):
		return append(factors(list, o.Args[0]), factor{"/", o.Args[1]})
	case from(v, op.Select) && is(o.Args[2], 0):
		return append(factors(list, o.Args[1]), factor{"if", o.Args[0]})
	case from(v, op.Select) && is(o.Args[1], 0):
		return append(factors(list, o.Args[2]), factor{"if not", o.Args[0]})
	}
	return append(list, factor{"", v})
}

// sameFactors reports whether both are the same in some order.
func sameFactors(a, b []factor) bool {
	rest, ok := lessFactors(a, b)
	return ok && len(rest) == 0
}
