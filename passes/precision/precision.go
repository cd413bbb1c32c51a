package precision

import (
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
)

// Run applies the rule of m to every function of m, or makes everything
// f64 where the target is exact.
func Run(c *pass.Context, m *ir.Module) error {
	if c.Target.Exact {
		for _, f := range m.Funcs {
			widen(f)
		}
		return nil
	}
	rule, err := layout.PrecisionOf(m)
	if err != nil {
		return err
	}
	for _, f := range m.Funcs {
		if f.Class != ir.Entry {
			continue
		}
		if rule.Compute != ir.F32 || rule.Params != ir.F32 {
			lower(c, f, rule)
		}
		if rule.Reduce != ir.F32 && m.Devices() > 1 {
			communicate(c, f, rule.Reduce)
		}
	}
	return nil
}
