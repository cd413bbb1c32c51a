package precision

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// findDivided marks what attentions make of their statistics for each query, with what is
// smaller, such as a sink's logit for each head: statistics as well. A product that is
// divided by such behind all keys leaves in float32, as where a kernel divides it. terms says
// of which attention a product is.
func (p *plan) findDivided(f *ir.Func, terms map[*ir.Value]*fusion.Core) {
	if len(terms) == 0 {
		return
	}
	of := map[*ir.Op]bool{} // in an attention
	for _, c := range terms {
		for _, o := range c.Ops {
			of[o] = true
		}
	}
	for _, o := range f.Ops {
		if len(o.Results) != 1 {
			continue
		}
		v := o.Result()
		switch op.Of(o).Class {
		case op.Reduction:
			p.each[v] = of[o]
		case op.Elementwise:
			p.each[v] = p.ofEach(o)
			if o.Name == op.Div && p.each[o.Args[1]] && terms[o.Args[0]] != nil && !p.scores[o.Args[0]] {
				p.carried[o.Args[0]] = true
			}
		}
	}
}

// ofEach reports whether o is work on statistics of attentions and on what has fewer axes.
func (p *plan) ofEach(o *ir.Op) bool {
	axes := o.Result().Type.Rank()
	return slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return p.each[a] && a.Type.Rank() == axes }) &&
		!slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return !p.each[a] && a.Type.Rank() == axes })
}
