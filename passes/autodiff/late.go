package autodiff

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// A surrogate is computed as its first operand and differentiated as its second. What
// makes the second alone is late: the forward phase has no use for it, so that what the
// backward phase reads of it is computed there.

// lateOf are the operations of f that make nothing but second operands of surrogates.
func lateOf(f *ir.Func) map[*ir.Op]bool {
	late := map[*ir.Op]bool{}
	if !slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Name == op.Surrogate }) {
		return late
	}
	needed, second := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for _, r := range f.Results {
		needed[r.Value] = true
	}
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		in := func(set map[*ir.Value]bool) bool {
			return slices.ContainsFunc(o.Results, func(v *ir.Value) bool { return set[v] })
		}
		if !in(needed) && in(second) {
			late[o] = true
			for _, a := range o.Args {
				second[a] = true
			}
			continue
		}
		for k, a := range o.Args {
			if o.Name == op.Surrogate && k == 1 {
				second[a] = true
			} else {
				needed[a] = true
			}
		}
	}
	return late
}

// sinker puts late operations where they are read first, in each run that reads them,
// and first operands in the place of surrogates.
type sinker struct {
	f     *ir.Func
	late  map[*ir.Op]bool
	first map[*ir.Value]*ir.Value // by results of surrogates
	made  map[sunk]*ir.Value
	out   []*ir.Op
	run   *ir.Run // of the operation that reads
	head  int     // the place in out where that begins
}

// sunk is a late value in a run.
type sunk struct {
	v   *ir.Value
	run *ir.Run
}

func sink(f *ir.Func, late map[*ir.Op]bool) {
	if len(late) == 0 {
		return
	}
	s := &sinker{f: f, late: late, first: map[*ir.Value]*ir.Value{}, made: map[sunk]*ir.Value{}}
	for _, o := range f.Ops {
		if o.Run != s.run {
			s.run, s.head = o.Run, len(s.out)
		}
		if late[o] {
			continue
		}
		if o.Name == op.Surrogate {
			s.first[o.Result()] = s.read(o.Args[0])
			continue
		}
		for i, a := range o.Args {
			o.Args[i] = s.read(a)
		}
		s.out = append(s.out, o)
	}
	for i, r := range f.Results {
		f.Results[i].Value = s.read(r.Value)
	}
	f.Ops = s.out
	f.JoinRuns()
}

// read is v for a reader that is next.
func (s *sinker) read(v *ir.Value) *ir.Value {
	if x := s.first[v]; x != nil {
		return x
	}
	if v.Def == nil || !s.late[v.Def] {
		return v
	}
	o, run := v.Def, s.run
	if o.Run == nil {
		run = nil
	}
	if s.made[sunk{v, run}] == nil {
		s.sink(o, run)
	}
	return s.made[sunk{v, run}]
}

// sink puts a copy of o before the reader, or before the run that reads it.
func (s *sinker) sink(o *ir.Op, run *ir.Run) {
	if o.Name == op.Surrogate {
		s.made[sunk{o.Result(), run}] = s.read(o.Args[0])
		return
	}
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = s.read(a)
	}
	n := s.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, o.Slot
	n.Remat, n.Run = true, run
	for i, r := range o.Results {
		s.made[sunk{r, run}] = n.Results[i]
	}
	if run == nil && s.run != nil {
		s.out = slices.Insert(s.out, s.head, n)
		s.head++
		return
	}
	s.out = append(s.out, n)
}
