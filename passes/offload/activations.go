package offload

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
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
	forward, used := forwardPhase(m), make([]bool, len(rules))
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		a := newActivations(f, rules, forward)
		a.find()
		for d := range a.stores {
			used[d.rule] = true
		}
		if a.n == 0 {
			continue
		}
		a.rewrite()
		c.Remarkf(nil, "@%s: %d activations of %d bytes are offloaded until the backward phase", f.Name, a.n, a.bytes)
		if a.soon > 0 {
			c.Remarkf(nil, "@%s: %d of them are read again within %d kernels: all instances of a module are offloaded in the same way", f.Name, a.soon, distance)
		}
	}
	for i, r := range rules {
		if !used[i] {
			r.warnIdle(c, m, "activations", fmt.Sprintf("the backward phase reads nothing of these modules that is of at least %d bytes and %d kernels away", least, distance))
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
	out, seen := map[*ir.Op]bool{}, map[*ir.Value]bool{}
	for len(work) > 0 {
		v := work[len(work)-1]
		work = work[:len(work)-1]
		x := v.Def
		if x == nil || seen[v] {
			continue
		}
		seen[v], out[x] = true, true
		work = append(work, reads(x, v)...)
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

// reads are the operands of x that its result v is computed from. A kernel may do several
// things side by side, the loss of all microbatches and the norm of gradients, say.
func reads(x *ir.Op, v *ir.Value) []*ir.Value {
	f := x.Callee
	if f == nil || len(f.Results) != len(x.Results) {
		return x.Args
	}
	needs := map[*ir.Value]bool{}
	for i, r := range x.Results {
		if r == v {
			needs[f.Results[i].Value] = true
		}
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		if o := f.Ops[i]; slices.ContainsFunc(o.Results, func(r *ir.Value) bool { return needs[r] }) {
			for _, a := range o.Args {
				needs[a] = true
			}
		}
	}
	var out []*ir.Value
	n := 0
	for _, a := range f.Args {
		if a.Path == fusion.Coordinates {
			continue
		}
		if n < len(x.Args) && needs[a.Value] {
			out = append(out, x.Args[n])
		}
		n++
	}
	if n != len(x.Args) {
		return x.Args
	}
	return out
}
