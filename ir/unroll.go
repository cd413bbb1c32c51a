package ir

import "slices"

// Unrolled is f with every instance of its stacks and every microbatch written out: a
// function without runs and tasks that computes the same, of which value numbers are
// in the order of the text.
func (f *Func) Unrolled() *Func {
	u := &unroller{micros: max(1, f.Micro), to: &Func{Name: f.Name, Class: f.Class, Of: f.Of, Stage: f.Stage, Attrs: f.Attrs},
		at: map[instance]*Value{}, tick: map[instance]*Value{}, left: map[entry]*Value{}, number: map[*Value]int64{}}
	each(u, f.Args, func(a *Arg) many { return manyOf(a.Value) }, func(a *Arg, k int) {
		b := *a
		b.Value = u.defineAt(u.instance(a.Value, k), nil)
		if b.Value.Type = a.Value.Type.Clone(); a.Value.Each != nil || a.Value.Micro {
			b.Path, b.Attrs = OfInstance(a.Path, k), u.attrs(a.Attrs, a.Value.Each, k)
		}
		if at, ok := a.At.Get(); ok {
			b.At, b.Spread = OffsetOf(at+a.placeOf(k)), Spread{}
		}
		if a.Role == RoleIndex {
			n := a.Attrs.Int(AttrNumber, 0) + int64(k)
			b.Attrs = b.Attrs.With(AttrNumber, Int(n))
			u.number[b.Value] = n
		}
		u.to.Args = append(u.to.Args, &b)
	})
	for x := range f.Rolled().Issues() {
		u.micro = max(x.Micro, 0)
		switch o := f.Ops[x.Op]; {
		case o.Run != nil:
			u.run(o, x.Instance)
		case o.PerMicro():
			u.copy(o, nil, 0)
		default:
			u.once(o)
		}
	}
	u.micro = 0
	each(u, f.Results, func(r Result) many { return manyOf(r.Value) }, func(r Result, k int) {
		if r.Value.In() != nil {
			r.Path = OfInstance(r.Path, k)
		}
		r.Value = u.use(r.Value, k)
		u.to.Results = append(u.to.Results, r)
	})
	u.indices()
	u.to.Renumber()
	return u.to
}

// instance is a value of instance k for a microbatch; of what is there once, these are 0.
type instance struct {
	of       *Value
	k, micro int
}

// entry is what enters as the n-th in a run, by what `enter` gives.
type entry struct {
	of *Value
	n  int
}

type unroller struct {
	to     *Func
	micros int
	micro  int // that is written
	at     map[instance]*Value
	tick   map[instance]*Value // by what `enter_tick` gives, and of sums so far
	left   map[entry]*Value
	number map[*Value]int64 // of arguments of role index
}

// many is what there are many of: instances of a stack, or microbatches.
type many struct {
	stack *Stack
	micro bool
}

func manyOf(v *Value) many { return many{v.In(), v.Micro} }

// count is how many there are; 0 of what is there once.
func (u *unroller) count(m many) int {
	switch {
	case m.stack != nil:
		return m.stack.Count
	case m.micro:
		return u.micros
	}
	return 0
}

// instance is number k of the instances of an argument or a result.
func (u *unroller) instance(v *Value, k int) instance {
	if v.Micro {
		return instance{v, 0, k}
	}
	return instance{v, k, 0}
}

// indices gives operations that stand outside of kernels the number of their
// instance as a part of their site and of where their window is, and drops the
// arguments that nobody reads then.
func (u *unroller) indices() {
	if len(u.number) == 0 {
		return
	}
	read := map[*Value]bool{}
	for _, o := range u.to.Ops {
		if o.Attrs.Has(AttrMoves) {
			last := len(o.Args) - 1
			if n, ok := u.number[o.Args[last]]; ok {
				o.Args, o.Attrs = o.Args[:last], moved(o, n)
			}
		}
		last := len(o.Args) - 1
		if each := o.Attrs.Int(AttrEach, 0); each != 0 && last >= 0 {
			if n, ok := u.number[o.Args[last]]; ok {
				o.Args = o.Args[:last]
				o.Attrs = o.Attrs.With(AttrEach, nil).With(AttrSite, Int(o.Attrs.Int(AttrSite, 0)+each*n))
			}
		}
		for _, a := range o.Args {
			read[a] = true
		}
	}
	u.to.Args = slices.DeleteFunc(u.to.Args, func(a *Arg) bool { return a.Role == RoleIndex && !read[a.Value] })
}

