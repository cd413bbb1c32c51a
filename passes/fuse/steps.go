package fuse

import (
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// place is where an operation is done: in the instances of a run, in a task.
type place struct {
	run  *ir.Run
	task *ir.Task
}

// findSteps finds the numbers that tell the steps of a ring apart: what is made of
// positions and is one element on a device, where a run that has attentions has several
// such. They are stored, as otherwise each step would be a kernel of its own, and made
// together, before the first of them.
func (p *program) findSteps() {
	p.steps = map[*ir.Op]bool{}
	if len(p.core) == 0 {
		return
	}
	larger := map[*ir.Value]bool{} // read for more than one element
	for _, o := range p.f.Ops {
		for _, a := range o.Args {
			larger[a] = larger[a] || !isStep(o)
		}
	}
	found, constant := map[place][]*ir.Op{}, fusion.Constants{}
	for _, o := range p.f.Ops {
		if len(o.Args) > 0 && isStep(o) && larger[o.Results[0]] && constant.Has(o.Results[0]) {
			k := place{o.Run, o.Task}
			found[k] = append(found[k], o)
		}
	}
	first := map[*ir.Op]bool{} // what is made together
	for _, ops := range found {
		if len(ops) > 1 {
			for _, o := range ops {
				p.steps[o] = true
				sources(o, first)
			}
		}
	}
	p.gather(first)
}

// sources adds to in o, which is made of positions alone, and what it is made of.
func sources(o *ir.Op, in map[*ir.Op]bool) {
	if in[o] {
		return
	}
	in[o] = true
	for _, a := range o.Args {
		sources(a.Def, in)
	}
}

// gather puts those of the operations that are done in one place where the first is.
func (p *program) gather(in map[*ir.Op]bool) {
	of := map[place][]*ir.Op{}
	for _, o := range p.f.Ops {
		if in[o] {
			k := place{o.Run, o.Task}
			of[k] = append(of[k], o)
		}
	}
	out := make([]*ir.Op, 0, len(p.f.Ops))
	for _, o := range p.f.Ops {
		k := place{o.Run, o.Task}
		switch {
		case !in[o]:
			out = append(out, o)
		case o == of[k][0]:
			out = append(out, of[k]...)
		}
	}
	p.f.Ops = slices.Clip(out)
}

// isStep reports whether o makes one element on a device, along some axis.
func isStep(o *ir.Op) bool {
	if len(o.Results) != 1 || op.Of(o).Class != op.Elementwise {
		return false
	}
	t := o.Results[0].Type
	return t.Rank() > 0 && t.Elems() == 1 && !t.DType.IsFloat()
}

// ofRing reports whether an attention reads what an exchange brought, perhaps cut or
// chosen from: it is a step of a ring behind the first.
func ofRing(k *fusion.Core) bool {
	seen := map[*ir.Value]bool{}
	var brought func(v *ir.Value) bool
	brought = func(v *ir.Value) bool {
		o := v.Def
		if o == nil || seen[v] || k.Has(o) {
			return false
		}
		seen[v] = true
		if c := op.Of(o).Class; c != op.Elementwise && c != op.Movement {
			return o.Name == collective.Permute
		}
		return slices.ContainsFunc(o.Args, brought)
	}
	return slices.ContainsFunc(k.Ops, func(o *ir.Op) bool {
		return op.Of(o).Class == op.Contraction && slices.ContainsFunc(o.Args, brought)
	})
}

// choices reports whether b chooses by the number of a step from what a makes for others
// too: the choices of all steps would then be made at once, and kept until theirs comes.
func (p *program) choices(a, b *group, u use) bool {
	return len(p.steps) > 0 && u.outside && a.class != fusion.Attend && b.class == fusion.Map &&
		slices.ContainsFunc(b.ops, func(o *ir.Op) bool {
			return slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return v.Def != nil && p.steps[v.Def] })
		})
}
