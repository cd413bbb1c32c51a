package directive

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

var _ = define(Form{Word: "accumulate", Option: &Option{
	What: "the number of parts of the batch whose gradients add up", Example: "8", Counts: true,
	rule: func(n int64) layout.Rule { return &layout.Accumulate{Times: int(n)} },
	check: func(c *checking, d *syntax.Entry) {
		for _, r := range c.rules {
			if l, ok := r.Rule.(*layout.Accumulate); ok && r.node == d {
				c.checkAccumulate(d, l.Times)
			}
		}
	},
}})

// checkAccumulate checks that `accumulate` divides what a device has of the batch, and
// that the microbatches of a pipeline divide each part.
func (c *checking) checkAccumulate(d *syntax.Entry, times int) {
	if times == 1 {
		c.noEffect(d, "accumulate", "the batch has one part")
	}
	micro := 1
	for _, p := range saying[*layout.Pipeline](c.rules) {
		micro = p.Microbatches
	}
	axis, local, parts := c.localBatch()
	if local == 0 || local%micro != 0 || local%(times*micro) == 0 { // E0406 and E0407 report the first two
		return
	}
	beside := ""
	if micro > 1 {
		beside = fmt.Sprintf(", each in the %d microbatches of the pipeline", micro)
	}
	c.f.Wants("E0407", d.Value, "a divisor of "+value.FormatNumber(value.Whole(local/micro)), "", "%s cannot be split into %d parts%s", ofBatch(axis, local, parts), times, beside)
}

// ofBatch is what an error calls the part of the batch that one of so many devices has.
func ofBatch(axis ir.Axis, local, parts int) string {
	what := "`" + axis.Name + "` of " + value.FormatNumber(value.Whole(axis.Size))
	if parts > 1 {
		what += ", of which each device has " + value.FormatNumber(value.Whole(local)) + ","
	}
	return what
}

// localBatch is the axis of the batch, how much of it one device has, and how many
// devices share it. A local size of 0 says that a mistake in it was reported.
func (c context) localBatch() (a ir.Axis, local, parts int) {
	a, ok := c.model.batch()
	if !ok {
		return a, 0, 0
	}
	parts = 1
	for _, s := range of[*Shard](c.decl) {
		for _, id := range s.Axes {
			for _, m := range s.Over {
				if id.Name == a.Name && parts <= source.MaxDevices {
					parts *= max(1, c.mod.MeshSize(m.Name))
				}
			}
		}
	}
	if a.Size%parts != 0 {
		return a, 0, parts // E0406 says so
	}
	return a, a.Size / parts, parts
}
