package unroll

import (
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
)

// Run unrolls the functions of m that have stacks.
func Run(_ *pass.Context, m *ir.Module) error {
	*m = *m.Unrolled()
	return nil
}

// Early unrolls the functions of a module for whose layout a pass further down takes
// functions without stacks alone.
func Early(c *pass.Context, m *ir.Module) error {
	l := layout.Of(m)
	if !slices.ContainsFunc(layout.All[*layout.Recompute](l), (*layout.Recompute).Auto) && len(layout.All[*layout.Offload](l)) == 0 && len(layout.All[*layout.Pipeline](l)) == 0 {
		return nil
	}
	return Run(c, m)
}
