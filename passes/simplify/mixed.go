package simplify

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// mixed is the product, with the axes of t, of values and what has these factors, perhaps
// divided behind the product, as where the softmax has sinks; nil where the function has
// none. Factors that are alike for all keys and are not of it are left.
func (r *rewriter) mixed(weights []factor, values *ir.Value, over []string, t ir.Type) (out *ir.Value, left []factor) {
	keys, rows := apart(weights, over[0])
	for _, x := range r.out {
		if len(x.Results) != 1 || !x.Result().Type.Permutes(t) {
			continue
		}
		dot, by := x, []factor(nil)
		if x.Name == op.Div && x.Args[0].Def != nil {
			dot, by = x.Args[0].Def, []factor{{"/", x.Args[1]}}
		}
		if dot.Name != op.Dot || !slices.Equal(dot.Attrs.Names("over"), over) {
			continue
		}
		for k, v := range dot.Args {
			if v != values {
				continue
			}
			itsKeys, its := apart(factors(by, dot.Args[1-k]), over[0])
			if !sameFactors(keys, itsKeys) {
				continue
			}
			if rest, ok := lessFactors(rows, its); ok && (out == nil || len(rest) < len(left)) {
				out, left = x.Result(), rest
			}
		}
	}
	return out, left
}

// apart are the factors with an axis, and those without.
func apart(all []factor, axis string) (with, without []factor) {
	for _, f := range all {
		if f.v.Type.Has(axis) {
			with = append(with, f)
		} else {
			without = append(without, f)
		}
	}
	return with, without
}

// lessFactors are those of all that are left without some, which are among them.
func lessFactors(all, some []factor) ([]factor, bool) {
	all = slices.Clone(all)
	for _, f := range some {
		i := slices.Index(all, f)
		if i < 0 {
			return nil, false
		}
		all = slices.Delete(all, i, i+1)
	}
	return all, true
}

// times is x by the factors, in the place of o.
func (r *rewriter) times(o *ir.Op, x *ir.Value, by []factor) *ir.Value {
	for _, f := range by {
		switch f.kind {
		case "":
			x = r.emit(o, op.Mul, nil, x, f.v)
		case "/":
			x = r.emit(o, op.Div, nil, x, f.v)
		case "if":
			x = r.emit(o, op.Select, nil, f.v, x, r.constant(o, x.Type.DType, 0))
		case "if not":
			x = r.emit(o, op.Select, nil, f.v, r.constant(o, x.Type.DType, 0), x)
		}
	}
	return x
}
