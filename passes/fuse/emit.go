package fuse

import (
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

// emission ticks the groups of a function into calls.
type emission struct {
	from   *storage
	shared *kernels
	mesh   []ir.MeshAxis
	coord  *ir.Value // the argument that holds the device's coordinates, once a kernel reads it
}

// calls returns them in the order of the groups.
func (p *emission) calls(order []*group) []*ir.Op {
	bodies := p.from.wanted(order)
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
		if p.mesh != nil && slices.ContainsFunc(f.Ops, op.DependsOnDevice) {
			p.addCoordinates(f, &b)
		}
		k := p.shared.add(f)
		last := b.outs[len(b.outs)-1].Def
		if g.root != nil {
			last = g.root
		}
		call := &ir.Op{Name: op.Call, Args: b.ins, Callee: k, Scope: last.Scope, Pos: last.Pos}
		call.Run, call.Task = p.from.in.time.runs[g.run], g.ops[0].Task
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
		appendCopy(f, o, args, at)
	}
	for _, v := range b.outs {
		f.Results = append(f.Results, ir.Result{Value: at[v], Role: ir.RoleOut})
	}
	dropDead(f)
	return f
}

// appendCopy appends o on other operands to f, and notes its results there.
func appendCopy(f *ir.Func, o *ir.Op, args []*ir.Value, at map[*ir.Value]*ir.Value) {
	n := f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	for i, r := range o.Results {
		at[r] = n.Results[i]
	}
	f.Ops = append(f.Ops, n)
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

// addCoordinates gives a kernel the device's coordinates as its last argument,
// and the sizes of the mesh that they count in as an attribute.
func (p *emission) addCoordinates(f *ir.Func, b *body) {
	t := ir.Type{DType: ir.I32, Axes: []ir.Axis{{Name: "mesh", Size: len(p.mesh)}}}
	if p.coord == nil {
		p.coord = p.from.in.f.AddArg(t.Clone(), ir.RoleCoord, "", nil, diag.Pos{})
	}
	f.AddArg(t, ir.RoleIn, fusion.Coordinates, nil, diag.Pos{})
	b.ins = append(b.ins, p.coord)
	var sizes ir.Sizes
	for _, a := range p.mesh {
		sizes = append(sizes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	f.Attrs = f.Attrs.With("mesh", sizes)
}
