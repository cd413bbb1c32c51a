package directive

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Mesh is `mesh dp = 2, tp = 4`.
type Mesh struct {
	line
	Axes []*syntax.Entry `parser:"'mesh' @@ ( ',' @@ )*"`
}

var _ = define(Form{Word: "mesh", Node: &Mesh{}})

// List has the axes with their sizes.
func (d *Mesh) List() []*syntax.Entry { return d.Axes }

// read declares axes of devices. Those of all directives are read before the rules.
func (d *Mesh) read(r *reading) {
	for _, e := range d.Axes {
		c, ok := r.f.Number(e.Value)
		if !ok {
			r.unsized[e.Key.Name] = true
			continue
		}
		n, ok := c.Int()
		switch {
		case !ok || n < 1 || n > source.MaxDevices || r.mod.Devices()*n > source.MaxDevices:
			r.f.Wants("E0414", e.Value, fmt.Sprintf("at least 1, and at most %d devices in all", source.MaxDevices), "", "mesh axis `%s` of size %s", e.Key.Name, value.FormatNumber(c))
			r.unsized[e.Key.Name] = true
		case r.mod.MeshSize(e.Key.Name) != 0:
			r.f.Errorf("E0414", e.Key, "mesh axis `%s` is declared twice", e.Key.Name)
		default:
			r.mod.Mesh = append(r.mod.Mesh, ir.MeshAxis{Name: e.Key.Name, Size: n})
		}
	}
}

// meshNames checks names of mesh axes.
func (r *reading) meshNames(ids []*syntax.Ident) []string {
	out := []string{}
	for _, id := range ids {
		if r.mod.MeshSize(id.Name) == 0 {
			if r.unsized[id.Name] {
				continue
			}
			var names []string
			for _, a := range r.mod.Mesh {
				names = append(names, a.Name)
			}
			want := diag.OneOf(names)
			if len(names) == 0 {
				want = "a `mesh` that declares it: `mesh " + id.Name + " = 2`"
			}
			r.f.Wants("E0403", id, want, diag.DidYouMean(id.Name, names), "unknown mesh axis `%s`", id.Name)
			continue
		}
		if slices.Contains(out, id.Name) {
			r.f.Errorf("E0405", id, "mesh axis `%s` is named twice", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}

// checkDevices warns of mesh axes that no rule is over.
func (c *checking) checkDevices() {
	used := c.dividing()
	for _, a := range c.mod.Mesh {
		if a.Size > 1 && !used[a.Name] {
			c.warnings = append(c.warnings, fmt.Sprintf("layout `%s`: the %d devices of mesh axis `%s` all do the same work: nothing is sharded over it (W0402)",
				c.decl.Name.Name, a.Size, a.Name))
		}
	}
}

// alone is whether each of these mesh axes has one device.
func alone(mod *ir.Module, over []*syntax.Ident) bool {
	return len(over) > 0 && !slices.ContainsFunc(over, func(a *syntax.Ident) bool { return mod.MeshSize(a.Name) != 1 })
}

// dividing are the mesh axes over which work is divided.
func (c *checking) dividing() map[string]bool {
	axes := map[string]bool{}
	for _, d := range of[*Shard](c.decl) {
		for _, id := range d.Over {
			axes[id.Name] = true
		}
	}
	for _, d := range of[*Pipeline](c.decl) {
		axes[d.Over.Name] = true
	}
	return axes
}