// moved are the attributes of a window that is n further on.
func moved(o *Op, n int64) Attrs {
	first := slices.Clone(o.Attrs.Ints(AttrFirst))
	moves := o.Attrs.Text(AttrMoves)
	for _, r := range o.Attrs.Sizes(AttrRuns) {
		if r.Name == moves {
			n *= int64(r.N)
		}
	}
	if i := o.Results[0].Type.Index(moves); i >= 0 && i < len(first) {
		first[i] += n
	}
	return o.Attrs.With(AttrMoves, nil).With(AttrFirst, Ints(first))
}

// each calls do for the items of a list in turn: where several in a row are of the same
// many, for all of its first instance, then for all of its second one. What is there once
// has number 0.
func each[T any](u *unroller, list []T, of func(T) many, do func(x T, k int)) {
	for i := 0; i < len(list); {
		m := of(list[i])
		if m == (many{}) {
			do(list[i], 0)
			i++
			continue
		}
		j := i
		for j < len(list) && of(list[j]) == m {
			j++
		}
		for k := range u.count(m) {
			for _, x := range list[i:j] {
				do(x, k)
			}
		}
		i = j
	}
}

func (u *unroller) defineAt(at instance, by *Op) *Value {
	w := &Value{Type: at.of.Type, Def: by} // which nobody changes in an unrolled function
	u.at[at] = w
	return w
}

// of is v of instance k, for the present microbatch.
func (u *unroller) of(v *Value, k int) instance {
	x := instance{v, k, u.micro}
	if v.In() == nil {
		x.k = 0
	}
	if !v.PerMicro() {
		x.micro = 0
	}
	return x
}

func (u *unroller) define(v *Value, k int, by *Op) *Value { return u.defineAt(u.of(v, k), by) }

// use is what v is for instance k.
func (u *unroller) use(v *Value, k int) *Value { return u.at[u.of(v, k)] }

// once writes an operation outside of runs: the operands and results of all
// instances, of what they have each.
func (u *unroller) once(o *Op) {
	p := new(Op)
	*p = *o
	p.Scope, p.Args, p.Results = OfInstance(o.Scope, 0), nil, nil // of an operation of a run, behind it
	p.Task = nil
	each(u, o.Args, manyOf, func(v *Value, k int) { p.Args = append(p.Args, u.use(v, k)) })
	each(u, o.Results, manyOf, func(v *Value, k int) { p.Results = append(p.Results, u.define(v, k, p)) })
	p.Spread = nil
	u.to.Ops = append(u.to.Ops, p)
}

// run writes o, which is of a run, for instance k.
func (u *unroller) run(o *Op, k int) {
	n := o.Run.Way().Number(k)
	switch o.Name {
	case Enter:
		x := u.of(o.Result(), k)
		if u.at[x] = u.left[entry{o.Result(), n}]; n == 0 {
			u.at[x] = u.use(o.Args[0], k)
		}
	case Leave:
		y := u.use(o.Args[1], k)
		u.left[entry{o.Args[0], n + 1}], u.at[u.of(o.Result(), k)] = y, y
	default:
		before := len(u.to.Ops)
		if u.copy(o, o.Run.Stack, k); o.Wait == WaitFirst && len(u.to.Ops) > before {
			u.to.Ops[before].Wait = Waits(n == 0)
		}
	}
}

