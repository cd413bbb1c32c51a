package stage

import (
	"ptc/ir"
)

// givenOf are the values of f that depend on the batch, the numbers of the step
// and constants alone, and on no parameter or state: the number of tokens that
// count, say, by which a loss is divided. Gradients are not among them, even where
// they depend on no parameter: microbatches add them up like all others.
func givenOf(f *ir.Func) map[*ir.Value]bool {
	given := map[*ir.Value]bool{}
	for _, a := range f.Args {
		given[a.Value] = a.Role != ir.RoleParam && a.Role != ir.RoleState
	}
	grads := map[*ir.Value]bool{}
	for _, r := range f.Results {
		grads[r.Value] = grads[r.Value] || r.Role == ir.RoleGrad
	}
	for _, o := range f.Ops {
		all := true
		for _, v := range o.Args {
			all = all && given[v]
		}
		for _, r := range o.Results {
			given[r] = all && !grads[r]
		}
	}
	return given
}

// again is a given value that is sharded or partial, as a whole: computed from the whole
// batch, as if there were no microbatches.
func (s *splitter) again(v *ir.Value) *ir.Value {
	if v.Def == nil || s.of[v] == nil {
		return v
	}
	if w := s.whole[v]; w != nil {
		return w
	}
	o := v.Def
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = s.again(a)
	}
	n := s.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	n.Scope, n.Pos = o.Scope, o.Pos
	s.stage[n], s.phase[n] = anywhere, s.phase[o]
	s.text.out = append(s.text.out, n)
	for j, r := range o.Results {
		s.whole[r] = n.Results[j]
	}
	return s.whole[v]
}
