package op

import (
	"slices"

	"ptc/ir"
)

// RefineMesh writes a mesh axis of m as several, major to minor, wherever m names
// it: x = 4 as x_1 = 2 times x_2 = 2. Devices stay where they are, since the last
// axis of a mesh varies fastest: what is sharded or partial over x is so over both,
// in the same shards. The factors of a mesh axis are Shardy's sub-axes (Shardy,
// "Sharding representation"); here they have names.
//
// The rules of the layout keep the axis that they name; the metadata term `refined`
// says which ones are its parts. It is for levels up to Sharded, where no
// collective exists. What needs one single mesh axis, as a pipeline and a take of
// positions on a device each do, must not be over x.
func RefineMesh(m *ir.Module, name string, by []ir.MeshAxis) {
	at := slices.IndexFunc(m.Mesh, func(a ir.MeshAxis) bool { return a.Name == name })
	m.Mesh = slices.Replace(slices.Clone(m.Mesh), at, at+1, by...)
	noteRefined(m, name, by)
	parts := make([]string, len(by))
	for i, a := range by {
		parts[i] = a.Name
	}
	for _, f := range m.Funcs {
		for _, a := range f.Args {
			refineType(&a.Value.Type, name, parts)
		}
		for _, o := range f.Ops {
			for _, r := range o.Results {
				refineType(&r.Type, name, parts)
			}
			if over := o.Attrs.Names("over"); o.Name == "coordinate" {
				o.Attrs = o.Attrs.With("over", ir.Names(Refined(over, name, parts)))
			}
		}
	}
}

// Refined is a list of mesh axes with the parts of one in its place.
func Refined(list []string, name string, parts []string) []string {
	if i := slices.Index(list, name); i >= 0 {
		return slices.Replace(slices.Clone(list), i, i+1, parts...)
	}
	return list
}

func refineType(t *ir.Type, name string, parts []string) {
	if !slices.ContainsFunc(t.Axes, func(a ir.Axis) bool { return slices.Contains(a.Mesh, name) }) &&
		!slices.ContainsFunc(t.Partial, func(x ir.Partial) bool { return x.Mesh == name }) {
		return
	}
	c := t.Clone()
	for i := range c.Axes {
		c.Axes[i].Mesh = Refined(c.Axes[i].Mesh, name, parts)
	}
	c.Partial = nil
	for _, x := range t.Partial {
		for _, m := range Refined([]string{x.Mesh}, name, parts) {
			c.Partial = append(c.Partial, ir.Partial{Mesh: m, Reduce: x.Reduce})
		}
	}
	*t = c
}

// noteRefined keeps in the metadata which axis of the layout the new ones are
// parts of, for whoever shows them or reads the layout's rules.
func noteRefined(m *ir.Module, old string, by []ir.MeshAxis) {
	t := ir.Term{Head: "refined"}
	if have := m.MetaTerm("refined"); have != nil {
		t.Args = have.Args
		if of := t.Args.Text(old); of != "" {
			t.Args = t.Args.With(old, nil)
			old = of
		}
	}
	for _, x := range by {
		t.Args = t.Args.With(x.Name, ir.Name(old))
	}
	m.SetMeta(t)
}

// PartsOf are the mesh axes of m that an axis of the layout is written as: itself,
// unless it is refined.
func PartsOf(m *ir.Module, name string) []string {
	t := m.MetaTerm("refined")
	if t == nil || m.MeshSize(name) > 0 {
		return []string{name}
	}
	var parts []string
	for _, a := range m.Mesh {
		if t.Args.Text(a.Name) == name {
			parts = append(parts, a.Name)
		}
	}
	return parts
}

// DeclaredOver names mesh axes of m as the layout does, where all parts of one of
// its axes follow one another; others keep their own names.
func DeclaredOver(m *ir.Module, over []string) (out []string) {
	t := m.MetaTerm("refined")
	for i := 0; i < len(over); {
		if t != nil && t.Args.Text(over[i]) != "" {
			of := t.Args.Text(over[i])
			if parts := PartsOf(m, of); len(over)-i >= len(parts) && slices.Equal(over[i:i+len(parts)], parts) {
				out, i = append(out, of), i+len(parts)
				continue
			}
		}
		out, i = append(out, over[i]), i+1
	}
	return out
}
