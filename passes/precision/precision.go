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
	microbatches := layout.Microbatches(m) > 1
	for _, r := range layout.All[*layout.Pipeline](layout.Of(m)) {
		microbatches = microbatches || m.MeshSize(r.Over) > 1
	}
	for _, f := range m.Funcs {
		if f.Class != ir.Entry {
			continue
		}
		if rule.Compute != ir.F32 || rule.Params != ir.F32 || rule.Products != "" {
			lower(c, m, f, rule, microbatches)
		}
		if rule.Reduce != ir.F32 && m.Devices() > 1 {
			communicate(c, f, rule.Reduce)
		}
	}
	return nil
}
