package partition

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// maxParts is how many parts of one mesh axis there may be.
const maxParts = 4

// reshard is a reshard of the module and how it is done.
type reshard struct {
	op    *ir.Op
	names []string // of the mesh axes that move, as they are before any is refined
	p     *problem
	plan  plan
	// mesh are the axes of the module that each mesh axis of the plan's problem is.
	mesh [][]string
}

// bytes is a number of units of the problem, of the tensor that it is about.
func (r *reshard) bytes(units int64) int64 {
	size := int64(r.op.Args[0].Type.Bytes())
	for i, a := range r.p.sizes { // what stays sharded is not in the problem
		size = size / int64(r.op.Args[0].Type.Axes[i].Size) * int64(a)
	}
	return units * size / r.p.local(sharding{})
}

// named are the module's names of mesh axes of the plan.
func (r *reshard) named(over []int) (out []string) {
	for _, m := range over {
		out = append(out, r.mesh[m]...)
	}
	return out
}

// stays is the number of mesh axes at the beginning that the reshard is not about.
func (r *reshard) stays(mesh []string) int {
	k := 0
	for k < len(mesh) && !slices.ContainsFunc(r.mesh, func(names []string) bool { return slices.Contains(names, mesh[k]) }) {
		k++
	}
	return k
}

// planner plans all reshards of a module before any is done, since the mesh is one:
// where a plan writes a mesh axis as several, all functions name the parts.
type planner struct {
	c        *pass.Context
	m        *ir.Module
	reshards []*reshard
	plans    map[string]plan          // of reshards, by what they are and what may be tried
	single   map[string]bool          // mesh axes that are not refined
	by       map[string][]int         // those that are: the sizes of their parts
	because  map[string]*reshard      // and the first reshard for which each is
	parts    map[string][]ir.MeshAxis // what each mesh axis is written as
}

// planReshards plans the reshards of m, and refines its mesh for those that send
// less then. The plans are by operation.
func planReshards(c *pass.Context, m *ir.Module, rules []*layout.Forbid) map[*ir.Op]*reshard {
	x := &planner{c: c, m: m, plans: map[string]plan{}, single: map[string]bool{}, by: map[string][]int{},
		because: map[string]*reshard{}, parts: map[string][]ir.MeshAxis{}}
	x.keepSingle()
	for _, f := range m.Funcs {
		params := origins(f)
		for _, o := range f.Ops {
			if op.Of(o).Class != op.Placement {
				continue
			}
			r := &reshard{op: o}
			r.names, r.p = abstract(m, o.Args[0].Type, o.Result().Type)
			r.p.banned = banned(rules, params[o.Result()])
			x.reshards = append(x.reshards, r)
		}
	}
	for x.plan(); x.refine(); x.plan() {
	}
	x.write()
	out := make(map[*ir.Op]*reshard, len(x.reshards))
	for _, r := range x.reshards {
		x.name(r)
		out[r.op] = r
	}
	return out
}

// keepSingle finds the mesh axes that have to stay one: that of a pipeline, along
// which messages go, and those on which each device has one position of an axis
// that is taken in another order.
func (x *planner) keepSingle() {
	for _, r := range layout.All[*layout.Pipeline](layout.Of(x.m)) {
		x.single[r.Over] = true
	}
	for _, f := range x.m.Funcs {
		for _, o := range f.Ops {
			if axis, _ := op.Taken(o); axis != "" {
				t := o.Args[0].Type
				for _, m := range t.Axes[t.Index(axis)].Mesh {
					x.single[m] = true
				}
			}
		}
	}
}

// plan plans each reshard over what the mesh axes may be written as, given how some
// are already.
func (x *planner) plan() {
	for _, r := range x.reshards {
		tries := r.p.tries(func(m int, parts []int) bool {
			name := r.names[m]
			return !x.single[name] && len(x.m.Mesh) < ir.MaxRank/maxParts && x.both(name, parts) != nil
		})
		// Of those that send the same, the first one is taken.
		there, more := []refinement{}, []refinement{}
		for _, by := range tries {
			if x.has(r, by) {
				there = append(there, by)
			} else {
				more = append(more, by)
			}
		}
		r.plan = x.best(r.p, append(there, more...))
	}
}

