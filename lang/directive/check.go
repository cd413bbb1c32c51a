package directive

import (
	"slices"

	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// checking looks at all directives together, once each is read.
type checking struct {
	context
	rules     []rule
	precision layout.Precision
	shards    []shardRule
	warnings  []string
}

// checkAll checks what was read, and gives the warnings.
func checkAll(r *reading) []string {
	c := &checking{context: r.context, rules: r.rules, precision: r.precision, shards: shardRules(r.model, r.rules)}
	c.checkShards()
	c.checkDevices()
	for _, d := range c.decl.Directives {
		switch d := d.(type) {
		case directive:
			d.check(c)
		case *syntax.Entry:
			if f := FormOf(d); f != nil && f.Option != nil {
				f.Option.check(c, d)
			}
		}
	}
	return c.warnings
}

// noEffect warns of a directive, or an option of one, that changes nothing.
func (c *checking) noEffect(n syntax.Node, what, why string) {
	c.warnings = append(c.warnings, layout.NoEffect(c.decl.Name.Name, what, n.At(), why))
}

// adds is whether devices have gradients to add up: what they work on differs,
// by a rule about an axis everywhere or at the borders of modules.
func (c *checking) adds() bool {
	return slices.ContainsFunc(of[*Shard](c.decl), func(d *Shard) bool { return len(d.Of) == 0 && !alone(c.mod, d.Over) })
}
