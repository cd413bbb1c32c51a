package propagate

import (
	"slices"

	"ptc/ir"
	directives "ptc/ir/layout"
	"ptc/passes/pass"
)

// claim is a rule's word on one axis name.
type claim struct {
	mesh    string
	between bool     // gives way to rules without a region
	of      []string // parameters that it is about; nil for every value
	at      string
}

// layout is the rules of a module in the form that propagation needs.
type layout struct {
	mesh   []ir.MeshAxis
	claims map[string][]claim // by axis name
	// zero shards what training keeps besides activations over these mesh axes:
	// optimizer state from level 1, gradients from 2, parameters from 3.
	zero      []string
	zeroLevel int
	zeroAt    string
	// stages are mesh axes that hold pipeline stages: nothing is sharded over
	// them.
	stages map[string]bool
	pipe   *pipeline // nil without one
	// whole are parameters that must not be sharded: over these mesh axes, or,
	// where the list is empty, any.
	whole map[string][]string
}

// rulesOf reads the metadata of m. Where an axis that they cut is split or merged
// in parts that a mesh axis does not fit, m's mesh is refined.
func rulesOf(c *pass.Context, m *ir.Module) *layout {
	l := &layout{mesh: m.Mesh, pipe: pipelineOf(m), claims: map[string][]claim{}, stages: map[string]bool{}, whole: map[string][]string{}}
	lists := map[string][]string{} // mesh axes by axis
	var axes []string              // in the order of the rules
	for _, r := range directives.Of(m).Rules {
		switch r := r.(type) {
		case *directives.Shard:
			for _, a := range r.Axes {
				axes = append(axes, a)
				for _, mesh := range r.Over {
					lists[a] = append(lists[a], mesh)
					l.claims[a] = append(l.claims[a], claim{mesh, len(r.Between) > 0, r.Of, r.Where()})
				}
			}
		case *directives.Zero:
			l.zeroLevel, l.zeroAt, l.zero = r.Level, r.Where(), r.Over
		case *directives.Pipeline:
			l.stages[r.Over] = true
		case *directives.Replicate:
			for _, p := range r.Of {
				l.replicate(p, r.Over)
			}
		}
	}
	l.refine(c, m, lists)
	l.mesh = order(m.Mesh, lists, axes, l.zero)
	l.zero = l.sorted(l.zero)
	return l
}

// replicate notes a rule that keeps a parameter replicated: over these mesh axes,
// besides those of other such rules, or, if it names none, over all.
func (l *layout) replicate(path string, over []string) {
	have, some := l.whole[path]
	if len(over) == 0 || some && len(have) == 0 {
		over, have = nil, nil
	}
	l.whole[path] = append(slices.Clone(have), over...)
}

func (l *layout) size(mesh string) int {
	for _, a := range l.mesh {
		if a.Name == mesh {
			return a.Size
		}
	}
	return 1
}

// claimOn is what the rules say of sharding an axis over a mesh axis: 0
// nothing, 1 between, 2 rule.
// A rule about parameters counts where path is one of them.
func (l *layout) claimOn(axis, mesh, path string) (strength int, at string) {
	for _, c := range l.claims[axis] {
		if c.mesh != mesh || len(c.of) > 0 && !slices.Contains(c.of, path) {
			continue
		}
		if !c.between {
			return 2, c.at
		}
		strength, at = 1, c.at
	}
	return strength, at
}

// stored is the state in which a parameter (or its gradient, or its optimizer
// state) of type t lies: what the rules say of its axes, and for zero also the
// first axis that can be cut further.
func (l *layout) stored(path string, t ir.Type, zero bool) ir.Type {
	t = t.Clone()
	whole, some := l.whole[path]
	if some && len(whole) == 0 {
		return t
	}
	used := map[string]bool{}
	for i := range t.Axes {
		a := &t.Axes[i]
		for _, m := range l.mesh {
			s, _ := l.claimOn(a.Name, m.Name, path)
			if s == 2 && !used[m.Name] && !slices.Contains(whole, m.Name) && !l.stages[m.Name] && a.Size%(l.parts(*a)*m.Size) == 0 {
				a.Mesh = append(a.Mesh, m.Name)
				used[m.Name] = true
			}
		}
	}
	if !zero {
		return t
	}
	for _, m := range l.zero {
		if !slices.Contains(whole, m) && !used[m] {
			l.cutFirst(t, m)
		}
	}
	return t
}

// cutFirst shards the first axis that divides over mesh axis m: an unsharded one
// if there is any, best one that gradients do not come cut along; else one whose
// parts are cut by mesh axes that are major to m, as operations cut them, else any.
func (l *layout) cutFirst(t ir.Type, m string) {
	for _, ok := range []func(a ir.Axis) bool{
		func(a ir.Axis) bool { return len(a.Mesh) == 0 && len(l.claims[a.Name]) == 0 },
		func(a ir.Axis) bool { return len(a.Mesh) == 0 },
		func(a ir.Axis) bool {
			cut := append(slices.Clone(a.Mesh), m)
			return slices.Equal(l.sorted(cut), cut)
		},
		func(ir.Axis) bool { return true },
	} {
		for i := range t.Axes {
			a := &t.Axes[i]
			if ok(*a) && a.Size%(l.parts(*a)*l.size(m)) == 0 {
				a.Mesh = append(a.Mesh, m)
				return
			}
		}
	}
}

// sorted is the mesh axes in their one order.
func (l *layout) sorted(axes []string) []string {
	var out []string
	for _, m := range l.mesh {
		if slices.Contains(axes, m.Name) {
			out = append(out, m.Name)
		}
	}
	return out
}

// parts is the number of parts that axis a is cut into.
func (l *layout) parts(a ir.Axis) int { return l.partsOver(a.Mesh) }

func (l *layout) partsOver(mesh []string) int {
	n := 1
	for _, m := range mesh {
		n *= l.size(m)
	}
	return n
}

// inOrder sorts owed sums as the mesh lists its axes, so that equal states
// print alike.
func (l *layout) inOrder(owed []ir.Partial) []ir.Partial {
	var out []ir.Partial
	for _, m := range l.mesh {
		for _, x := range owed {
			if x.Mesh == m.Name {
				out = append(out, x)
			}
		}
	}
	return out
}