// copy writes o for one instance and the present microbatch.
func (u *unroller) copy(o *Op, s *Stack, k int) {
	by := o.Accumulates()
	switch o.Name {
	case EnterTick:
		x := u.of(o.Result(), k)
		before := x
		before.micro = 0
		u.at[x] = u.tick[before] // nil in the first tick
		return
	case LeaveTick:
		left := u.use(o.Args[1], k)
		x := u.of(o.Args[0], k)
		x.micro = 0
		u.tick[x], u.at[u.of(o.Result(), k)] = left, left
		return
	case Accumulate, AccumulateMax:
		x := u.of(o.Result(), k)
		if u.tick[x] == nil {
			u.tick[x] = u.use(o.Args[0], k)
			u.at[x] = u.tick[x]
			return
		}
	}
	p := new(Op)
	*p = *o
	p.At, p.Spread = o.placesOf(k, u.micro), nil
	p.Run, p.Ahead, p.Task, p.Micro = nil, 0, nil, false
	p.Scope, p.Attrs = openPath(s, o.Scope, k), u.attrs(o.Attrs, s, k)
	p.Args, p.Results = make([]*Value, len(o.Args)), make([]*Value, len(o.Results))
	for i, v := range o.Args {
		p.Args[i] = u.use(v, k)
	}
	if slices.Contains(p.Args, nil) && by == "" {
		p.Args = slices.DeleteFunc(p.Args, func(v *Value) bool { return v == nil })
		if o.Callee == nil { // what is added to nothing
			u.at[u.of(o.Results[0], k)] = p.Args[0]
			return
		}
		p.Callee = o.First
	}
	p.First = nil
	if by != "" {
		x := u.of(o.Result(), k)
		p.Name, p.Args = by, append([]*Value{u.tick[x]}, p.Args...)
		defer func() { u.tick[x] = p.Results[0] }()
	}
	for i, v := range o.Results {
		p.Results[i] = u.define(v, k, p)
	}
	u.to.Ops = append(u.to.Ops, p)
}

// placesOf are the places of the results of instance k for a microbatch.
func (o *Op) placesOf(k, micro int) []int64 {
	if o.Spread == nil {
		return o.At
	}
	at := slices.Clone(o.At)
	for i, s := range o.Spread {
		at[i] += s.Of(k, micro)
	}
	return at
}

// placeOf is the distance of number k of an argument, of the instances of a stack or of
// the microbatches.
func (a *Arg) placeOf(k int) int64 {
	if a.Value.Micro {
		return a.Spread.Of(0, k)
	}
	return a.Spread.Of(k, 0)
}

func openPath(s *Stack, path string, k int) string {
	if s == nil {
		return path
	}
	return OfInstance(path, k)
}

// Attributes of what differs from instance to instance, or from microbatch to
// microbatch: AttrEach is by how much the site of random numbers grows from one
// instance to the next, or the tag of a message from one microbatch to the next;
// AttrMoves the axis on which AttrFirst, where a window begins, grows by AttrRuns, the length of
// the runs of a microbatch's positions.
const (
	AttrSite  = "site"
	AttrEach  = "each"
	AttrFirst = "first"
	AttrMoves = "moves"
	AttrRuns  = "runs"
	AttrTag   = "tag"
)

// attrs are those of instance k and the present microbatch.
func (u *unroller) attrs(as Attrs, s *Stack, k int) Attrs {
	if s != nil {
		if of := as.Text(AttrCopyOf); of != "" {
			as = as.With(AttrCopyOf, Str(OfInstance(of, k)))
		}
	}
	if each := as.Int(AttrEach, 0); each != 0 && as.Has(AttrTag) {
		as = as.With(AttrEach, nil).With(AttrTag, Int(as.Int(AttrTag, 0)+each*int64(u.micro)))
	}
	return as
}

// Renumber gives values numbers in the order of the text.
func (f *Func) Renumber() {
	f.nextID = 0
	set := func(v *Value) { v.ID = f.nextID; f.nextID++ }
	for _, a := range f.Args {
		set(a.Value)
	}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			set(r)
		}
	}
}

// Unrolled is m with all functions unrolled; m itself where nothing is repeated.
func (m *Module) Unrolled() *Module {
	if !slices.ContainsFunc(m.Funcs, func(f *Func) bool { return f.repeats() }) {
		return m
	}
	u := *m
	u.Funcs = slices.Clone(m.Funcs)
	for i, f := range u.Funcs {
		if f.repeats() {
			u.Funcs[i] = f.Unrolled()
		}
	}
	return &u
}

// repeats reports whether something of f runs more than once.
func (f *Func) repeats() bool { return len(f.Stacks) > 0 || f.Micro > 0 }
