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

// planner plans all reshards of a module before any is done, since the mesh is one:
// where a plan writes a mesh axis as several, all functions name the parts.
type planner struct {
	*Planner
	c        *pass.Context
	reshards []*Reshard
	of       map[*Reshard]*ir.Op
	single   map[string]bool          // mesh axes that are not refined
	by       map[string][]int         // those that are: the sizes of their parts
	because  map[string]*Reshard      // and the first reshard for which each is
	parts    map[string][]ir.MeshAxis // what each mesh axis is written as
}

// planReshards plans the reshards of m, and refines its mesh for those that send
// less then. The plans are by operation.
func planReshards(c *pass.Context, m *ir.Module, rules []*layout.Forbid) map[*ir.Op]*Reshard {
	x := &planner{Planner: NewPlanner(m), c: c, single: map[string]bool{}, by: map[string][]int{},
		because: map[string]*Reshard{}, of: map[*Reshard]*ir.Op{}, parts: map[string][]ir.MeshAxis{}}
	x.keepSingle()
	for _, f := range m.Funcs {
		params := origins(f)
		for _, o := range f.Ops {
			if op.Of(o).Class != op.Placement {
				continue
			}
			r := x.reshard(o.Args[0].Type, o.Result().Type)
			r.p.banned = banned(rules, params[o.Result()])
			x.reshards, x.of[r] = append(x.reshards, r), o
		}
	}
	most := maxParts * len(x.m.Mesh) // each refinement writes a mesh axis in more parts
	for x.plan(); x.refine(); x.plan() {
		if most--; most < 0 {
			panic("partition: mesh axes are refined for ever")
		}
	}
	x.write()
	out := make(map[*ir.Op]*Reshard, len(x.reshards))
	for _, r := range x.reshards {
		r.name(func(name string) []ir.MeshAxis { return x.parts[name] })
		out[x.of[r]] = r
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

// whole is the plan of r over whole mesh axes.
func (x *planner) whole(r *Reshard) plan { return x.best(r.p, nil) }

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
func (x *planner) has(r *Reshard, by refinement) bool {
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
	first := map[string]*Reshard{}
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
		x.c.Remarkf(x.of[r], "mesh axis %s = %d is split into %s, so that the reshard of %s to %s sends %d bytes instead of %d", a.Name, a.Size,
			strings.Join(text, " and "), r.from, r.to, r.bytes(r.plan.sent()), r.bytes(x.whole(r).sent()))
		x.parts[a.Name] = by
	}
	for _, a := range slices.Clone(x.m.Mesh) {
		if x.because[a.Name] != nil {
			op.RefineMesh(x.m, a.Name, x.parts[a.Name])
		}
	}
}
