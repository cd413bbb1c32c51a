package ir

import "slices"

// Unrolled is f with every instance of its stacks written out: a function without
// runs that computes the same, of which value numbers are in the order of the text.
func (f *Func) Unrolled() *Func {
	u := &unroller{to: &Func{Name: f.Name, Class: f.Class, Of: f.Of, Stage: f.Stage, Attrs: f.Attrs}, at: map[instance]*Value{}, number: map[*Value]int64{}}
	each(f.Args, func(a *Arg) *Stack { return a.Value.Each }, func(a *Arg, k int) {
		b := *a
		b.Value = u.define(a.Value, k, nil)
		b.Path, b.Attrs = openPath(a.Value.Each, a.Path, k), instanceAttrs(a.Attrs, a.Value.Each, k)
		if at, ok := a.At.Get(); ok {
			b.At, b.Spread = OffsetOf(at+a.Spread.Of(k)), Spread{}
		}
		if a.Role == RoleIndex {
			n := a.Attrs.Int(AttrNumber, 0) + int64(k)
			b.Attrs = b.Attrs.With(AttrNumber, Int(n))
			u.number[b.Value] = n
		}
		u.to.Args = append(u.to.Args, &b)
	})
	for i := 0; i < len(f.Ops); {
		j := i + 1
		for f.Ops[i].Run != nil && j < len(f.Ops) && f.Ops[j].Run == f.Ops[i].Run {
			j++
		}
		if run := f.Ops[i].Run; run != nil {
			u.run(run, f.Ops[i:j])
		} else {
			u.once(f.Ops[i])
		}
		i = j
	}
	each(f.Results, func(r Result) *Stack { return r.Value.In() }, func(r Result, k int) {
		r.Path = openPath(r.Value.In(), r.Path, k)
		r.Value = u.use(r.Value, k)
		u.to.Results = append(u.to.Results, r)
	})
	u.indices()
	u.to.Renumber()
	return u.to
}

// instance is a value of instance k; of what is there once, k is 0.
type instance struct {
	of *Value
	k  int
}

type unroller struct {
	to     *Func
	at     map[instance]*Value
	number map[*Value]int64 // of arguments of role index
}

// indices gives operations that stand outside of kernels the number of their
// instance as a part of their site, and drops the arguments that nobody reads then.
func (u *unroller) indices() {
	if len(u.number) == 0 {
		return
	}
	read := map[*Value]bool{}
	for _, o := range u.to.Ops {
		last := len(o.Args) - 1
		if each := o.Attrs.Int(AttrEach, 0); each != 0 {
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

// each calls do for the items of a list in turn: where several in a row are of one
// stack, for all of its first instance, then for all of its second one.
func each[T any](list []T, in func(T) *Stack, do func(x T, k int)) {
	for i := 0; i < len(list); {
		s := in(list[i])
		if s == nil {
			do(list[i], 0)
			i++
			continue
		}
		j := i
		for j < len(list) && in(list[j]) == s {
			j++
		}
		for k := range s.Count {
			for _, x := range list[i:j] {
				do(x, k)
			}
		}
		i = j
	}
}

func (u *unroller) define(v *Value, k int, by *Op) *Value {
	w := &Value{Type: v.Type.Clone(), Def: by}
	u.at[instance{v, k}] = w
	return w
}

// use is what v is for instance k.
func (u *unroller) use(v *Value, k int) *Value {
	if v.In() == nil {
		k = 0
	}
	return u.at[instance{v, k}]
}

// once writes an operation outside of runs: the operands and results of all
// instances, of what they have each.
func (u *unroller) once(o *Op) {
	p := new(Op)
	*p = *o
	p.Scope, p.Args, p.Results = OfInstance(o.Scope, 0), nil, nil // of an operation of a run, behind it
	each(o.Args, (*Value).In, func(v *Value, k int) { p.Args = append(p.Args, u.use(v, k)) })
	each(o.Results, (*Value).In, func(v *Value, k int) { p.Results = append(p.Results, u.define(v, k, p)) })
	p.At, p.Spread = o.placesOfAll(), nil
	u.to.Ops = append(u.to.Ops, p)
}

// run writes the operations of a run once for each instance.
func (u *unroller) run(run *Run, ops []*Op) {
	first, last := 0, run.Stack.Count-1 // turns
	for _, o := range ops {
		first, last = min(first, -o.Ahead), max(last, run.Stack.Count-1-o.Ahead)
	}
	numbers := run.Numbers()
	carried := map[*Value]*Value{} // by what `enter` gives: what the instance before left
	for turn := first; turn <= last; turn++ {
		left := map[*Value]*Value{}
		for _, o := range ops {
			n := turn + o.Ahead
			if n < 0 || n >= len(numbers) {
				continue
			}
			k := numbers[n]
			switch o.Name {
			case Enter:
				if x := o.Result(); n == 0 {
					u.at[instance{x, k}] = u.use(o.Args[0], k)
				} else {
					u.at[instance{x, k}] = carried[x]
				}
			case Leave:
				left[o.Args[0]] = u.use(o.Args[1], k)
				u.at[instance{o.Result(), 0}] = left[o.Args[0]]
			default:
				u.copy(o, run.Stack, k)
			}
		}
		carried = left
	}
}

// copy writes o for one instance.
func (u *unroller) copy(o *Op, s *Stack, k int) {
	p := new(Op)
	*p = *o
	p.At, p.Spread = o.placesOf(k), nil
	p.Run, p.Ahead, p.Scope, p.Attrs = nil, 0, openPath(s, o.Scope, k), instanceAttrs(o.Attrs, s, k)
	p.Args, p.Results = make([]*Value, len(o.Args)), make([]*Value, len(o.Results))
	for i, v := range o.Args {
		p.Args[i] = u.use(v, k)
	}
	for i, v := range o.Results {
		p.Results[i] = u.define(v, k, p)
	}
	u.to.Ops = append(u.to.Ops, p)
}

// placesOfAll are the places of the results of an operation outside of runs, with those
// of every instance where they have one each.
func (o *Op) placesOfAll() (at []int64) {
	if len(o.At) != len(o.Results) {
		return o.At
	}
	numbers := make([]int, len(o.At))
	for j := range numbers {
		numbers[j] = j
	}
	each(numbers, func(j int) *Stack { return o.Results[j].In() }, func(j, k int) {
		place := o.At[j]
		if j < len(o.Spread) {
			place += o.Spread[j].Of(k)
		}
		at = append(at, place)
	})
	return at
}

// placesOf are the places of the results of instance k.
func (o *Op) placesOf(k int) []int64 {
	if o.Spread == nil {
		return o.At
	}
	at := slices.Clone(o.At)
	for i, s := range o.Spread {
		at[i] += s.Of(k)
	}
	return at
}

func openPath(s *Stack, path string, k int) string {
	if s == nil {
		return path
	}
	return OfInstance(path, k)
}

// AttrEach is by how much the site of an operation of a run grows from one instance
// to the next.
const (
	AttrSite = "site"
	AttrEach = "each"
)

func instanceAttrs(as Attrs, s *Stack, k int) Attrs {
	if s == nil {
		return as
	}
	if of := as.Text(AttrCopyOf); of != "" {
		as = as.With(AttrCopyOf, Str(OfInstance(of, k)))
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
	if !slices.ContainsFunc(m.Funcs, func(f *Func) bool { return len(f.Stacks) > 0 }) {
		return m
	}
	u := *m
	u.Funcs = slices.Clone(m.Funcs)
	for i, f := range u.Funcs {
		if len(f.Stacks) > 0 {
			u.Funcs[i] = f.Unrolled()
		}
	}
	return &u
}
