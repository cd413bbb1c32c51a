package offload

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

const (
	// distance is how many kernels must lie between the last reader of an
	// activation in the forward phase and its first in the backward phase: what
	// comes back sooner would only travel.
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
		if n, bytes := activationsOf(f, rules, forward); n > 0 {
			c.Remarkf(nil, "@%s: %d activations of %d bytes are offloaded until the backward phase", f.Name, n, bytes)
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

// activationsOf offloads the activations of one function, and returns how many, of how many
// bytes.
func activationsOf(f *ir.Func, rules []rule, forward map[*ir.Op]bool) (n int, bytes int64) {
	kernels := make([]int, len(f.Ops)+1) // before each operation
	readers := map[*ir.Value][]int{}
	for i, x := range f.Ops {
		kernels[i+1] = kernels[i]
		if op.Has(x, op.Calls) {
			kernels[i+1]++
		}
		for _, a := range x.Args {
			readers[a] = append(readers[a], i)
		}
	}
	leaves := map[*ir.Value]bool{}
	for _, r := range f.Results {
		leaves[r.Value] = true
	}
	stores, fetches := map[departure][]*ir.Value{}, map[int][]*ir.Value{}
	from := map[*ir.Value]int{}
	for i, x := range f.Ops {
		at := slices.IndexFunc(rules, func(r rule) bool { return r.inside(x.Scope) })
		if at < 0 || !forward[x] {
			continue
		}
		for _, v := range x.Results {
			if leaves[v] || v.Type.Bytes() < least {
				continue
			}
			before, after := gap(f, i, readers[v], forward)
			if after < 0 || kernels[after]-kernels[before+1] < distance {
				continue
			}
			k := departure{before, at}
			stores[k] = append(stores[k], v)
			fetches[after] = append(fetches[after], v)
			from[v] = after
			n, bytes = n+1, bytes+int64(v.Type.Bytes())
		}
	}
	if n > 0 {
		rewrite(f, rules, stores, fetches, from)
	}
	return n, bytes
}

// departure is where values leave device memory: behind an operation, by a rule.
type departure struct{ at, rule int }

// gap is the last operation of the forward phase that makes or reads a value made
// at i, and the first that reads it behind; that is negative where there is none.
func gap(f *ir.Func, i int, readers []int, forward map[*ir.Op]bool) (before, after int) {
	before, after = i, -1
	for _, r := range readers {
		if forward[f.Ops[r]] {
			before = r
		}
	}
	for _, r := range readers {
		if r > before {
			return before, r
		}
	}
	return before, after
}

// rewrite places the stores and fetches, one for all values that leave, or come
// back, at one place.
func rewrite(f *ir.Func, rules []rule, stores map[departure][]*ir.Value, fetches map[int][]*ir.Value, from map[*ir.Value]int) {
	var out []*ir.Op
	away, back := map[*ir.Value]*ir.Value{}, map[*ir.Value]*ir.Value{}
	move := func(name string, vs []*ir.Value, like *ir.Op, to ir.Memory, why ir.Str) []*ir.Value {
		var args []*ir.Value
		var types []ir.Type
		for _, v := range vs {
			if w := away[v]; w != nil {
				args = append(args, w)
			} else {
				args = append(args, v)
			}
			types = append(types, v.Type.Clone())
		}
		x := f.NewOp(name, args, ir.A("why", why), types...)
		x.Memory, x.Scope, x.Pos = to, like.Scope, like.Pos
		out = append(out, x)
		return x.Results
	}
	for i, x := range f.Ops {
		if vs := fetches[i]; vs != nil {
			for n, r := range move(op.Fetch, vs, x, ir.Device, rules[0].why) {
				back[vs[n]] = r
			}
		}
		for n, a := range x.Args {
			if w := back[a]; w != nil && i >= from[a] {
				x.Args[n] = w
			}
		}
		out = append(out, x)
		for k, r := range rules {
			if vs := stores[departure{i, k}]; vs != nil {
				for n, r := range move(op.Store, vs, x, r.memory, r.why) {
					away[vs[n]] = r
				}
			}
		}
	}
	f.Ops = out
}
