package verify

import (
	"errors"
	"fmt"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// operations asks the row of each operation whether it takes these operands
// and attributes, and compares the types of its results.
func (c *checker) operations(f *ir.Func) {
	for _, o := range f.Ops {
		if len(c.errs) >= maxErrors {
			return
		}
		d := op.Lookup(o.Name)
		if d == nil {
			var names []string
			for _, r := range op.All() {
				names = append(names, r.Name)
			}
			c.add(codeRow, o.Pos, at(f, o), "unknown operation `"+o.Name+"`", "", diag.DidYouMean(o.Name, names))
			continue
		}
		types := make([]ir.Type, len(o.Args))
		for i, a := range o.Args {
			types[i] = a.Type
		}
		want, err := d.Check(types, o.Attrs)
		if err == nil {
			err = d.CheckFacts(o)
		}
		if err != nil {
			c.refused(f, o, err)
			continue
		}
		if !c.meshAttrs(f, o, d) {
			continue
		}
		if d.Class == op.Control {
			c.call(f, o)
			continue
		}
		c.results(f, o, want, codeResult)
	}
}

// refused reports the error of a row.
func (c *checker) refused(f *ir.Func, o *ir.Op, err error) {
	var e *op.ShapeError
	if !errors.As(err, &e) {
		c.add(codeInfer, o.Pos, at(f, o), err.Error(), "", "")
		return
	}
	hint := ""
	if e.Axis != "" {
		hint = diag.DidYouMean(e.Axis, e.Candidates)
	}
	want := e.Want
	if want == "" && len(e.Candidates) > 0 {
		want = diag.OneOf(e.Candidates)
	}
	c.add(codeInfer, o.Pos, at(f, o), e.Msg, want, hint)
}

// results compares the printed types with the inferred ones: dtype, names and
// sizes. Shardings are states that propagation chose, which no row infers.
func (c *checker) results(f *ir.Func, o *ir.Op, want []ir.Type, code string) {
	if len(want) != len(o.Results) {
		c.add(code, o.Pos, at(f, o), fmt.Sprintf("%d results", len(o.Results)), fmt.Sprint(len(want)), "")
		return
	}
	for i, r := range o.Results {
		if !sameAxes(r.Type, want[i]) {
			c.add(code, o.Pos, at(f, o), fmt.Sprintf("%%%d has type %s", r.ID, r.Type), want[i].String(), "")
		}
	}
}

// meshAttrs checks attributes that name mesh axes: over and parts of
// collectives, mesh of sources.
func (c *checker) meshAttrs(f *ir.Func, o *ir.Op, d *op.Def) bool {
	var axes []string
	switch d.Class {
	case op.Collective:
		axes = o.Attrs.Names("over")
		if !c.shards(f, o) {
			return false
		}
	case op.Source:
		axes = append(axes, o.Attrs.Names("mesh")...)
		for _, p := range o.Attrs.Pairs("mesh") {
			axes = append(axes, p.To)
		}
	}
	devices := 1
	for _, a := range axes {
		if c.m.MeshSize(a) == 0 {
			c.unknownMesh(codeInfer, o.Pos, at(f, o), a)
			return false
		}
		devices *= c.m.MeshSize(a)
	}
	if d.Class != op.Collective {
		return true
	}
	n := int64(devices)
	if o.Attrs.Has("sources") {
		n = int64(len(o.Attrs.Ints("sources")))
	}
	if n = o.Attrs.Int("parts", n); n != int64(devices) {
		c.add(codeInfer, o.Pos, at(f, o), fmt.Sprintf("a group of %d devices", n),
			fmt.Sprintf("the %d that `over` has", devices), "")
		return false
	}
	return true
}

// shards checks the mesh axes that a permute shards over: each axis of the
// operand has as many shards as before.
func (c *checker) shards(f *ir.Func, o *ir.Op) bool {
	if !op.Reorders(o) {
		return true
	}
	n := map[string]int{}
	parts := func(axis string) int { return max(n[axis], 1) }
	for _, p := range o.Attrs.Pairs("mesh") {
		if c.m.MeshSize(p.To) == 0 {
			c.unknownMesh(codeInfer, o.Pos, at(f, o), p.To)
			return false
		}
		n[p.From] = parts(p.From) * c.m.MeshSize(p.To)
	}
	for _, a := range o.Args[0].Type.Axes {
		have := 1
		for _, m := range a.Mesh {
			have *= c.m.MeshSize(m)
		}
		if parts(a.Name) != have {
			c.add(codeInfer, o.Pos, at(f, o), fmt.Sprintf("axis `%s` in %d shards", a.Name, parts(a.Name)), fmt.Sprintf("the %d that the operand has", have), "")
			return false
		}
	}
	return true
}

// call compares operands and results with those of the function called.
func (c *checker) call(f *ir.Func, o *ir.Op) {
	callee := o.Callee
	if c.funcs[callee.Name] != callee {
		c.add(codeCall, o.Pos, at(f, o), "@"+callee.Name+" is not a function of the module", "", "")
		return
	}
	if len(o.Args) != len(callee.Args) {
		c.add(codeCall, o.Pos, at(f, o), fmt.Sprintf("%d operands", len(o.Args)), fmt.Sprintf("the %d of @%s", len(callee.Args), callee.Name), "")
		return
	}
	for i, a := range callee.Args {
		if !sameAxes(o.Args[i].Type, a.Value.Type) || o.Args[i].Type.Pad != a.Value.Type.Pad {
			c.add(codeCall, o.Pos, at(f, o), fmt.Sprintf("operand %d has type %s", i+1, o.Args[i].Type), a.Value.Type.String(), "")
		}
	}
	want := make([]ir.Type, len(callee.Results))
	for i, r := range callee.Results {
		want[i] = r.Value.Type
	}
	c.results(f, o, want, codeCall)
	for i, r := range o.Results {
		if i < len(want) && r.Type.Pad != want[i].Pad {
			c.add(codeCall, o.Pos, at(f, o), fmt.Sprintf("%%%d has type %s", r.ID, r.Type), want[i].String(), "")
		}
	}
}

// recursion reports functions that call themselves, directly or not: those
// that remain when functions all of whose callees are gone are taken away,
// again and again (Kahn, 1962).
func (c *checker) recursion() {
	waits := map[string]int{}        // calls of functions that remain
	callers := map[string][]string{} // once for each call
	var ready []string
	for _, f := range c.m.Funcs {
		for _, o := range f.Ops {
			d := op.Lookup(o.Name)
			if d == nil || d.Class != op.Control {
				continue
			}
			if g := o.Callee; g != nil && c.funcs[g.Name] == g {
				waits[f.Name]++
				callers[g.Name] = append(callers[g.Name], f.Name)
			}
		}
		if waits[f.Name] == 0 {
			ready = append(ready, f.Name)
		}
	}
	for len(ready) > 0 {
		last := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, f := range callers[last] {
			if waits[f]--; waits[f] == 0 {
				ready = append(ready, f)
			}
		}
	}
	for _, f := range c.m.Funcs {
		if waits[f.Name] > 0 {
			c.add(codeCall, diag.Pos{}, "", "function @"+f.Name+" is part of a recursion, or calls one that is", "calls without cycles", "")
		}
	}
}
