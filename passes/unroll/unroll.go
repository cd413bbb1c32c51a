package unroll

import (
	"ptc/ir"
	"ptc/passes/pass"
)

// Run unrolls the functions of m that have stacks.
func Run(_ *pass.Context, m *ir.Module) error {
	for i, f := range m.Funcs {
		if len(f.Stacks) > 0 {
			m.Funcs[i] = f.Unrolled()
		}
	}
	return nil
}
