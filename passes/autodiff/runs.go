package autodiff

import (
	"ptc/ir"
	"ptc/ir/op"
)

// The gradient of a run is a run the other way about: what leaves an instance
// backward is the gradient of what entered it forward, and the gradients of what all
// instances read from outside go from instance to instance as sums. Instances have
// the values of their forward run still.

// carry is a value that goes from instance to instance of a forward run: from
// outside, what an instance reads, what it leaves, and what leaves the last one.
type carry struct{ init, in, next, out *ir.Value }

// carries are those of the operations of a run.
func carries(ops []*ir.Op) []carry {
	var out []carry
	at := map[*ir.Value]int{}
	for _, o := range ops {
		switch o.Name {
		case op.Enter:
			at[o.Result()] = len(out)
			out = append(out, carry{init: o.Args[0], in: o.Result()})
		case op.Leave:
			c := &out[at[o.Args[0]]]
			c.next, c.out = o.Args[1], o.Result()
		}
	}
	return out
}

// sum is a gradient that goes from instance to instance.
type sum struct {
	of      *ir.Value // whose gradient it is: what enters, or a value of outside
	entered *ir.Op
	before  *ir.Value // the sum outside, nil for zero
}

// run visits the operations of a run, the last first.
func (r *reverse) run(ops []*ir.Op) {
	forward := ops[0].Run
	last := ops[len(ops)-1]
	r.b.Scope, r.b.Pos = last.Scope, last.Pos
	cs := carries(ops)
	on := r.reached(ops, cs)
	shared := r.shared(ops)
	back := &ir.Run{Stack: forward.Stack, Down: !forward.Down}
	gradients := make([]*ir.Value, len(cs))
	for i, c := range cs {
		if on[i] {
			gradients[i] = r.orZero(c.out)
		}
	}
	zero := make([]*ir.Value, len(shared))
	for i, v := range shared {
		zero[i] = r.orZero(v)
	}

	r.b.Slot.Run = back
	head := len(*r.b.Sink)
	for i := range cs {
		if on[i] {
			gradients[i] = r.b.Emit(op.Enter, nil, gradients[i])
		}
	}
	sums := make([]sum, len(shared))
	for i, v := range shared {
		sums[i] = sum{v, r.b.Emit(op.Enter, nil, zero[i]).Def, r.adjoint[v]}
		r.adjoint[v] = sums[i].entered.Result()
	}
	for i, c := range cs {
		if on[i] {
			r.add(c.next, gradients[i])
		}
	}
	for i := len(ops) - 1; i >= 0; i-- {
		if op.Of(ops[i]).Class != op.Boundary {
			r.visit(ops[i])
		}
	}
	r.leave(cs, gradients, sums, head, last)
}

// leave ends the run backward.
func (r *reverse) leave(cs []carry, gradients []*ir.Value, sums []sum, head int, last *ir.Op) {
	r.b.Scope, r.b.Pos = last.Scope, last.Pos
	ends := make([]*ir.Value, len(cs))
	for i, c := range cs {
		if gradients[i] != nil {
			ends[i] = r.orZero(c.in)
		}
	}
	unused := map[*ir.Op]bool{}
	outs := make([]*ir.Value, len(cs))
	for i := range cs {
		if gradients[i] != nil {
			outs[i] = r.b.Emit(op.Leave, nil, gradients[i], ends[i])
		}
	}
	for _, s := range sums {
		if g := r.adjoint[s.of]; g == s.entered.Result() {
			unused[s.entered], r.adjoint[s.of] = true, s.before
		} else {
			r.adjoint[s.of] = r.b.Emit(op.Leave, nil, s.entered.Result(), g)
		}
	}
	r.b.Slot.Run = nil
	ops := (*r.b.Sink)[:head]
	for _, o := range (*r.b.Sink)[head:] {
		if !unused[o] {
			ops = append(ops, o)
		}
	}
	*r.b.Sink = ops
	for i, c := range cs {
		if outs[i] != nil && r.depends[c.init] {
			r.add(c.init, outs[i])
		}
	}
}

// reached marks the carried values that have a gradient: the loss depends on what
// leaves the last instance, or through others on what leaves one before.
func (r *reverse) reached(ops []*ir.Op, cs []carry) []bool {
	on := make([]bool, len(cs))
	for i, c := range cs {
		on[i] = r.adjoint[c.out] != nil
	}
	for more := true; more; {
		more = false
		read := map[*ir.Value]bool{} // by what has a gradient
		for i, c := range cs {
			read[c.next] = read[c.next] || on[i]
		}
		for i := len(ops) - 1; i >= 0; i-- {
			o := ops[i]
			if op.Of(o).Class == op.Boundary || op.Of(o).Grad == nil {
				continue
			}
			any := false
			for _, v := range o.Results {
				any = any || read[v] || r.adjoint[v] != nil
			}
			for _, a := range o.Args {
				read[a] = read[a] || any && r.depends[a]
			}
		}
		for i, c := range cs {
			if !on[i] && read[c.in] && r.depends[c.in] {
				on[i], more = true, true
			}
		}
	}
	return on
}

// shared are the values of outside that the operations of a run read and that have
// a gradient, in the order of their readers.
func (r *reverse) shared(ops []*ir.Op) []*ir.Value {
	var out []*ir.Value
	seen := map[*ir.Value]bool{}
	for _, o := range ops {
		if o.Name == op.Enter || op.Of(o).Grad == nil && o.Name != op.Leave {
			continue
		}
		for _, a := range o.Args {
			if a.In() == nil && r.depends[a] && !seen[a] {
				seen[a] = true
				out = append(out, a)
			}
		}
	}
	return out
}

// orZero is the gradient of v so far.
func (r *reverse) orZero(v *ir.Value) *ir.Value {
	if g := r.adjoint[v]; g != nil {
		return g
	}
	return r.b.Broadcast(r.b.Like(v, 0), v.Type)
}
