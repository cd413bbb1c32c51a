package precision

import (
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// findScores marks what is never stored, as a kernel of attention has it in tiles, and
// what several attentions add up to.
func (p *plan) findScores(f *ir.Func) {
	terms := map[*ir.Value]*fusion.Core{}
	for _, c := range fusion.Cores(f, func(_, o *ir.Op) bool { return op.Of(o).Class != op.Boundary }) {
		for _, o := range c.Ops {
			for _, v := range o.Results {
				p.scores[v] = p.scores[v] || c.Blocked == nil && c.Over(v)
				if op.Of(o).Class == op.Contraction && !c.Over(v) {
					terms[v] = c
				}
			}
		}
	}
	p.findCarried(f, terms)
	p.findDivided(f, terms)
}

// findCarried marks the sums of products of several attentions, and the terms on their
// way there: what the steps of a ring add to the output and to gradients. A sum goes
// from step to step in float32, as within one kernel. terms says of which attention a
// product is.
func (p *plan) findCarried(f *ir.Func, terms map[*ir.Value]*fusion.Core) {
	several := &fusion.Core{}
	joins := map[*ir.Op]bool{}
	for _, o := range f.Ops {
		if c := op.Of(o).Class; len(o.Results) != 1 || c != op.Elementwise && c != op.Movement {
			continue
		}
		var of *fusion.Core
		for _, a := range o.Args {
			switch c := terms[a]; {
			case c == nil:
			case of == nil:
				of = c
			case of != c || of == several && op.Of(o).Class == op.Elementwise:
				joins[o] = true
			}
		}
		if joins[o] {
			of = several
		}
		if of != nil {
			terms[o.Result()] = of
		}
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		if len(o.Results) != 1 || !joins[o] && !p.carried[o.Result()] {
			continue
		}
		for _, a := range o.Args {
			p.carried[a] = p.carried[a] || terms[a] != nil
		}
	}
}
