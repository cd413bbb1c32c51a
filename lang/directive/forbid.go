package directive

import (
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// Forbid is `forbid all_gather on wte`; without `on`, everywhere.
type Forbid struct {
	line
	What []*syntax.Ident `parser:"'forbid' @@ ( ',' @@ )*"`
	On   []*syntax.Path  `parser:"( 'on' @@ ( ',' @@ )* )?"`
}

var _ = define(Form{Word: "forbid", Node: &Forbid{}, Choices: layout.Collectives, Clauses: []string{"on", "none"}})

func (d *Forbid) read(r *reading) {
	r.add(d, d, &layout.Forbid{Collectives: r.collectives(d.What), Of: r.paramsOf(d.On)})
}

func (d *Forbid) check(c *checking) {
	if c.mod.Devices() == 1 {
		c.noEffect(d, "forbid", "one device has no collectives")
	}
}
