package partition

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/wide"
	"ptc/ir"
	"ptc/ir/op"
)

// Reshard is a tensor brought from one sharding into another, and how.
type Reshard struct {
	m        *ir.Module
	from, to ir.Type  // of the whole tensor
	names    []string // of the mesh axes that move, as they are before any is refined
	p        *problem
	plan     plan
	// mesh are the axes of the module that each mesh axis of the plan's problem is.
	mesh [][]string
}

// Planner plans reshards on the mesh of a module.
type Planner struct {
	m     *ir.Module
	plans map[string]plan // by what they are and what may be tried
}

// NewPlanner is a planner for m.
func NewPlanner(m *ir.Module) *Planner { return &Planner{m, map[string]plan{}} }

// Plan is the reshard of a tensor, of whole sizes, that costs the least over whole
// mesh axes. Banned kinds of collectives it leaves aside if it can.
func (x *Planner) Plan(from, to ir.Type, banned []string) *Reshard {
	r := x.reshard(from, to)
	r.p.banned = banned
	r.plan = x.best(r.p, nil)
	r.name(func(name string) []ir.MeshAxis { return []ir.MeshAxis{{Name: name, Size: x.m.MeshSize(name)}} })
	return r
}

func (x *Planner) reshard(from, to ir.Type) *Reshard {
	r := &Reshard{m: x.m, from: from, to: to}
	r.names, r.p = abstract(x.m, from, to)
	return r
}

func (x *Planner) best(p *problem, tries []refinement) plan {
	key := p.key() + fmt.Sprint(tries)
	out, ok := x.plans[key]
	if !ok {
		out = p.best(tries)
		x.plans[key] = out
	}
	return out
}

// Cost of the reshard, in bytes that a device sends.
func (r *Reshard) Cost() Cost {
	c := r.plan.of.total(r.plan.steps)
	return Cost{r.bytes(c.Sent), c.Sends, int64(len(joined(r.plan.steps))), r.bytes(c.Far)}
}

// Uses reports whether the reshard has a collective of one of these kinds.
func (r *Reshard) Uses(kinds []string) bool {
	return slices.ContainsFunc(r.plan.steps, func(st step) bool { return slices.Contains(kinds, st.kind) })
}

// bytes is a number of units of the problem, of the tensor that it is about.
func (r *Reshard) bytes(units int64) int64 {
	size := int64(r.from.Bytes())
	for i, a := range r.p.sizes { // what stays sharded is not in the problem
		size = size / int64(r.from.Axes[i].Size) * int64(a)
	}
	return wide.MulDiv(units, size, r.p.local(sharding{}))
}

// name finds the axes of the module that the mesh axes of the plan are, of which
// each one is written as several.
func (r *Reshard) name(written func(name string) []ir.MeshAxis) {
	for m, name := range r.names {
		by := []int{r.p.mesh[m]}
		if r.plan.by != nil {
			by = r.plan.by[m]
		}
		parts := written(name)
		for _, size := range by {
			var names []string
			for n := 1; n < size || len(names) == 0; parts = parts[1:] {
				names = append(names, parts[0].Name)
				n *= parts[0].Size
			}
			r.mesh = append(r.mesh, names)
		}
	}
}

// named are the module's names of mesh axes of the plan.
func (r *Reshard) named(over []int) (out []string) {
	for _, m := range over {
		out = append(out, r.mesh[m]...)
	}
	return out
}

// stays is the number of mesh axes at the beginning that the reshard is not about.
func (r *Reshard) stays(mesh []string) int {
	k := 0
	for k < len(mesh) && !slices.ContainsFunc(r.mesh, func(names []string) bool { return slices.Contains(names, mesh[k]) }) {
		k++
	}
	return k
}

