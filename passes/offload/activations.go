package offload

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

const (
	// distance is how many kernels must lie between the last reader of an
	// activation in the forward phase and its first in the backward phase: what
	// comes back sooner would only travel. Of instances and microbatches, it is the
	// one with the most in between that counts.
	distance = 8
	// least is the fewest bytes that are worth a transfer.
	least = 1024
)

// Activations offloads what the kernels of the named modules leave for the backward
// phase: device to host behind the last reader of the forward phase, and back
// before the first one of the backward phase.
func Activations(c *pass.Context, m *ir.Module) error {
	rules := rulesOf(m, "activations")
	if len(rules) == 0 {
		return nil
	}
	forward := forwardPhase(m)
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		a := newActivations(f, rules, forward)
		a.find()
		if a.n == 0 {
			continue
		}
		a.rewrite()
		c.Remarkf(nil, "@%s: %d activations of %d bytes are offloaded until the backward phase", f.Name, a.n, a.bytes)
		if a.soon > 0 {
			c.Remarkf(nil, "@%s: %d of them are read again within %d kernels: all instances of a module are offloaded alike", f.Name, a.soon, distance)
		}
	}
	return nil
}

// forwardPhase is the operations that a loss is computed from, across the devices
// of a pipeline.
func forwardPhase(m *ir.Module) map[*ir.Op]bool {
	type message struct {
		of        string
		from, tag int64
		to        int64
	}
	sends := map[message][]*ir.Op{}
	of := map[*ir.Op]*ir.Func{}
	var work []*ir.Value
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		for _, x := range f.Ops {
			of[x] = f
			if op.Has(x, op.Sends) {
				k := message{f.Of, int64(f.Stage.Or(0)), x.Attrs.Int("tag", 0), x.Attrs.Int("peer", 0)}
				sends[k] = append(sends[k], x)
			}
		}
		for _, r := range f.Results {
			if r.Role == ir.RoleLoss {
				work = append(work, r.Value)
			}
		}
	}
	out := map[*ir.Op]bool{}
	for len(work) > 0 {
		x := work[len(work)-1].Def
		work = work[:len(work)-1]
		if x == nil || out[x] {
			continue
		}
		out[x] = true
		work = append(work, x.Args...)
		if op.Has(x, op.Receives) {
			f := of[x]
			for _, s := range sends[message{f.Of, x.Attrs.Int("peer", 0), x.Attrs.Int("tag", 0), int64(f.Stage.Or(0))}] {
				out[s] = true
				work = append(work, s.Args...)
			}
		}
	}
	return out
}
