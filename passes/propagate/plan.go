package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// plan is what is decided with a look at all readers of a value, where rules for
// one operation at a time do not see enough.
type plan struct {
	// owed are results that owe what some operands do, though the operation is
	// linear in those alone, as a product is in either factor.
	owed map[planned]bool
	// gather: what reads a parameter that zero cuts gathers it wherever something
	// else is to be cut, rather than follow it.
	gather bool
}

// planned is a value, by its number, and a mesh axis.
type planned struct {
	value int
	mesh  string
}

// choose propagates f by the best plan: each part of one is tried on a copy of f,
// and taken if devices then send fewer bytes.
func (l *layout) choose(c *pass.Context, f *ir.Func) *trial {
	best := plan{}
	t := l.try(c, f, best)
	if t.sent == 0 {
		return t
	}
	for _, more := range []func(*trial, plan) (more plan, ok bool){(*trial).gatherZero, (*trial).settleLater} {
		next, ok := more(t, best)
		if !ok {
			continue
		}
		if u := l.try(c, f, next); u.sent < t.sent {
			t, best = u, next
		}
	}
	return t
}

// trial is a propagation of a copy.
type trial struct {
	p    *propagation
	l    *layout
	f    *ir.Func
	ops  []*ir.Op      // the operations that there were, reading what they now read
	args [][]*ir.Value // what they read before
	sent int64         // by a device, for reshards
}

func (l *layout) try(c *pass.Context, f *ir.Func, by plan) *trial {
	f = f.Clone()
	t := &trial{l: l, f: f, ops: slices.Clone(f.Ops)}
	for _, o := range t.ops {
		t.args = append(t.args, slices.Clone(o.Args))
	}
	own := *c
	own.Remarks = nil
	t.p = propagate(&own, l, f, by)
	for _, o := range f.Ops {
		if o.Name == op.Reshard {
			t.sent += l.sent(o.Args[0].Type, o.Result().Type)
		}
	}
	return t
}

// bytes is the size of one device's part of a value of type t.
func (l *layout) bytes(t ir.Type) int64 {
	n := int64(t.Bytes())
	for _, a := range t.Axes {
		n /= int64(l.parts(a))
	}
	return n
}

// sent is how many bytes a device sends to bring a value from one state into
// another, in the order of package partition: it cuts, scatters sums, exchanges,
// settles the other sums and gathers. Over n devices and a whole of S bytes these
// are (n−1)/n · S, of sums that all have twice that. Patarasuk, Yuan, "Bandwidth
// optimal all-reduce algorithms for clusters of workstations" (2009).
func (l *layout) sent(from, to ir.Type) (bytes int64) {
	size := l.bytes(from)
	gathered, settled := int64(1), int64(1)
	steps := []func(m string, n int64, owed, cut, want bool){
		func(m string, n int64, owed, cut, want bool) {
			if !owed && !cut && want {
				size /= n
			}
		},
		func(m string, n int64, owed, cut, want bool) {
			if owed && want {
				bytes += size / n * (n - 1)
				size /= n
			}
		},
		func(m string, n int64, owed, cut, want bool) {
			switch {
			case cut && want && !sameAxis(from, to, m):
				bytes += size / n * (n - 1)
			case cut && !want:
				gathered *= n
			case owed && !want && !owes(to, m):
				settled *= n
			}
		},
	}
	for _, step := range steps {
		for _, m := range l.mesh {
			step(m.Name, int64(m.Size), owes(from, m.Name), sharded(from, m.Name), sharded(to, m.Name))
		}
	}
	bytes += 2 * size * (settled - 1) / settled
	return bytes + size*(gathered-1)
}

// sameAxis reports whether the same axis of both types is cut over m.
func sameAxis(a, b ir.Type, m string) bool {
	for i := range a.Axes {
		if slices.Contains(a.Axes[i].Mesh, m) {
			return slices.Contains(b.Axes[i].Mesh, m)
		}
	}
	return false
}

// note remembers how strongly o is sharded over m.
func (p *propagation) note(o *ir.Op, m string, strength int) {
	p.strengths[planned{o.Results[0].ID, m}] = strength
}

// carryOwed has o's result owe over m what operands of it do, where that is
// planned, and reports whether it does.
func (p *propagation) carryOwed(a *assignment, o *ir.Op, m string) bool {
	if !p.plan.owed[planned{o.Results[0].ID, m}] {
		return false
	}
	for _, in := range op.LinearIn(o) {
		if len(a.owed) > 0 && !slices.Equal(in, a.in) && (a.in != nil || len(in) < len(o.Args)) {
			continue
		}
		if !p.carries(o, in, m) {
			continue
		}
		a.owed, a.in = append(a.owed, ir.Partial{Mesh: m, Reduce: "sum"}), in
		a.from[m] = p.owedBecause(o, m)
		return true
	}
	return false
}

// carries reports whether some of these operands owe a sum over m, and of the
// others each device has the whole, so that the first one can take it as its
// part.
func (p *propagation) carries(o *ir.Op, in []int, m string) bool {
	some := false
	for _, i := range in {
		t := o.Args[i].Type
		if owesSum(t, m) {
			some = true
		} else if sharded(t, m) || owes(t, m) {
			return false
		}
	}
	return some
}

func owesSum(t ir.Type, m string) bool {
	return slices.Contains(t.Partial, ir.Partial{Mesh: m, Reduce: "sum"})
}
