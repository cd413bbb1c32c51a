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
	r := &runs{checker: c, f: f, known: known, closed: map[*ir.Run]bool{}}
	for _, o := range f.Ops {
		r.visit(o)
	}
	r.end()
	for i, a := range f.Args {
		r.path(fmt.Sprintf("argument %d of @%s", i+1, f.Name), a.Value, a.Path)
	}
	for i, x := range f.Results {
		r.path(fmt.Sprintf("result %d of @%s", i+1, f.Name), x.Value, x.Path)
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
		if in := v.In(); in != nil && (o.Run == nil && !ofAll(o) || o.Run != nil && in != o.Run.Stack) {
			bad(fmt.Sprintf("it reads %%%d, which every instance of `%s` has", v.ID, in.Name))
		}
	}
	if o.Ahead != 0 && (o.Run == nil || o.Name == ir.Enter || o.Name == ir.Leave) {
		bad(fmt.Sprintf("it is %d turns ahead", o.Ahead))
	}
	for _, v := range o.Args {
		if v.Def != nil && o.Run != nil && v.Def.Run == o.Run && v.Def.Ahead < o.Ahead {
			bad(fmt.Sprintf("it is further ahead than what makes %%%d", v.ID))
		}
	}
	for i, v := range o.Results {
		if v == nil {
			continue
		}
		moves := o.Run == nil && (op.Has(o, op.Exchanges) || op.Has(o, op.Completes)) && i < len(o.Args)
		if v.Each != nil && (o.Run != nil || !ofAll(o) || !r.known[v.Each]) || moves && v.In() != o.Args[i].In() {
			bad(fmt.Sprintf("%%%d is one of each instance, or is not, other than it is said to be", v.ID))
		}
	}
	r.ends(o, bad)
}

// ofAll reports whether o may read, outside of runs, what every instance of a stack has,
// and make such: it takes any number of operands, of which each instance's is one.
func ofAll(o *ir.Op) bool {
	return o.Name == op.Grad || op.Has(o, op.Completes) || op.Has(o, op.Exchanges) && op.Of(o).MaxArgs < 0
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
func (r *runs) path(where string, v *ir.Value, path string) {
	if v == nil {
		return
	}
	in := v.In()
	if !r.known[in] {
		r.add(codeStructure, diag.Pos{}, where, "its stack is not of the function", "", "")
	}
	if open := path != ir.OfInstance(path, 0); open != (in != nil) {
		r.add(codeRole, diag.Pos{}, where, fmt.Sprintf("path %q", path), "`{i}` in it where, and only where, every instance of a stack has one", "")
	}
}
