package passes

import (
	"ptc/ir"
	"ptc/passes/pass"
)

// Passes that have their place in the table and nothing to do yet.

// offload keeps everything in device memory. What is offloaded changes memory,
// never results, so a rule that asks for it is answered by a remark.
func offload(c *pass.Context, m *ir.Module) error {
	if rule := layoutRule(m, "offload"); rule != nil {
		c.Remarkf(nil, "rule %s not applied: everything stays in device memory", rule)
	}
	return nil
}

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