func (x *planner) best(p *problem, tries []refinement) plan {
	key := p.key() + fmt.Sprint(tries)
	out, ok := x.plans[key]
	if !ok {
		out = p.best(tries)
		x.plans[key] = out
	}
	return out
}

// whole is the plan of r over whole mesh axes.
func (x *planner) whole(r *reshard) plan { return x.best(r.p, nil) }

// both are parts of a mesh axis that are whole parts of these, and of what it is
// written as already; nil where there are none, or too many.
func (x *planner) both(name string, parts []int) []int {
	var ends []int
	for _, list := range [][]int{x.by[name], parts} {
		n := 1
		for _, size := range list {
			n *= size
			ends = append(ends, n)
		}
	}
	slices.Sort(ends)
	var out []int
	at := 1
	for _, n := range slices.Compact(ends) {
		if n%at != 0 {
			return nil
		}
		out = append(out, n/at)
		at = n
	}
	if len(out) > maxParts {
		return nil
	}
	return out
}

// has reports whether the mesh axes of r are written so already, or in parts of it.
func (x *planner) has(r *reshard, by refinement) bool {
	for m, parts := range by {
		if len(parts) > 1 && !slices.Equal(x.both(r.names[m], parts), x.by[r.names[m]]) {
			return false
		}
	}
	return true
}

// refine decides on the parts of mesh axes by which reshards together save the most
// bytes, the first ones of several; it reports whether there are any. The others
// are then planned again, over parts that fit these.
func (x *planner) refine() bool {
	saved := map[string]int64{}
	first := map[string]*reshard{}
	var order []string
	for _, r := range x.reshards {
		if x.has(r, r.plan.by) {
			continue
		}
		key := fmt.Sprint(r.names, r.plan.by)
		if first[key] == nil {
			first[key] = r
			order = append(order, key)
		}
		saved[key] += r.bytes(x.whole(r).sent() - r.plan.sent())
	}
	if len(order) == 0 {
		return false
	}
	best := order[0]
	for _, key := range order {
		if saved[key] > saved[best] {
			best = key
		}
	}
	r := first[best]
	for m, parts := range r.plan.by {
		if len(parts) > 1 {
			x.by[r.names[m]] = x.both(r.names[m], parts)
			if x.because[r.names[m]] == nil {
				x.because[r.names[m]] = r
			}
		}
	}
	return true
}

// write names the parts: x_1, x_2 of x.
func (x *planner) write() {
	for _, a := range slices.Clone(x.m.Mesh) {
		r := x.because[a.Name]
		if r == nil {
			x.parts[a.Name] = []ir.MeshAxis{a}
			continue
		}
		var by []ir.MeshAxis
		var text []string
		for i, n := range x.by[a.Name] {
			name := fmt.Sprintf("%s_%d", a.Name, i+1)
			for x.m.MeshSize(name) > 0 {
				name += "_"
			}
			by, text = append(by, ir.MeshAxis{Name: name, Size: n}), append(text, fmt.Sprintf("%s = %d", name, n))
		}
		x.c.Remarkf(r.op, "mesh axis %s = %d is %s, so that the reshard of %s to %s sends %d bytes rather than %d", a.Name, a.Size,
			strings.Join(text, " times "), r.op.Args[0].Type, r.op.Result().Type, r.bytes(r.plan.sent()), r.bytes(x.whole(r).sent()))
		x.parts[a.Name] = by
	}
	for _, a := range slices.Clone(x.m.Mesh) {
		if x.because[a.Name] != nil {
			op.RefineMesh(x.m, a.Name, x.parts[a.Name])
		}
	}
}

// name finds the axes of the module that the mesh axes of r's plan are.
func (x *planner) name(r *reshard) {
	for m, name := range r.names {
		by := []int{r.p.mesh[m]}
		if r.plan.by != nil {
			by = r.plan.by[m]
		}
		parts := x.parts[name]
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
