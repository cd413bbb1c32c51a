package unroll

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// Run unrolls the functions of m that have stacks.
func Run(_ *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if n := f.Times(); n > stage.MaxOps {
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
	if !slices.ContainsFunc(layout.All[*layout.Recompute](layout.Of(m)), (*layout.Recompute).Auto) && !offloads(m) {
		return nil
	}
	return Run(c, m)
}

// Offload unrolls the functions of a module whose layout offloads.
func Offload(c *pass.Context, m *ir.Module) error {
	if !offloads(m) {
		return nil
	}
	return Run(c, m)
}

func offloads(m *ir.Module) bool { return len(layout.All[*layout.Offload](layout.Of(m))) > 0 }
