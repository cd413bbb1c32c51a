package directive

import (
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

var _ = define(Form{Word: "bucket", Option: &Option{
	What: "the size of a bucket", Example: "25 MiB",
	rule: func(n int64) layout.Rule { return &layout.Bucket{Bytes: n} },
	check: func(c *checking, d *syntax.Entry) {
		if !c.adds() {
			c.noEffect(d, "bucket", "no devices reduce gradients")
		}
	},
}})
