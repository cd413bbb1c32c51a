package fuse

import (
	"slices"
	"sort"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// view says that a value is a strided view of a stored value.
type view struct {
	base   *ir.Value
	byName bool // all operations from base to the value keep names and sizes
	op.Strided
}

// facts is what grouping asks of a function: where each operation stands, which values are
// views, and who reads a value from memory. It does not depend on any group; storage adds
// operations that are computed again.
type facts struct {
	f      *ir.Func
	ops    map[*ir.Op]*opFacts
	views  map[*ir.Value]*view
	users  map[*ir.Value][]*ir.Op // operations that read a value, views included
	read   map[*ir.Value][]reader // see readers: of values that were asked about
	result map[*ir.Value]bool     // results of the function
	loss   int                    // index of the operation that makes the loss, or the number of operations
	time   *timing
}

// opFacts is the same of one operation.
type opFacts struct {
	index     int   // in the program
	segment   int   // see group.segment
	late      bool  // see group.late
	free      bool  // copied into every reader
	step      bool  // see findSteps
	castFirst bool  // a cast that products find done
	core      *core // the attention that it is part of, or nil
}

// newFacts prepares f for grouping and collects what is known of it.
func newFacts(c *pass.Context, f *ir.Func) *facts {
	f.Ops = materializeViews(f)
	cores, mask := findCores(c, f)
	steps := map[*ir.Op]bool{}
	if len(cores) > 0 {
		steps = findSteps(f)
	}
	n := len(f.Ops)
	p := &facts{f: f, ops: make(map[*ir.Op]*opFacts, n), views: map[*ir.Value]*view{}, users: make(map[*ir.Value][]*ir.Op, n),
		read: map[*ir.Value][]reader{}, result: map[*ir.Value]bool{}, loss: n}
	loss := (*ir.Op)(nil)
	for _, r := range f.Results {
		if p.result[r.Value] = true; r.Role == ir.RoleLoss {
			loss = r.Value.Def
		}
	}
	segment := 0
	var task *ir.Task
	all := make([]opFacts, n)
	for i, o := range f.Ops {
		if o == loss {
			p.loss = i
		}
		if op.Has(o, op.Message) || o.Task != task {
			segment++
		}
		task = o.Task
		x := &all[i]
		*x = opFacts{index: i, segment: segment, late: o.Remat, core: cores[o], step: steps[o]}
		p.ops[o] = x
		o.Slot = ir.Slot{Run: o.Run, Task: o.Task}
		for _, a := range o.Args {
			p.users[a] = append(p.users[a], o)
			x.late = x.late || a.Def != nil && p.ops[a.Def].late
		}
	}
	for _, o := range f.Ops {
		switch {
		case steps[o]:
		case p.isFree(o, mask[o]):
			p.ops[o].free = true
		case op.CanView(o) && !p.result[o.Result()]:
			p.addView(o)
		}
	}
	p.time = newTiming(p)
	p.markCasts(c.Target.Block)
	return p
}

// alone reports whether o stays as it is, and reads what is in memory: a collective,
// and what is at the end of a run.
func alone(o *ir.Op) bool {
	c := op.Of(o).Class
	return c == op.Collective || c == op.Boundary
}

// isFree reports whether o reads no stored value and is cheap: a constant, an
// index, or elementwise work on a few of them; on more, if it is the mask of an attention.
func (p *facts) isFree(o *ir.Op, mask bool) bool {
	if slices.ContainsFunc(o.Results, func(r *ir.Value) bool { return p.result[r] || p.readStored(r) }) {
		return false
	}
	d := op.Of(o)
	if len(o.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise && !op.Has(o, op.ByName) {
		return false
	}
	if mask {
		return p.freeSize(o, maskOps) >= 0
	}
	return p.freeSize(o, freeOps) >= 0
}

// readStored reports whether v must lie in memory: a collective reads it, or a view
// that changes its axes, perhaps under other names.
func (p *facts) readStored(v *ir.Value) bool {
	return slices.ContainsFunc(p.users[v], func(u *ir.Op) bool {
		switch {
		case alone(u):
			return true
		case op.Has(u, op.ByName):
			return op.CanView(u) && p.readStored(u.Result())
		}
		return op.CanView(u)
	})
}

// freeSize is what remains of budget after counting the distinct operations
// that o is made of; negative where one of them is neither free nor a number of a step.
func (p *facts) freeSize(o *ir.Op, budget int) int {
	budget--
	for _, a := range o.Args {
		switch {
		case budget < 0 || a.Def == nil:
			return -1
		case p.ops[a.Def].step: // read
		case !p.ops[a.Def].free:
			return -1
		default:
			budget = p.freeSize(a.Def, budget)
		}
	}
	return budget
}

// addView records o as a view, if its operand is stored and not computed in
// place by name.
func (p *facts) addView(o *ir.Op) {
	in := o.Args[0]
	base := &view{base: in, byName: true, Strided: op.Dense(in.Type)}
	if v := p.views[in]; v != nil {
		base = v
	}
	if out, ok := op.View(o, base.Strided); ok {
		p.views[o.Result()] = &view{base.base, base.byName && op.Has(o, op.ByName), out}
	}
}

// stored is the value whose buffer a reader of v reads.
func (p *facts) stored(v *ir.Value) *ir.Value {
	if w := p.views[v]; w != nil {
		return w.base
	}
	return v
}

// source is the operation whose stored result a reader of v reads; nil if that is an
// argument, or copied into every reader.
func (p *facts) source(v *ir.Value) *ir.Op {
	if d := p.stored(v).Def; d != nil && !p.ops[d].free {
		return d
	}
	return nil
}

// producers lists the operations that o's operands come from, through views,
// the largest operand first; latest first among equals, as it is the likeliest
// to be the main one.
func (p *facts) producers(o *ir.Op) []*ir.Op {
	var out []*ir.Op
	for _, a := range o.Args {
		if d := p.source(a); d != nil {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Results[0].Type.Elems(), out[j].Results[0].Type.Elems()
		if a != b {
			return a > b
		}
		return p.ops[out[i]].index > p.ops[out[j]].index
	})
	return out
}

// reader is an operation that reads a value, perhaps through views.
type reader struct {
	o      *ir.Op
	arg    int
	byName bool // only views that keep names and sizes lie between
}

// readers lists the non-view readers of v, once: a value that every parameter's
// update reads would else be looked through for each of them again.
func (p *facts) readers(v *ir.Value) []reader {
	out, known := p.read[v]
	if known {
		return out
	}
	var walk func(v *ir.Value, byName bool)
	walk = func(v *ir.Value, byName bool) {
		for _, o := range p.users[v] {
			if len(o.Results) == 1 && p.views[o.Result()] != nil {
				walk(o.Result(), byName && op.Has(o, op.ByName))
				continue
			}
			for i, a := range o.Args {
				if a == v {
					out = append(out, reader{o, i, byName})
				}
			}
		}
	}
	walk(v, true)
	p.read[v] = out
	return out
}

// add notes o, a copy of an operation that stands in another kernel.
func (p *facts) add(o *ir.Op, x *opFacts) {
	p.ops[o] = x
	for _, a := range o.Args {
		p.users[a] = append(p.users[a], o)
		delete(p.read, a)
	}
}

// redirect has readers of v read w instead.
func (p *facts) redirect(readers []reader, v, w *ir.Value) {
	for _, r := range readers {
		r.o.Args[r.arg] = w
		p.users[w] = append(p.users[w], r.o)
	}
	p.users[v] = slices.DeleteFunc(p.users[v], func(o *ir.Op) bool { return !slices.Contains(o.Args, v) })
	delete(p.read, v)
}

// inOrder is the operations of two groups in program order.
func (p *facts) inOrder(a, b []*ir.Op) []*ir.Op {
	if p.ops[a[len(a)-1]].index < p.ops[b[0]].index {
		return append(a, b...) // no copy where a has room
	}
	out := make([]*ir.Op, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if p.ops[a[0]].index < p.ops[b[0]].index {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}