// Emit brings v, a device's shard of the tensor, into the sharding of t (of the same
// tensor, local sizes).
func (r *Reshard) Emit(b *op.Builder, v *ir.Value, t ir.Type) *ir.Value {
	v, axes := r.splitAxes(b, v)
	for _, st := range joined(r.plan.steps) {
		v = r.apply(b, v, st, axes)
	}
	v = mergeAxes(b, v, t)
	if over := missing(v.Type, t); len(over) > 0 {
		// The first device of the group has the term, the others zero.
		v = b.FirstsPartial(v, over)
		v.Type.Partial = slices.Clone(t.Partial)
	}
	if !v.Type.Equal(t.WithDType(v.Type.DType)) {
		panic(fmt.Sprintf("partition: %s did not become %s", v.Type, t))
	}
	return v
}

// joined are the steps with slices of one axis, one after the other, as one.
func joined(steps []step) (out []step) {
	for _, st := range steps {
		if n := len(out) - 1; n >= 0 && st.kind == collective.ShardSlice && out[n].kind == st.kind && out[n].axis == st.axis {
			out[n].over, out[n].then = slices.Concat(out[n].over, st.over), st.then
			continue
		}
		out = append(out, st)
	}
	return out
}

// missing are the mesh axes over which t is a partial sum and v is not.
func missing(v, t ir.Type) (over []string) {
	for _, x := range t.Partial {
		if x.Reduce == "sum" && !slices.Contains(v.Partial, x) {
			over = append(over, x.Mesh)
		}
	}
	return over
}

// apply emits a step; these are the names of its axes.
func (r *Reshard) apply(b *op.Builder, v *ir.Value, st step, axes []string) *ir.Value {
	over, axis := r.named(st.over), ir.Name("")
	if len(axes) > 0 {
		axis = ir.Name(axes[st.axis])
	}
	if st.kind == collective.Permute {
		then := v.Type.Clone()
		for i, name := range axes {
			a := &then.Axes[then.Index(name)]
			a.Mesh = append(a.Mesh[:r.stays(a.Mesh)], r.named(st.then.axes[i])...)
		}
		mesh, over := op.Reordering(r.m.Mesh, v.Type, then)
		return b.Collective(r.m, st.kind, v, over, "mesh", mesh)
	}
	var kv []any
	spec := collective.Of(st.kind)
	if spec.Scatters || spec.Gathers {
		kv = append(kv, "axis", axis)
	}
	if spec.Scatters && spec.Gathers {
		kv = append(kv, "to", ir.Name(axes[st.to]))
	}
	if spec.Reduces {
		kv = append(kv, "reduce", ir.Name(partialOver(v.Type, over[0])))
	}
	return b.Collective(r.m, st.kind, v, over, kv...)
}

// splitAxes splits the axes of v as the plan says. It returns the names of the axes
// that its steps are about.
func (r *Reshard) splitAxes(b *op.Builder, v *ir.Value) (*ir.Value, []string) {
	var axes []string
	for i, a := range v.Type.Axes {
		var parts []int
		if r.plan.splits != nil {
			parts = r.plan.splits[i]
		}
		for _, m := range parts {
			here := v.Type.Axes[v.Type.Index(a.Name)].Mesh
			stays := r.stays(here)
			k := stays + len(r.named(r.plan.of.from.axes[len(axes)]))
			major := ir.Axis{Name: a.Name + "_" + strings.Join(r.mesh[m], "_"), Mesh: here[:k]}
			major.Size = r.m.Group(r.mesh[m]) / r.m.Group(here[stays:k])
			v, major.Name = b.SplitSharded(v, a.Name, major, here[k:])
			axes = append(axes, major.Name)
		}
		axes = append(axes, a.Name)
	}
	return v, axes
}

// mergeAxes puts the axes of t together again, the one split last first, so that
// each merge undoes a split.
func mergeAxes(b *op.Builder, v *ir.Value, t ir.Type) *ir.Value {
	for i := len(t.Axes) - 1; i >= 0; i-- {
		name := t.Axes[i].Name
		for at := v.Type.Index(name); at > 0 && (i == 0 || v.Type.Axes[at-1].Name != t.Axes[i-1].Name); at-- {
			major := v.Type.Axes[at-1]
			v = b.MergeSharded(v, major.Name, name, slices.Concat(major.Mesh, v.Type.Axes[at].Mesh))
		}
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
		b.sizes = append(b.sizes, a.Size/m.Group(a.Mesh[:stays[i]]))
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
