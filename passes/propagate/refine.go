package propagate

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
)

// refine writes a mesh axis as two where an axis is sharded over it that is split,
// or merged, in parts of which the major one is smaller:
//
//	heads = 8 over tp = 4, of kv = 2 and group = 4
//	→ tp = tp_kv = 2 times tp_group = 2, heads over both, kv over tp_kv, group over tp_group
//
// A rule about tp is then one about both ([op.RefineMesh]).
func (l *layout) refine(c *pass.Context, m *ir.Module, lists map[string][]string) {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			d := op.Of(o)
			if d.Divide == nil {
				continue
			}
			for _, x := range d.Shard(o).Factors {
				for x.Minor != nil && l.refineFor(c, m, o, x, lists) {
				}
			}
		}
	}
}

// refineFor refines the first mesh axis that needs it for a factor of o, and
// reports whether there was one.
func (l *layout) refineFor(c *pass.Context, m *ir.Module, o *ir.Op, f op.Factor, lists map[string][]string) bool {
	whole, major, minor := wholeOf(&f)
	parts := 1
	for _, x := range m.Mesh {
		if s, _ := l.claimOn(whole, x.Name, ""); s != factor.Required || l.stages[x.Name] {
			continue
		}
		if f.Size%(parts*x.Size) == 0 {
			parts *= x.Size
			continue
		}
		outer := f.Size / parts
		if outer < 2 || f.Size%parts != 0 || x.Size%outer != 0 || f.Minor.Size%(x.Size/outer) != 0 {
			return false
		}
		by := []ir.MeshAxis{{Name: x.Name + "_" + major, Size: outer}, {Name: x.Name + "_" + minor, Size: x.Size / outer}}
		if m.MeshSize(by[0].Name) != 0 || m.MeshSize(by[1].Name) != 0 || by[0].Name == by[1].Name {
			return false
		}
		c.Remarkf(o, "mesh axis %s = %d is split into %s = %d and %s = %d, so that %s of (%s, %s) stays sharded over it",
			x.Name, x.Size, by[0].Name, outer, by[1].Name, by[1].Size, whole, major, minor)
		op.RefineMesh(m, x.Name, by)
		l.rename(x.Name, by, lists)
		return true
	}
	return false
}

// wholeOf is the axis that a factor splits, or makes by a merge, and its two parts.
func wholeOf(f *op.Factor) (whole, major, minor string) {
	if f.Minor.Results[0] == f.Results[0] { // a merge
		return f.Results[0], f.Args[0], f.Minor.Args[0]
	}
	return f.Args[0], f.Results[0], f.Minor.Results[0]
}

// rename makes rules about a mesh axis rules about those that it is made of.
func (l *layout) rename(old string, by []ir.MeshAxis, lists map[string][]string) {
	names := []string{by[0].Name, by[1].Name}
	replace := func(list []string) []string { return op.Refined(list, old, names) }
	for a, list := range lists {
		lists[a] = replace(list)
	}
	l.zero = replace(l.zero)
	for path, list := range l.replicated {
		l.replicated[path] = replace(list)
	}
	for a, claims := range l.claims {
		var out []claim
		for _, x := range claims {
			for _, mesh := range replace([]string{x.mesh}) {
				x.mesh = mesh
				out = append(out, x)
			}
		}
		l.claims[a] = out
	}
}
