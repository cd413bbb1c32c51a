package pitch

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// family is values that kernels may write one over the other: all of them are padded, or none.
type family struct {
	over   *family // that it is part of
	stays  bool    // one of them must not be padded
	wanted bool    // a product writes or reads one of them
}

func (f *family) root() *family {
	for f.over != nil {
		f = f.over
	}
	return f
}

// join makes one family of two.
func (f *family) join(g *family) {
	f, g = f.root(), g.root()
	if f != g {
		g.over = f
		f.stays, f.wanted = f.stays || g.stays, f.wanted || g.wanted
	}
}

// choose says by how much each value is padded.
func (p *padder) choose() {
	clear(p.pads)
	families := map[*ir.Value]*family{}
	var order []*ir.Value
	for _, f := range p.m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		sees := seen(f)
		add := func(v *ir.Value) {
			families[v] = &family{stays: sees[v] || p.refused[v] || v.Def == nil || p.padding(v.Type) == 0}
			order = append(order, v)
		}
		for _, a := range f.Args {
			add(a.Value)
		}
		for _, o := range f.Ops {
			for _, v := range o.Results {
				add(v)
			}
		}
	}
	for _, o := range p.calls() {
		p.call(o, families)
	}
	for _, v := range order {
		if f := families[v].root(); f.wanted && !f.stays {
			p.pads[v] = p.padding(v.Type)
		}
	}
}

// seen are the values of an entry function that others than kernels see.
func seen(f *ir.Func) map[*ir.Value]bool {
	out := map[*ir.Value]bool{}
	for _, r := range f.Results {
		out[r.Value] = true
	}
	for _, o := range f.Ops {
		if op.Has(o, op.Calls) && o.First == nil && !o.Start {
			continue
		}
		for _, v := range slices.Concat(o.Args, o.Results) {
			out[v] = true
		}
	}
	return out
}

// call notes what a call says of its operands and results.
func (p *padder) call(o *ir.Op, families map[*ir.Value]*family) {
	k, err := p.kernel(o.Callee)
	if err != nil {
		return // refuse says so, or nothing is padded
	}
	for i := range o.Args {
		for j := range o.Results {
			if k.InPlace(i, j) {
				families[o.Args[i]].join(families[o.Results[j]])
			}
		}
	}
	for _, part := range k.All() {
		of := make([]*ir.Value, 0, len(part.Args)+len(part.Results))
		for _, i := range part.Args {
			of = append(of, o.Args[i])
		}
		for _, j := range part.Results {
			of = append(of, o.Results[j])
		}
		for _, v := range of {
			f := families[v].root()
			switch part.Class {
			case fusion.Gemm:
				f.wanted = true
			case fusion.Map, fusion.Row, fusion.Column:
			default: // whose rows are pieces of others, or are looked up
				f.stays = true
			}
		}
	}
}
