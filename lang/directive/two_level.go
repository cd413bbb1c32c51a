package directive

import (
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

var _ = define(Form{Word: "two_level", Option: &Option{
	What: "the payload from which a collective has two levels", Example: "64 KiB",
	rule: func(n int64) layout.Rule { return &layout.TwoLevel{Bytes: n} },
	check: func(c *checking, d *syntax.Entry) {
		if slices.ContainsFunc(of[*Shard](c.decl), func(s *Shard) bool { return several(c.mod, s.Over) }) {
			return
		}
		if slices.ContainsFunc(of[*Zero](c.decl), func(z *Zero) bool { return several(c.mod, z.Over) }) {
			return
		}
		c.noEffect(d, "two_level", "no rule is over a list of mesh axes")
	},
}})

// several is whether several of these mesh axes have several devices.
func several(mod *ir.Module, over []*syntax.Ident) bool {
	n := 0
	for _, a := range over {
		if mod.MeshSize(a.Name) > 1 {
			n++
		}
	}
	return n > 1
}
