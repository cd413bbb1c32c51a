package fuse

import (
	"fmt"
	"sort"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
)

// kernels shares kernel functions by structure.
type kernels struct {
	module *ir.Module
	byText map[string]*ir.Func
	count  map[string]int
}

// add returns the module's kernel that is the same as f, adding f if there is
// none. Names count per class in order of appearance.
func (k *kernels) add(f *ir.Func, class fusion.Class) *ir.Func {
	f.Name = "kernel"
	renumber(f)
	text := ir.PrintFunc(f)
	if old := k.byText[text]; old != nil {
		return old
	}
	f.Name = fmt.Sprintf("%s_%d", class, k.count[string(class)])
	k.count[string(class)]++
	k.byText[text] = f
	k.module.Funcs = append(k.module.Funcs, f)
	return f
}

// emit returns the calls, in an order that respects what they read.
func (p *program) emit(shared *kernels) []*ir.Op {
	var out []*ir.Op
	for _, g := range p.sorted() {
		f, ins, outs := p.kernel(g)
		if len(outs) == 0 {
			continue
		}
		k := shared.add(f, g.class)
		last := g.ops[len(g.ops)-1]
		if g.root != nil {
			last = g.root
		}
		call := &ir.Op{Name: "call", Args: ins, Attrs: ir.A("fn", ir.Sym(k.Name)), Scope: last.Scope, Pos: last.Pos}
		for _, v := range outs {
			v.Def = call
			call.Results = append(call.Results, v)
		}
		out = append(out, call)
	}
	return out
}

// sorted orders the groups topologically, by last operation among those that
// are ready.
func (p *program) sorted() []*group {
	var live []*group
	for _, g := range p.groups {
		if len(g.ops) > 0 {
			live = append(live, g)
		}
	}
	sort.Slice(live, func(i, j int) bool { return live[i].hi < live[j].hi })
	var out []*group
	state := map[*group]int{}
	var visit func(g *group)
	visit = func(g *group) {
		switch state[g] {
		case 1:
			panic("fuse: groups depend on each other in a circle")
		case 2:
			return
		}
		state[g] = 1
		for _, from := range p.inputs(g) {
			visit(from)
		}
		state[g] = 2
		out = append(out, g)
	}
	for _, g := range live {
		visit(g)
	}
	return out
}

// inputs lists the groups whose stored values g reads, recomputation included.
func (p *program) inputs(g *group) []*group {
	b := p.body(g)
	var out []*group
	for _, v := range b.ins {
		if v.Def != nil {
			out = append(out, p.of[v.Def])
		}
	}
	return out
}

// body is the operations of a kernel, in program order, and the stored values
// that it reads, in order of first use.
type body struct {
	ops []*ir.Op
	ins []*ir.Value
}

func (p *program) body(g *group) body {
	need := map[*ir.Op]bool{}
	var add func(o *ir.Op)
	value := func(v *ir.Value) {
		if v.Def != nil && p.within(g, v) {
			add(v.Def)
		}
	}
	add = func(o *ir.Op) {
		if need[o] {
			return
		}
		need[o] = true
		for _, a := range o.Args {
			value(a)
		}
	}
	for _, o := range g.ops {
		add(o)
	}
	var b body
	for o := range need {
		b.ops = append(b.ops, o)
	}
	sort.Slice(b.ops, func(i, j int) bool { return p.index[b.ops[i]] < p.index[b.ops[j]] })
	seen := map[*ir.Value]bool{}
	for _, o := range b.ops {
		for _, a := range o.Args {
			if !seen[a] && !(a.Def != nil && need[a.Def]) {
				seen[a] = true
				b.ins = append(b.ins, a)
			}
		}
	}
	return b
}

// within reports whether g's kernel computes v itself.
func (p *program) within(g *group, v *ir.Value) bool {
	d := v.Def
	return p.of[d] == g || p.free[d] || p.views[v] != nil || p.again[v]
}

// kernel builds g's function, and lists the stored values it reads and writes.
func (p *program) kernel(g *group) (*ir.Func, []*ir.Value, []*ir.Value) {
	b := p.body(g)
	f := &ir.Func{Attrs: ir.A("class", ir.Name("kernel"), "kind", ir.Name(string(g.class)))}
	at := map[*ir.Value]*ir.Value{}
	for _, v := range b.ins {
		at[v] = f.AddArg(v.Type.Clone(), ir.RoleIn, "", nil, diag.Pos{})
	}
	for _, o := range b.ops {
		args := make([]*ir.Value, len(o.Args))
		for i, a := range o.Args {
			args[i] = at[a]
		}
		var types []ir.Type
		for _, r := range o.Results {
			types = append(types, r.Type.Clone())
		}
		n := f.NewOp(o.Name, args, o.Attrs, types...)
		for i, r := range o.Results {
			at[r] = n.Results[i]
		}
		f.Ops = append(f.Ops, n)
	}
	var outs []*ir.Value
	for _, o := range g.ops {
		for _, v := range o.Results {
			if p.result[v] || !p.again[v] && p.readOutside(v, g) {
				outs = append(outs, v)
				f.Results = append(f.Results, ir.Result{Value: at[v], Role: ir.RoleOut})
			}
		}
	}
	return prune(f, b.ins, outs)
}

// prune drops operations and arguments of the kernel that no result needs
// (their values were read by kernels that compute them again).
func prune(f *ir.Func, ins, outs []*ir.Value) (*ir.Func, []*ir.Value, []*ir.Value) {
	need := map[*ir.Value]bool{}
	for _, r := range f.Results {
		need[r.Value] = true
	}
	var ops []*ir.Op
	for i := len(f.Ops) - 1; i >= 0; i-- {
		o := f.Ops[i]
		used := false
		for _, r := range o.Results {
			used = used || need[r]
		}
		if !used {
			continue
		}
		for _, a := range o.Args {
			need[a] = true
		}
		ops = append(ops, o)
	}
	for i, j := 0, len(ops)-1; i < j; i, j = i+1, j-1 {
		ops[i], ops[j] = ops[j], ops[i]
	}
	f.Ops = ops
	var args []*ir.Arg
	var kept []*ir.Value
	for i, a := range f.Args {
		if need[a.Value] {
			args = append(args, a)
			kept = append(kept, ins[i])
		}
	}
	f.Args = args
	return f, kept, outs
}

// renumber gives values their numbers in order of appearance, so that equal
// kernels print alike.
func renumber(f *ir.Func) {
	n := 0
	next := func(v *ir.Value) { v.ID = n; n++ }
	for _, a := range f.Args {
		next(a.Value)
	}
	for _, o := range f.Ops {
		for _, r := range o.Results {
			next(r)
		}
	}
}
