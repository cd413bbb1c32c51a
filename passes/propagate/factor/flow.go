package factor

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Problem is a function to propagate through, and what is given of it.
//
// It is one function and not the module, so that a block that repeats, as a function
// of its own, needs no other entry: Args are the states of the operands of its call,
// Results those in which the call's readers want its results. Calls with the same
// ones share the outcome, and to its caller the call is an operation whose operands
// and results have these states.
type Problem struct {
	Func    *ir.Func
	Mesh    Mesh
	Args    []Given   // by argument: how it lies
	Results []ir.Type // by result: the state in which it leaves
	// Wanted are states in which values will be needed: where they are partial, they
	// are reduced toward these.
	Wanted map[*ir.Value]Given
	// Place is which devices an operation runs on, where these are not all: what
	// goes from one place to another is sent. It may be nil.
	Place func(*ir.Op) (int, bool)
	// Carried are the states in which values go from instance to instance of a stack,
	// by the number of what enters: as the outcome of a propagation without has them
	// leave ([Flow.Left]). Of others the operand of `enter` decides.
	Carried map[int]ir.Type
	// Phases are those of operations that are not free.
	Phases map[*ir.Op]ir.Phase
	// Apart are results of operations that stand apart, as the optimizer's: what is
	// reduced for one of them has its scope, not that of what made the sum.
	Apart map[*ir.Value]bool
	// PerMicro are the values that each microbatch brings into other states for itself; what
	// microbatches share is brought there once for all of them otherwise. It may be nil.
	PerMicro func(*ir.Value) bool
	Policies []Policy
	// Earlier is the past of a propagation of the same function with the same arguments, by the
	// first of these policies. It may be nil.
	Earlier *Past
}

// Given is a state, and why it is.
type Given struct {
	Type ir.Type
	From Origins
}

// Policy decides what the factors of one operation leave open. All policies of a
// problem are asked, in order.
type Policy interface {
	// Before may have o read operands in other states ([Flow.Reshard]), before its
	// factors are chosen.
	Before(x *Flow, o *ir.Op)
	// Prefer is how much speaks for sharding factor f of o over mesh axis m, and why.
	Prefer(o *ir.Op, f *op.Factor, m string) (Strength, string)
	// Lends reports whether o may as well gather operand v as follow it, along an axis
	// that is sharded over m.
	Lends(o *ir.Op, v *ir.Value, axis, m string) bool
	// Declines is what does not suffice for a factor of o to be sharded over m.
	Declines(o *ir.Op, m string) Strength
	// Defers reports whether partial sums over m of some operands pass through o,
	// which is linear in these alone.
	Defers(o *ir.Op, m string) bool
	// Reduces reports whether no partial sum over m passes through o, though o is linear:
	// it is reduced before.
	Reduces(o *ir.Op, m string) bool
	// Afresh reports whether reader has v brought into the state of t for itself and
	// its like, rather than share what others read.
	Afresh(reader *ir.Op, v *ir.Value, t ir.Type) bool
	// After may add operations behind o, whose results have their states.
	After(x *Flow, o *ir.Op)
}

// Silent is a policy that leaves everything as it is. Others embed it.
type Silent struct{}

func (Silent) Before(*Flow, *ir.Op)                                 {}
func (Silent) Prefer(*ir.Op, *op.Factor, string) (Strength, string) { return None, "" }
func (Silent) Lends(*ir.Op, *ir.Value, string, string) bool         { return false }
func (Silent) Declines(*ir.Op, string) Strength                     { return None }
func (Silent) Defers(*ir.Op, string) bool                           { return false }
func (Silent) Reduces(*ir.Op, string) bool                          { return false }
func (Silent) Afresh(*ir.Op, *ir.Value, ir.Type) bool               { return false }
func (Silent) After(*Flow, *ir.Op)                                  {}

// Flow is the propagation of one function.
type Flow struct {
	Problem
	free     map[*ir.Op]bool
	origin   ir.ByValue[Origins]
	required map[int][]string     // by the number of a value
	once     map[apart]*ir.Run    // what is done once for runs of microbatches
	ofAll    map[*ir.Run]bool     // those
	made     map[made][]*ir.Value // the reshards that exist, each in its own state
	same     *sameness            // what is made of arguments more than once
	out      []*ir.Op
	run      *ir.Run // that the traversal is in, and where it begins in out
	head     int
	past     Past
	asBefore []bool // by the numbers of values: in the state of the earlier propagation, for the same reasons
	had      []*ir.Value
	// Left are the states in which an instance leaves what goes to the next one, by the
	// number of what enters, where they are not those in which it enters.
	Left map[int]ir.Type
}

// Choice is a value, by its number, and a mesh axis.
type Choice struct {
	Value int
	Mesh  string
}

