package propagate

import (
	"cmp"
	"slices"

	"ptc/internal/units"
	"ptc/internal/wide"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
)

// Run states every value of every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	m.Level = ir.Sharded
	if m.Devices() == 1 {
		return nil
	}
	l := rulesOf(c, m)
	for _, f := range m.Funcs {
		if f.Name == "step" {
			l.remarkReplicated(c, f)
		}
		*f = *l.choose(c, f).f
		because(c, f)
	}
	return nil
}

// maker makes a policy for one propagation.
type maker func(t *trial) factor.Policy

// policies in the order in which they are asked. What try makes of a propagation is
// tried in the next one, and kept if devices then send less; nil is no proposal.
var policies = []struct {
	always maker
	try    func(before *trial) maker
	does   string // of those that are tried
}{
	{always: newRules},    // rules.go: what the user has sharded
	{always: newStages},   // stages.go: what is sent to another stage of a pipeline
	{always: newStorage},  // storage.go: how parameters, their gradients and state lie
	{always: newRegather}, // regather.go: what is gathered for each phase
	{always: newPerMicro}, // micro.go: what each microbatch reduces and gathers for itself
	{try: gatherStored, does: "gather parameters that zero shards"},          // storage.go: parameters that zero shards are gathered, not followed
	{try: gatherScattered, does: "gather rows before they are scattered"},    // scatter.go: rows are gathered before they are scattered, not their sums reduced
	{try: shardSlots, does: "shard the places that rows are scattered to"},   // slots.go: places that rows are scattered to are shards, and what is computed of them
	{try: deferReductions, does: "reduce partial sums behind products"},      // deferred.go: where partial sums are reduced, which pass products
	{try: reduceEarly, does: "reduce partial sums before linear operations"}, // deferred.go: and which do not pass what is linear
}

// because records where values of f change their sharding, and for which line of the layout.
func because(c *pass.Context, f *ir.Func) {
	if !c.Asked() {
		return
	}
	for _, o := range f.Ops {
		if op.Of(o).Class == op.Placement {
			c.Because(o, "@%s: reshard from %s to %s: %s", f.Name, o.Args[0].Type, o.Result().Type, cmp.Or(o.Attrs.Text("why"), "its readers need this sharding"))
		}
	}
}

// choose propagates f by the policies.
func (l *layout) choose(c *pass.Context, f *ir.Func) *trial {
	var chosen []maker
	for _, p := range policies {
		if p.always != nil {
			chosen = append(chosen, p.always)
		}
	}
	best := l.try(f, chosen, nil)
	for _, p := range policies {
		if p.try == nil || best.sent == 0 {
			continue
		}
		if more := p.try(best); more != nil {
			with := append(slices.Clone(chosen), more)
			if t := l.try(f, with, best); t.sent < best.sent {
				best, chosen = t, with
			} else {
				c.Because(nil, "@%s: %s: no, a device would send %s a step instead of %s", f.Name, p.does, units.Bytes(t.sent), units.Bytes(best.sent))
			}
		}
	}
	return best
}

// trial is a propagation of a copy of a function.
type trial struct {
	l     *layout
	f     *ir.Func
	ops   []*ir.Op      // the operations that there were, reading what they now read
	args  [][]*ir.Value // what they read before
	facts *facts
	flow  *factor.Flow
	sent  int64     // bytes, by a device, for reshards as partition will do them
	cuts  []*region // of its partial sums, once they are asked for
}

// try propagates a copy of f; before, if there is one, is that by all but the last of the policies.
func (l *layout) try(f *ir.Func, by []maker, before *trial) *trial {
	t := l.once(f, by, nil, before)
	if len(t.flow.Left) > 0 { // an instance gives the next one another state than it has
		if u := l.once(f, by, t.flow.Left, t); u.sent < t.sent {
			return u
		}
	}
	return t
}

// once propagates a copy of f, in which what goes from instance to instance of a
// stack has the given states; before is a propagation of another copy, or nil.
func (l *layout) once(f *ir.Func, by []maker, carried map[int]ir.Type, before *trial) *trial {
	f = f.Clone()
	t := &trial{l: l, f: f, ops: slices.Clone(f.Ops)}
	for _, o := range t.ops {
		t.args = append(t.args, slices.Clone(o.Args))
	}
	p := l.problem(f)
	p.Carried, p.PerMicro = carried, l.gathersPerMicro
	t.facts = l.factsOf(&p)
	for _, make := range by {
		p.Policies = append(p.Policies, make(t))
	}
	if before != nil {
		p.Earlier = before.flow.Past()
	}
	t.flow = factor.Run(p)
	for _, o := range f.Ops {
		if op.Of(o).Class == op.Placement {
			t.sent = wide.Add(t.sent, wide.Mul(l.pipeline.alike(o)*f.TimesOf(o), l.planner.Plan(o.Args[0].Type, o.Result().Type, nil).Cost().Sent))
		}
	}
	return t
}
