package simplify

import "ptc/ir"

func init() {
	register([]rule{
		{"softmax-grad", "(g/s - sum(g/s * p)) * e is (g - sum(g * p)) * p, where p is e/s", []string{"mul"}, softmaxGrad},
	})
}

// softmaxGrad is the product of a vector and the Jacobian of softmax, diag(p) −
// p·pᵀ, in terms of p alone. By the rules of its exponential, sum and quotient it
// needs e as well, and both would be kept since the forward phase.
func softmaxGrad(r *rewriter, o *ir.Op) *ir.Value {
	for i, e := range o.Args {
		d := o.Args[1-i]
		if !from(e, "exp") || !from(d, "sub") {
			continue
		}
		q, total := d.Def.Args[0], d.Def.Args[1]
		if !from(q, "div") || !from(total, "reduce_sum") || !from(total.Def.Args[0], "mul") {
			continue
		}
		g, s := q.Def.Args[0], q.Def.Args[1]
		for k, p := range total.Def.Args[0].Def.Args {
			if total.Def.Args[0].Def.Args[1-k] != q || !from(p, "div") || p.Def.Args[0] != e || p.Def.Args[1] != s || alongAny(s.Type, total.Def.Attrs.Names("over")) {
				continue
			}
			sum := r.emit(total.Def, "reduce_sum", total.Def.Attrs, r.emit(total.Def, "mul", nil, g, p))
			return r.keep(o, r.emit(o, "mul", nil, r.emit(o, "sub", nil, g, sum), p))
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
