package propagate

import (
	"slices"

	"ptc/ir"
	directives "ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/partition"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
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
	mesh    factor.Mesh
	planner *partition.Planner // of what reshards cost
	claims  map[string][]claim // by axis name
	// parts are the wholes of axes that a split makes, or a merge joins, by their names.
	parts map[string][]string
	// zero shards what training keeps besides activations over these mesh axes:
	// optimizer state from level 1, gradients from 2, parameters from 3.
	zero      []string
	zeroLevel int
	zeroAt    string
	// perMicro is the level of zero at which each microbatch reduces its gradients, from 2
	// on, and gathers parameters, from 3 on; otherwise all of them do so once.
	perMicro int
	// stages are mesh axes that hold pipeline stages: nothing is sharded over
	// them.
	stages   map[string]bool
	pipeline *devices // nil without one
	// replicated are parameters that must not be sharded: over these mesh axes, or,
	// where the list is empty, any.
	replicated map[string][]string
}

// rulesOf reads the metadata of m. Where an axis that the rules shard is split or
// merged in parts that a mesh axis does not fit, m's mesh is refined, as it is where
// zero shards over one that most sizes do not divide by.
func rulesOf(c *pass.Context, m *ir.Module) *layout {
	l := &layout{mesh: m.Mesh, claims: map[string][]claim{}, stages: map[string]bool{}, replicated: map[string][]string{}}
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
			if l.stages[r.Over] = true; l.pipeline == nil && m.MeshSize(r.Over) > 1 {
				l.pipeline = devicesOf(c, m, r)
			}
		case *directives.Replicate:
			for _, p := range r.Of {
				l.replicate(p, r.Over)
			}
		}
	}
	l.perMicro = directives.ZeroPerMicro(m)
	l.refine(c, m, lists)
	l.parts = partsOf(m)
	l.refineZero(c, m, lists)
	l.mesh, l.planner = order(m.Mesh, lists, axes, l.zero), partition.NewPlanner(m)
	l.zero = l.mesh.Sorted(l.zero)
	return l
}

// replicate notes a rule that keeps a parameter replicated: over these mesh axes,
// besides those of other such rules, or, if it names none, over all.
func (l *layout) replicate(path string, over []string) {
	have, some := l.replicated[path]
	if len(over) == 0 || some && len(have) == 0 {
		over, have = nil, nil
	}
	l.replicated[path] = append(slices.Clone(have), over...)
}

// claimOn is what the rules say of sharding an axis over a mesh axis, and where: it is
// required, or asked for between modules. A rule about parameters counts where path
// is one of them.
func (l *layout) claimOn(axis, mesh, path string) (strength factor.Strength, at string) {
	for _, c := range l.claims[axis] {
		if c.mesh != mesh || len(c.of) > 0 && !slices.Contains(c.of, path) {
			continue
		}
		if !c.between {
			return factor.Required, c.at
		}
		strength, at = factor.Asked, c.at
	}
	return strength, at
}

// rules is the policy of what the user has sharded: for axes of these names, in the
// model. The optimizer computes in the sharding in which its tensors are stored.
type rules struct {
	factor.Silent
	*trial
}

func newRules(t *trial) factor.Policy { return &rules{trial: t} }

func (r *rules) Prefer(o *ir.Op, f *op.Factor, m string) (best factor.Strength, at string) {
	if r.facts.update[o.Results[0]] {
		return factor.None, ""
	}
	last := "" // axes mostly have one name
	for _, axes := range [2][]string{f.Args, f.Results} {
		for _, axis := range axes {
			if axis == last || axis == "" {
				continue
			}
			last = axis
			if s, where := r.l.claimOn(axis, m, ""); s > best {
				best, at = s, where
			}
		}
	}
	if best < factor.Kept {
		if where := r.keeps(o, f, m); where != "" {
			best, at = factor.Kept, where
		}
	}
	return best, at
}

// keeps is the rule by which an operand of o stays sharded along f: one about the axis of which
// this one is a part. So heads in groups stay over tp where `between` asks for the sequence.
func (r *rules) keeps(o *ir.Op, f *op.Factor, m string) string {
	for i, axis := range f.Args {
		if axis == "" || !factor.Along(o.Args[i].Type, axis, m) {
			continue
		}
		for _, whole := range r.l.parts[axis] {
			if s, at := r.l.claimOn(whole, m, ""); s == factor.Required {
				return at
			}
		}
	}
	return ""
}

// partsOf finds the axes that splits make and merges join, and of which axis they are parts.
func partsOf(m *ir.Module) map[string][]string {
	parts := map[string][]string{}
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if op.Of(o).Divide == nil {
				continue
			}
			for _, x := range op.Of(o).Shard(o).Factors {
				if x.Minor == nil {
					continue
				}
				whole, major, minor := wholeOf(&x)
				for _, part := range []string{major, minor} {
					if part != whole && !slices.Contains(parts[part], whole) {
						parts[part] = append(parts[part], whole)
					}
				}
			}
		}
	}
	return parts
}
