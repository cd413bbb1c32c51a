package passes

import (
	"ptc/ir"
	"ptc/passes/pass"
)

// The passes of the parallel layout. Each does what one device needs, and
// refuses a layout for which it would have to act on several.

// remat keeps every activation. Recomputation changes memory, never results,
// so a rule that asks for it is answered by a remark.
func remat(c *pass.Context, m *ir.Module) error {
	if rule := layoutRule(m, "recompute"); rule != nil {
		c.Remarkf(nil, "rule %s not applied: every activation is kept", rule)
	}
	return nil
}

// offload keeps everything in device memory; see remat.
func offload(c *pass.Context, m *ir.Module) error {
	if rule := layoutRule(m, "offload"); rule != nil {
		c.Remarkf(nil, "rule %s not applied: everything stays in device memory", rule)
	}
	return nil
}

// collectives leaves what partition made.
func collectives(_ *pass.Context, _ *ir.Module) error { return nil }

// layoutRule is the first rule of the layout with the head, or nil.
func layoutRule(m *ir.Module, head string) *ir.Term {
	layout := m.MetaTerm("layout")
	if layout == nil {
		return nil
	}
	rules := layout.Args.Terms("rules")
	for i := range rules {
		if rules[i].Head == head {
			return &rules[i]
		}
	}
	return nil
}
