package fuse

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// kernels shares kernel functions by structure.
type kernels struct {
	module *ir.Module
	byText map[string]*ir.Func
	count  map[string]int
}

// add returns the module's kernel that is the same as f, adding f if there is
// none. Names count per class in order of appearance. The class is what the
// analysis says of the whole kernel: a row or column by the order in which its
// widest argument is stored, which no single operation of it shows.
func (k *kernels) add(f *ir.Func) *ir.Func {
	f.Name = "kernel"
	given := ir.PrintFunc(f)
	if old := k.byText[given]; old != nil {
		return old // without an analysis: most kernels are of a layer like another
	}
	class := fusion.Class(f.Attrs.Text("kind"))
	if whole, err := fusion.Analyze(f); err == nil && whole.Class != class {
		class = whole.Class
		f.Attrs = f.Attrs.With("kind", ir.Name(string(class)))
	}
	text := ir.PrintFunc(f)
	if old := k.byText[text]; old != nil {
		k.byText[given] = old
		return old
	}
	f.Name = kernelName(string(class), k.count)
	k.byText[given], k.byText[text] = f, f
	k.module.Funcs = append(k.module.Funcs, f)
	return f
}

// kernelName is the next name of a kernel of the class.
func kernelName(class string, count map[string]int) string {
	count[class]++
	return fmt.Sprintf("%s_%d", class, count[class]-1)
}

// emit returns the calls, in an order that respects what they read.
func (p *program) emit(shared *kernels) []*ir.Op {
	order := p.sorted()
	bodies := p.wanted(order)
	var out []*ir.Op
	for _, g := range order {
		b := bodies[g]
		if g.class == exchange {
			out = append(out, g.root)
			continue
		}
		if len(b.outs) == 0 {
			continue
		}
		f := kernelOf(g, b)
		if p.mesh != nil && dependsOnDevice(f) {
			p.addCoordinates(f, &b)
		}
		k := shared.add(f)
		last := b.outs[len(b.outs)-1].Def
		if g.root != nil {
			last = g.root
		}
		call := &ir.Op{Name: op.Call, Args: b.ins, Callee: k, Scope: last.Scope, Pos: last.Pos}
		call.Run, call.Task = p.time.runs[g.run], g.ops[0].Task
		if g.stack == nil {
			call.Run = nil
		}
		for _, v := range b.outs {
			v.Def = call
			call.Results = append(call.Results, v)
		}
		out = append(out, call)
	}
	return out
}

// wanted walks the groups from the last to the first and gives each the
// values that results or later groups read from memory, and the body that
// computes them.
func (p *program) wanted(order []*group) map[*group]body {
	want := map[*ir.Value]bool{}
	for v := range p.result {
		want[v] = true
	}
	bodies := map[*group]body{}
	for i := len(order) - 1; i >= 0; i-- {
		g := order[i]
		if g.class == exchange {
			for _, v := range g.root.Args {
				want[v] = true
			}
			continue
		}
		var outs []*ir.Value
		for _, o := range g.ops {
			for _, v := range o.Results {
				if want[v] {
					outs = append(outs, v)
				}
			}
		}
		b := p.body(g, outs)
		for _, v := range b.ins {
			want[v] = true
		}
		bodies[g] = b
	}
	return bodies
}

// sorted orders the groups topologically; of those that may come next, the one
// whose first operation comes first in the program. A group is not put off to
// where its last operation stood: a gradient whose square the optimizer adds up
// would be computed after the whole backward pass, and all that it reads would
// have to be kept until then.
func (p *program) sorted() []*group {
	live := p.live()
	r := p.readiness(live)
	if r.circle {
		panic("fuse: groups depend on each other in a circle")
	}
	inputs := r.inputs
	behind := func(g *group) int { // of those that are ready with a run, the run is in a row, and what may need it behind
		if g.stack != nil {
			return g.run
		}
		return len(p.f.Ops)
	}
	slices.SortFunc(live, func(a, b *group) int {
		return cmp.Or(cmp.Compare(r.ready[a], r.ready[b]), cmp.Compare(behind(a), behind(b)), cmp.Compare(r.within[a], r.within[b]), cmp.Compare(a.last, b.last))
	})
	var out []*group
	done := map[*group]bool{}
	var put func(g *group)
	put = func(g *group) {
		if done[g] {
			return
		}
		done[g] = true
		for _, from := range inputs[g] {
			put(from)
		}
		out = append(out, g)
	}
	for _, g := range live {
		put(g)
	}
	return out
}

