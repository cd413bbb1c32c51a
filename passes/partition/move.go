package partition

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// move brings v into the sharding of t (same tensor, local sizes) by the plan that
// sends the fewest bytes (search.go).
func (p *partitioner) move(r *reshard, v *ir.Value, t ir.Type) *ir.Value {
	v, axes := p.splitAxes(v, r)
	for i, steps := 0, r.plan.steps; i < len(steps); i++ {
		st := steps[i]
		for st.kind == op.ShardSlice && i+1 < len(steps) && steps[i+1].kind == st.kind && steps[i+1].axis == st.axis {
			i++
			st.over = slices.Concat(st.over, steps[i].over)
			st.then = steps[i].then
		}
		v = p.apply(v, st, r, axes)
		p.remark(r.op, v)
	}
	v = p.mergeAxes(v, t)
	if w := p.owe(v, t); w != nil {
		v = w
	}
	if !v.Type.Equal(t.WithDType(v.Type.DType)) {
		panic(fmt.Sprintf("partition: %s did not become %s", v.Type, t))
	}
	return v
}

// abstract is the reshard of a tensor from one type to another in the abstract, and
// the names of its mesh axes. They are in the order of the mesh.
func abstract(m *ir.Module, from, to ir.Type) ([]string, *problem) {
	b := &problem{}
	b.solid = slices.ContainsFunc(from.Partial, func(x ir.Partial) bool { return x.Reduce != "sum" })
	b.from, b.to = sharding{axes: make([][]int, from.Rank())}, sharding{axes: make([][]int, from.Rank())}
	stays := make([]int, from.Rank()) // mesh axes that an axis begins with in both
	for i, a := range from.Axes {
		stays[i] = common(a.Mesh, to.Axes[i].Mesh)
		b.sizes = append(b.sizes, a.Size/devices(m, a.Mesh[:stays[i]]))
	}
	var names []string
	for _, x := range m.Mesh {
		kind := partialOver(from, x.Name)
		reduces := kind != "" && partialOver(to, x.Name) == ""
		moves := reduces
		for i, a := range from.Axes {
			moves = moves || slices.Contains(a.Mesh[stays[i]:], x.Name) || slices.Contains(to.Axes[i].Mesh[stays[i]:], x.Name)
		}
		if !moves {
			continue
		}
		if reduces {
			b.from.partial |= 1 << len(names)
		}
		names, b.mesh, b.kinds = append(names, x.Name), append(b.mesh, x.Size), append(b.kinds, kind)
	}
	for i, a := range from.Axes {
		for _, x := range a.Mesh[stays[i]:] {
			b.from.axes[i] = append(b.from.axes[i], slices.Index(names, x))
		}
		for _, x := range to.Axes[i].Mesh[stays[i]:] {
			b.to.axes[i] = append(b.to.axes[i], slices.Index(names, x))
		}
	}
	return names, b
}

// partialOver is the reduction over mesh axis m that a value of type t needs, empty
// without one.
func partialOver(t ir.Type, m string) string {
	for _, x := range t.Partial {
		if x.Mesh == m {
			return x.Reduce
		}
	}
	return ""
}

// apply emits a step of the plan of r; these are the names of its axes.
func (p *partitioner) apply(v *ir.Value, st step, r *reshard, axes []string) *ir.Value {
	over, axis := r.named(st.over), ir.Name("")
	if len(axes) > 0 {
		axis = ir.Name(axes[st.axis])
	}
	switch st.kind {
	case op.AllReduce:
		return p.emit(st.kind, v, over, "reduce", ir.Name(partialOver(v.Type, over[0])))
	case op.ReduceScatter:
		return p.emit(st.kind, v, over, "axis", axis, "reduce", ir.Name(partialOver(v.Type, over[0])))
	case op.AllToAll:
		return p.emit(st.kind, v, over, "axis", axis, "to", ir.Name(axes[st.to]))
	case op.Permute:
		then := v.Type.Clone()
		for i, name := range axes {
			a := &then.Axes[then.Index(name)]
			a.Mesh = append(a.Mesh[:r.stays(a.Mesh)], r.named(st.then.axes[i])...)
		}
		mesh, over := op.Reordering(p.m.Mesh, v.Type, then)
		return p.emit(st.kind, v, over, "mesh", mesh)
	}
	return p.emit(st.kind, v, over, "axis", axis)
}

// remark says what was inserted, for whom and because of which rule.
func (p *partitioner) remark(why *ir.Op, v *ir.Value) {
	o := v.Def
	if o == nil || !op.Has(o, op.Exchanges) {
		return
	}
	reason := why.Attrs.Text("why")
	if reason == "" {
		reason = "its reader"
	}
	if !o.Attrs.Has("why") {
		o.Attrs = o.Attrs.With("why", ir.Str(reason))
	}
	p.c.Remarkf(o, "%s of %d bytes over %v for %%%d: %s", o.Name, o.Args[0].Type.Bytes(), o.Attrs.Names("over"), v.ID, reason)
}

func (p *partitioner) emit(name string, v *ir.Value, over []string, kv ...any) *ir.Value {
	attrs := ir.A(kv...).With("over", ir.Names(over))
	if op.Lookup(name).Takes("parts") {
		attrs = attrs.With("parts", ir.Int(devices(p.m, over)))
	}
	return p.b.Emit(name, attrs, v)
}

// owe makes a scalar that every device has into a partial sum: the first device
// of the group has it, the others zero.
func (p *partitioner) owe(v *ir.Value, t ir.Type) *ir.Value {
	var over []string
	for _, owed := range t.Partial {
		if owed.Reduce == "sum" && !slices.Contains(v.Type.Partial, owed) {
			over = append(over, owed.Mesh)
		}
	}
	if len(over) == 0 {
		return nil
	}
	w := p.b.OweByFirst(v, over)
	w.Type.Partial = append([]ir.Partial(nil), t.Partial...)
	return w
}
