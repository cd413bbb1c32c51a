package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/propagate/factor"
)

// facts are what policies know of a function besides its types.
type facts struct {
	loss map[*ir.Value]bool
	// kept are parameters and optimizer state.
	kept map[*ir.Value]bool
	// wanted are gradients on their way to the optimizer, and the states in which it
	// needs them; terms are those that may be reduced one by one, as they are not
	// rounded between.
	wanted map[*ir.Value]factor.Given
	terms  map[*ir.Value]bool
	// update are values that depend on gradients: the optimizer's work, to which rules
	// between modules do not apply.
	update map[*ir.Value]bool
	// phases are those of operations that compute from arguments.
	phases map[*ir.Op]ir.Phase
}

// factsOf finds the facts of p's function, and adds to p what is wanted and apart.
func (l *layout) factsOf(p *factor.Problem) *facts {
	x := &facts{loss: map[*ir.Value]bool{}, kept: map[*ir.Value]bool{}, wanted: p.Wanted, terms: map[*ir.Value]bool{},
		update: make(map[*ir.Value]bool, len(p.Func.Ops)), phases: make(map[*ir.Op]ir.Phase, len(p.Func.Ops))}
	for _, a := range p.Func.Args {
		x.kept[a.Value] = a.Role == ir.RoleParam || a.Role == ir.RoleState
	}
	uses := p.Func.Uses()
	for _, r := range p.Func.Results {
		x.loss[r.Value] = x.loss[r.Value] || r.Role == ir.RoleLoss
		if r.Role == ir.RoleGrad {
			x.want(r.Value, uses, l.perMicro >= 2)
		}
	}
	x.follow(p.Func)
	p.Apart, p.Phases = x.update, x.phases
	return x
}

// want follows a gradient back: of one that is computed elementwise from another
// tensor and scalars, as one that a scale is taken from, that tensor is wanted so.
// Where microbatches reduce theirs each for itself, so is what they add up.
func (x *facts) want(grad *ir.Value, uses map[*ir.Value]int, perMicro bool) {
	w, rounded := x.wanted[grad], false
	for v := grad; v != nil; v = scaled(v, uses, perMicro) {
		x.wanted[v] = factor.Given{Type: w.Type.WithDType(v.Type.DType), From: w.From}
		x.terms[v] = x.terms[v] || !rounded
		rounded = rounded || v.Def != nil && v.Def.Attrs.Has(op.AttrPartial)
	}
}

// scaled is the tensor of which v is a multiple, or the same in another dtype,
// and that nothing else reads, or that microbatches add up, if they do so after it is
// reduced; nil where it is no such.
func scaled(v *ir.Value, uses map[*ir.Value]int, perMicro bool) *ir.Value {
	o := v.Def
	if o == nil || o.Name != op.Mul && o.Name != op.Cast && !(perMicro && o.Name == op.Accumulate) {
		return nil
	}
	var x *ir.Value
	for _, a := range o.Args {
		switch {
		case a.Type.Rank() == 0:
		case x != nil || uses[a] != 1 || !a.Type.SameShape(v.Type):
			return nil
		default:
			x = a
		}
	}
	return x
}

// follow finds the phase of every operation that is not free, and the optimizer's:
// those that read gradients, and after the loss those that read what training keeps
// alone. Where operations do not say, those after the loss are of the backward phase.
func (x *facts) follow(f *ir.Func) {
	free, leads, late := factor.FreeOps(f), x.leads(f), false
	for _, o := range f.Ops {
		if free[o] {
			continue
		}
		switch {
		case o.Phase != ir.NoPhase:
			x.phases[o] = o.Phase
		case late:
			x.phases[o] = ir.Backward
		default:
			x.phases[o] = ir.Forward
		}
		some, all := false, late && !leads[o]
		for _, v := range o.Args {
			if _, grad := x.wanted[v]; grad || x.update[v] {
				some = true
			} else {
				all = all && (x.kept[v] || v.Def != nil && free[v.Def])
			}
		}
		for _, r := range o.Results {
			if some || all {
				x.update[r] = true
			}
			late = late || x.loss[r]
		}
	}
}

// leads are the operations that a gradient depends on.
func (x *facts) leads(f *ir.Func) map[*ir.Op]bool {
	needed, leads := make(map[*ir.Value]bool, len(f.Ops)), make(map[*ir.Op]bool, len(f.Ops))
	for _, r := range f.Results {
		needed[r.Value] = needed[r.Value] || r.Role == ir.RoleGrad
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		if slices.ContainsFunc(o.Results, func(r *ir.Value) bool { return needed[r] }) {
			leads[o] = true
			for _, a := range o.Args {
				needed[a] = true
			}
		}
	}
	return leads
}
