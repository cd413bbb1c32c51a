package verify

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// stacks checks what is repeated: that the operations of a run are in a row, with
// `enter` at its head and `leave` at its end; that inside and outside read of each
// other only what they may; and that a path is open for what instances have each.
func (c *checker) stacks(f *ir.Func) {
	known := map[*ir.Stack]bool{nil: true}
	for _, s := range f.Stacks {
		if known[s] || f.Stack(s.Name) != s || !ir.IsIdent(s.Name) {
			c.add(codeStructure, diag.Pos{}, "@"+f.Name, fmt.Sprintf("stack %q is there twice, or cannot be named", s.Name), "", "")
		}
		if s.Count < 1 {
			c.add(codeStructure, diag.Pos{}, "@"+f.Name, fmt.Sprintf("stack `%s` has %d instances", s.Name, s.Count), "at least one", "")
		}
		known[s] = true
	}
	c.tasks(f)
	r := &runs{checker: c, f: f, known: known, closed: map[*ir.Run]bool{}}
	for _, o := range f.Ops {
		r.visit(o)
	}
	r.end()
	for i, a := range f.Args {
		where := argument(f, i)
		r.path(where, a.Value, a.Path)
		if a.Spread != (ir.Spread{}) {
			r.spread(where.String(), a.Pos, a.Value, a.Spread)
		}
	}
	for i, x := range f.Results {
		r.path(result(f, i), x.Value, x.Path)
	}
}

// runs goes through the operations of a function with the run that is open.
type runs struct {
	*checker
	f       *ir.Func
	known   map[*ir.Stack]bool
	closed  map[*ir.Run]bool
	now     *ir.Run
	head    bool               // only `enter` so far
	tail    bool               // only `leave` from here on
	entered map[*ir.Value]bool // carried values, and whether they have left
}

func (r *runs) visit(o *ir.Op) {
	bad := func(msg string) { r.add(codeStructure, o.Pos, at(r.f, o), msg, "", "") }
	if o.Run != r.now {
		r.end()
		if r.closed[o.Run] || o.Run != nil && (o.Run.Stack == nil || !r.known[o.Run.Stack]) {
			bad("the operations of its run are not in a row, or its stack is not of the function")
		}
		r.now, r.head, r.tail, r.entered = o.Run, true, false, map[*ir.Value]bool{}
	}
	for _, v := range o.Args {
		if v == nil {
			return
		}
		if in := v.In(); in != nil && (o.Run == nil && o.Name != op.Grad || o.Run != nil && in != o.Run.Stack) {
			bad(fmt.Sprintf("it reads %%%d, which every instance of `%s` has", v.ID, in.Name))
		}
	}
	posted := o.Run == nil && o.Task != nil && !o.Task.Once && o.Ahead == 1 && op.Has(o, op.Receives) && o.Start
	if o.Ahead != 0 && !posted && (o.Run == nil || o.Name == ir.Enter || o.Name == ir.Leave) {
		bad(fmt.Sprintf("it is %d iterations ahead", o.Ahead))
	}
	for _, v := range o.Args {
		if v.Def != nil && o.Run != nil && v.Def.Run == o.Run && v.Def.Ahead < o.Ahead {
			bad(fmt.Sprintf("it is further ahead than what makes %%%d", v.ID))
		}
	}
	for _, v := range o.Results {
		if v != nil && v.Each != nil && (o.Name != op.Grad || !r.known[v.Each]) {
			bad(fmt.Sprintf("%%%d is said to be one of each instance of `%s`", v.ID, v.Each.Name))
		}
	}
	if o.Spread != nil && len(o.Spread) != len(o.Results) {
		bad(fmt.Sprintf("it says how %d of its %d results lie", len(o.Spread), len(o.Results)))
		return
	}
	for j, s := range o.Spread {
		r.spread(at(r.f, o), o.Pos, o.Results[j], s)
	}
	r.ends(o, bad)
}

// spread checks how instances of v lie.
func (r *runs) spread(where string, pos diag.Pos, v *ir.Value, s ir.Spread) {
	bad := ""
	switch {
	case s == ir.Spread{}:
		return
	case r.m.Level != ir.Planned:
		bad = fmt.Sprintf("it has places at level %s", r.m.Level)
	case v == nil || v.In() == nil && (s.Step != 0 || s.Ring != 0):
		bad = "it has a place for each instance, and is there once"
	case v.In() != nil && s.Ring < 1 && s.Step != 0:
		bad = fmt.Sprintf("its instances are %d bytes apart, in a ring of %d places", s.Step, s.Ring)
	case s.Step < 0 && s.Ring != 2:
		bad = fmt.Sprintf("it goes %d bytes back in a ring of %d places", -s.Step, s.Ring)
	case s.MicroRing != 0 && !v.PerMicro():
		bad = "it has a place for each microbatch, and is there once"
	case s.MicroStep < 0 || s.MicroRing < 0 || s.MicroRing > max(1, r.f.Micro) || (s.MicroStep != 0) != (s.MicroRing > 1):
		bad = fmt.Sprintf("its microbatches are %d bytes apart, in a ring of %d places, of %d microbatches", s.MicroStep, s.MicroRing, r.f.Micro)
	}
	if bad != "" {
		r.add(codeLevel, pos, where, bad, "at level planned, of what instances or microbatches have each: a step, and at least one place; back in a ring of two instances alone", "")
	}
}

// ends checks the order of `enter` and `leave`.
func (r *runs) ends(o *ir.Op, bad func(string)) {
	switch {
	case (o.Name == ir.Enter || o.Name == ir.Leave) && r.now == nil:
		bad("there is no run to be at the end of")
	case o.Name == ir.Enter:
		if !r.head || len(o.Args) != 1 || o.Args[0].In() != nil {
			bad("it is not at the head of the run, or what enters is not from outside")
		}
		for _, v := range o.Results {
			r.entered[v] = false
		}
	case o.Name == ir.Leave:
		r.tail = true
		left, ok := false, false
		if len(o.Args) == 2 {
			left, ok = r.entered[o.Args[0]]
		}
		if !ok || left {
			bad("its first operand is not what entered the run, or has left it")
			return
		}
		r.entered[o.Args[0]] = true
	default:
		r.head = false
		if r.tail {
			bad("it is behind what leaves the run")
		}
	}
}

// end closes the run.
func (r *runs) end() {
	if r.now != nil {
		r.closed[r.now] = true
		n := 0
		for _, left := range r.entered {
			if !left {
				n++
			}
		}
		if n > 0 {
			r.add(codeStructure, diag.Pos{}, "@"+r.f.Name, fmt.Sprintf("%d values enter a run of `%s` and do not leave it", n, r.now.Stack.Name), "", "")
		}
	}
	r.now = nil
}

// path checks that the path of an argument or result is open where every instance
// has one.
func (r *runs) path(where site, v *ir.Value, path string) {
	if v == nil {
		return
	}
	in := v.In()
	if !r.known[in] {
		r.add(codeStructure, diag.Pos{}, where.String(), "its stack is not of the function", "", "")
	}
	if open := path != ir.OfInstance(path, 0); open != (in != nil || v.Micro) {
		r.add(codeRole, diag.Pos{}, where.String(), fmt.Sprintf("path %q", path), "`{i}` in it where, and only where, every instance of a stack or every microbatch has one", "")
	}
}
