package simplify

import (
	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
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
	for _, a := range axes {
		if t.Has(a) {
			return true
		}
	}
	return false
}