// live are the groups that have operations, by creation.
func (p *program) live() (out []*group) {
	for _, g := range p.groups {
		if len(g.ops) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// inputs lists the groups whose stored values g may read, recomputation
// included.
func (p *program) inputs(g *group) []*group {
	var all []*ir.Value
	for _, o := range g.ops {
		all = append(all, o.Results...)
	}
	var out []*group
	ins := p.body(g, all).ins
	if g.class == exchange {
		ins = p.needs(g.root)
	}
	for _, v := range ins {
		if v.Def != nil && p.of[v.Def] != nil {
			out = append(out, p.of[v.Def])
		}
	}
	return out
}

// body is the operations of a kernel, the stored values that it reads, and
// those that it writes.
type body struct {
	ops       []*ir.Op
	ins, outs []*ir.Value
}

// body collects what computes outs, each operation after its operands, in the
// order in which outs need them: the same structure gives the same order,
// wherever in the program it stands.
func (p *program) body(g *group, outs []*ir.Value) body {
	b := body{outs: outs}
	need := make(map[*ir.Op]bool, 2*len(g.ops)) // with what is free
	read := make(map[*ir.Value]bool, len(g.ops))
	var add func(o *ir.Op)
	add = func(o *ir.Op) {
		if need[o] {
			return
		}
		need[o] = true
		for _, a := range o.Args {
			switch {
			case a.Def != nil && p.within(g, a):
				add(a.Def)
			case !read[a]:
				read[a] = true
				b.ins = append(b.ins, a)
			}
		}
		b.ops = append(b.ops, o)
	}
	for _, v := range outs {
		add(v.Def)
	}
	return b
}

// within reports whether g's kernel computes v itself.
func (p *program) within(g *group, v *ir.Value) bool {
	d := v.Def
	return p.of[d] == g || p.free[d] || p.views[v] != nil || p.again[v]
}

// kernelOf builds the function of a group's body.
func kernelOf(g *group, b body) *ir.Func {
	f := &ir.Func{Class: ir.Kernel, Attrs: ir.A("kind", ir.Name(string(g.class)))}
	at := map[*ir.Value]*ir.Value{}
	for _, v := range b.ins {
		at[v] = f.AddArg(v.Type.Clone(), ir.RoleIn, "", nil, diag.Pos{})
	}
	for _, o := range b.ops {
		args := make([]*ir.Value, len(o.Args))
		for i, a := range o.Args {
			args[i] = at[a]
		}
		if g.class == fusion.Gemm && o == g.root {
			args[1] = apart(f, args[0], args[1])
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
	for _, v := range b.outs {
		f.Results = append(f.Results, ir.Result{Value: at[v], Role: ir.RoleOut})
	}
	dropDead(f)
	return f
}

// apart gives the right operand of a contraction operations of its own where
// it shares some with the left one: each operand is computed as it is packed.
func apart(f *ir.Func, left, right *ir.Value) *ir.Value {
	seen := map[*ir.Value]bool{}
	var mark func(v *ir.Value)
	mark = func(v *ir.Value) {
		if seen[v] || v.Def == nil {
			return
		}
		seen[v] = true
		for _, a := range v.Def.Args {
			mark(a)
		}
	}
	mark(left)
	again := map[*ir.Value]*ir.Value{}
	var visit func(v *ir.Value) *ir.Value
	visit = func(v *ir.Value) *ir.Value {
		if v.Def == nil {
			return v
		}
		if again[v] == nil {
			args, changed := make([]*ir.Value, len(v.Def.Args)), seen[v]
			for i, a := range v.Def.Args {
				args[i] = visit(a)
				changed = changed || args[i] != a
			}
			again[v] = v
			if changed {
				o := f.NewOp(v.Def.Name, args, v.Def.Attrs, v.Type.Clone())
				f.Ops = append(f.Ops, o)
				again[v] = o.Result()
			}
		}
		return again[v]
	}
	return visit(right)
}

func dependsOnDevice(f *ir.Func) bool {
	for _, o := range f.Ops {
		if op.DependsOnDevice(o) {
			return true
		}
	}
	return false
}

// addCoordinates gives a kernel the device's coordinates as its last argument,
// and the sizes of the mesh that they count in as an attribute.
func (p *program) addCoordinates(f *ir.Func, b *body) {
	t := ir.Type{DType: ir.I32, Axes: []ir.Axis{{Name: "mesh", Size: len(p.mesh)}}}
	if p.coord == nil {
		p.coord = p.f.AddArg(t.Clone(), ir.RoleCoord, "", nil, diag.Pos{})
	}
	f.AddArg(t, ir.RoleIn, fusion.Coordinates, nil, diag.Pos{})
	b.ins = append(b.ins, p.coord)
	var sizes ir.Sizes
	for _, a := range p.mesh {
		sizes = append(sizes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	f.Attrs = f.Attrs.With("mesh", sizes)
}
