package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/propagate/factor"
)

// slots is the policy of rows that are scattered and found again: each device has a shard of their places.
type slots struct {
	factor.Silent
	settled map[factor.Choice]along // by the result of an operation: what is sharded whatever rules say
	asked   map[factor.Choice]along // what is sharded unless rules say otherwise
	whole   map[factor.Choice]bool  // operations of rows that every device computes
	through map[factor.Choice]bool  // operations that partial sums pass
	about   map[int]bool
}

// along is an axis of an operand, or of the result.
type along struct {
	axis   string
	result bool
}

func (s *slots) Prefer(o *ir.Op, f *op.Factor, m string) (factor.Strength, string) {
	c, ok := choiceOf(o, m)
	switch {
	case !ok:
	case s.settled[c].of(f):
		return factor.Settled, ""
	case s.asked[c].of(f):
		return factor.Asked, ""
	}
	return factor.None, ""
}

func (a along) of(f *op.Factor) bool {
	axes := f.Args
	if a.result {
		axes = f.Results
	}
	return a.axis != "" && slices.Contains(axes, a.axis)
}

func (s *slots) Declines(o *ir.Op, m string) factor.Strength {
	if c, ok := choiceOf(o, m); ok && s.whole[c] {
		return factor.Required
	}
	return factor.None
}

func (s *slots) Defers(o *ir.Op, m string) bool {
	c, ok := choiceOf(o, m)
	return ok && s.through[c]
}

func (s *slots) Speaks(o *ir.Op) bool { return len(o.Results) > 0 && s.about[o.Results[0].ID] }

func choiceOf(o *ir.Op, m string) (factor.Choice, bool) {
	if len(o.Results) == 0 {
		return factor.Choice{}, false
	}
	return factor.Choice{Value: o.Results[0].ID, Mesh: m}, true
}

// shardSlots finds rows of shards that are scattered to places which every device would have in full, and what
// products make of them. Rather than that, a device gathers the rows and has the places of some of them:
//
//	x seq@cp ──▶ gathered ──▶ scatter ──▶ cell@cp ──▶ split ──▶ slot@cp ──▶ experts ──▶ slot@cp
//	 T·embed                            E·C·embed                                         │
//	 seq@cp ◀── reduced ◀── sum of choices ◀── · weight ◀── found, partial(cp) ◀── cell@cp ◀──┘
//
// Rows are fewer than their places are, and what each device finds of its own ones is added up when there is one
// sum for each row. The order of the rows over all devices decides which have a place, as on one device.
func shardSlots(before *trial) maker {
	w := &slotSearch{trial: before, slots: &slots{
		settled: map[factor.Choice]along{}, asked: map[factor.Choice]along{},
		whole: map[factor.Choice]bool{}, through: map[factor.Choice]bool{}, about: map[int]bool{},
	}}
	for _, m := range before.flow.Mesh {
		if m.Size > 1 {
			w.m = m
			w.search()
		}
	}
	if len(w.settled) == 0 {
		return nil
	}
	return func(*trial) factor.Policy { return w.slots }
}
