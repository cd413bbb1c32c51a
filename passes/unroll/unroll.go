package unroll

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// Run unrolls the functions of m that have stacks.
func Run(_ *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if n := f.Times(); len(f.Stacks) > 0 && n > stage.MaxOps {
			return &diag.Error{Code: "E0614", Msg: fmt.Sprintf("@%s would have %d operations, of which at most %d are compiled", f.Name, n, stage.MaxOps),
				Hint: "use fewer instances of repeated modules"}
		}
	}
	*m = *m.Unrolled()
	return nil
}

// Early unrolls the functions of a module for whose layout a pass further down takes
// functions without stacks alone.
func Early(c *pass.Context, m *ir.Module) error {
	l := layout.Of(m)
	if !slices.ContainsFunc(layout.All[*layout.Recompute](l), (*layout.Recompute).Auto) && len(layout.All[*layout.Offload](l)) == 0 {
		return nil
	}
	return Run(c, m)
}

// Collectives unrolls the functions that exchange data with other devices or memories.
func Collectives(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel && slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return op.Of(o).Class == op.Collective }) {
			return Run(c, m)
		}
	}
	return nil
}