// Run gives every value of the function its state, in one traversal.
func Run(p Problem) *Flow {
	x := &Flow{Problem: p, free: FreeOps(p.Func), origin: ir.ByValueOf[Origins](p.Func), required: make(map[int][]string, len(p.Func.Ops)), made: map[made][]*ir.Value{}, Left: map[int]ir.Type{}, once: map[apart]*ir.Run{}, ofAll: map[*ir.Run]bool{}, same: samenessOf(p.Func)}
	for i, a := range x.Func.Args {
		a.Value.Type = p.Args[i].Type
		x.origin.Set(a.Value, p.Args[i].From)
	}
	x.remember()
	for at, o := range x.Func.Ops {
		if o.Run != x.run {
			x.run, x.head = o.Run, len(x.out)
		}
		if !x.free[o] { // free ones are replicated, and readers make their own
			x.operation(o, at)
		} else {
			x.out = append(x.out, o)
		}
	}
	x.run = nil
	for i := range x.Func.Results {
		if r := &x.Func.Results[i]; r.Value.Def != nil {
			r.Value = x.Reshard(r.Value.Def, r.Value, p.Results[i], nil, r.Role+" "+r.Path)
		}
	}
	x.Func.Ops = x.out
	x.Func.JoinRuns()
	x.Func.DropDead(nil)
	return x
}

// boundary states what enters an instance, or has it leave in that state.
func (x *Flow) boundary(o *ir.Op) {
	r := o.Result()
	if o.Name == op.Enter {
		t := Reduced(o.Args[0].Type)
		if given, ok := x.Carried[r.ID]; ok {
			t = given.WithDType(t.DType)
		} else if len(o.Args[0].Type.Partial) == 0 || t.Rank() == 0 { // a sum of numbers is reduced behind the last instance
			t = o.Args[0].Type.Clone()
		}
		o.Args[0] = x.Reshard(o, o.Args[0], t, x.origin.Of(o.Args[0]), "")
		r.Type = t
		x.origin.Set(r, x.origin.Of(o.Args[0]))
	} else {
		t := o.Args[0].Type
		if v := o.Args[1]; !v.Type.Equal(t) {
			x.Left[o.Args[0].ID] = v.Type.Clone()
			if len(v.Type.Partial) > 0 && t.Rank() > 0 {
				x.Left[o.Args[0].ID] = Reduced(v.Type)
			}
		}
		o.Args[1] = x.Reshard(o, o.Args[1], t, x.origin.Of(o.Args[0]), "")
		r.Type = t.Clone()
		x.origin.Set(r, x.origin.Of(o.Args[1]))
	}
	x.out = append(x.out, o)
}

// put places an operation that v needs: where the traversal is; of what all instances
// of a stack read, before them.
func (x *Flow) put(n *ir.Op, v *ir.Value) {
	switch {
	case v.In() == nil && x.run != nil:
		n.Run = nil
		x.out = slices.Insert(x.out, x.head, n)
		x.head++
		return
	case v.In() == nil:
		n.Run = nil
	case x.run != nil && x.ofAll[n.Run]:
		x.out = slices.Insert(x.out, x.head, n)
		x.head++
		return
	}
	x.out = append(x.out, n)
}

// operation states the results of o, and reshards its operands.
func (x *Flow) operation(o *ir.Op, at int) {
	if op.Of(o).Class == op.Boundary && o.Accumulates() == "" {
		x.boundary(o)
		x.note(o, at, chosen{results: []ir.Type{o.Result().Type}, from: x.origin.Of(o.Result())}, false)
		return
	}
	x.had = append(x.had[:0], o.Args...)
	for _, p := range x.Policies {
		p.Before(x, o)
	}
	c, known := x.choose(o, at, x.had)
	key := x.same.key(o, x.Phases[o])
	for i, v := range o.Args {
		o.Args[i] = x.Reshard(o, v, c.operands[i], c.from, "")
	}
	for i, r := range o.Results {
		r.Type = c.results[i]
		x.origin.Set(r, c.from)
	}
	x.note(o, at, c, known)
	x.same.note(o, key)
	x.out = append(x.out, o)
	for _, p := range x.Policies {
		p.After(x, o)
	}
}

// Required reports whether a policy required what shards the operation that makes v
// over m.
func (x *Flow) Required(v *ir.Value, m string) bool { return slices.Contains(x.required[v.ID], m) }

// Free reports whether o, which may be nil, computes from constants and positions
// alone.
func (x *Flow) Free(o *ir.Op) bool { return x.free[o] }

// Crosses reports whether o is at another place than what makes v.
func (p *Problem) Crosses(o *ir.Op, v *ir.Value) bool {
	if p.Place == nil || v.Def == nil {
		return false
	}
	from, ok := p.Place(v.Def)
	to, known := p.Place(o)
	return ok && known && from != to
}

// FreeOps are the operations of f that compute from constants and positions alone: in
// any state they cost nothing.
func FreeOps(f *ir.Func) map[*ir.Op]bool {
	free := map[*ir.Op]bool{}
	for _, o := range f.Ops {
		if len(o.Results) != 1 {
			continue
		}
		d := op.Of(o)
		ok := d.Class == op.Source
		if len(o.Args) > 0 {
			ok = d.Class == op.Elementwise || d.Class == op.Movement
			for _, a := range o.Args {
				ok = ok && a.Def != nil && free[a.Def]
			}
			// What exchanges positions cannot be made in shards from shards.
			ok = ok && !slices.ContainsFunc(d.Shard(o).Factors, func(f op.Factor) bool { return f.Kind == op.Exchange })
		}
		if ok {
			free[o] = true
		}
	}
	return free
}
