package directive

import (
	"slices"

	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Replicate is `replicate wte`; `over` limits it to some mesh axes.
type Replicate struct {
	line
	What []*syntax.Path  `parser:"'replicate' @@ ( ',' @@ )*"`
	Over []*syntax.Ident `parser:"( 'over' ( '(' @@ ( ',' @@ )* ')' | @@ ) )?"`
}

var _ = define(Form{Word: "replicate", Node: &Replicate{}})

// Names are the mesh axes over which parameters are replicated.
func (d *Replicate) Names() (axes, mesh []*syntax.Ident) { return nil, d.Over }

func (d *Replicate) read(r *reading) {
	mesh := r.meshNames(d.Over)
	r.add(d, d, &layout.Replicate{Of: r.paramsOf(d.What), Over: mesh})
}

// check reports rules about parameters that are all replicated, and warns where there is
// nothing to replicate.
func (d *Replicate) check(c *checking) {
	for _, s := range c.shards {
		if len(s.of) > 0 && d.undoes(c, s) {
			c.f.Report(source.Conflict("E0423", d, s.node.At(), "the rule", "one of the two rules", "", "`replicate` covers every parameter of a rule, so the rule shards nothing"))
		}
	}
	if !d.replicates(c) {
		c.noEffect(d, "replicate", "no rule shards these parameters")
	}
}

// over is whether it is about a mesh axis.
func (d *Replicate) over(name string) bool {
	return len(d.Over) == 0 || slices.ContainsFunc(d.Over, func(id *syntax.Ident) bool { return id.Name == name })
}

// undoes is whether d replicates all parameters of s over all mesh axes of s.
func (d *Replicate) undoes(c *checking, s shardRule) bool {
	if slices.ContainsFunc(s.mesh, func(m *syntax.Ident) bool { return !d.over(m.Name) }) {
		return false
	}
	some := false
	for _, p := range c.model.made.Params {
		if c.model.covers(s.of, p.Path) {
			if some = true; !c.model.covers(d.What, p.Path) {
				return false
			}
		}
	}
	return some
}

// replicates is whether a rule would shard a parameter that d replicates.
func (d *Replicate) replicates(c *checking) bool {
	meets := func(over []*syntax.Ident) bool {
		return !alone(c.mod, over) && (len(d.Over) == 0 || slices.ContainsFunc(over, func(a *syntax.Ident) bool {
			return d.over(a.Name) && c.mod.MeshSize(a.Name) > 1
		}))
	}
	if slices.ContainsFunc(of[*Zero](c.decl), func(z *Zero) bool { return meets(z.Over) }) {
		return true
	}
	for _, p := range c.model.made.Params {
		if !c.model.covers(d.What, p.Path) {
			continue
		}
		for _, s := range c.shards {
			named := len(s.of) == 0 || c.model.covers(s.of, p.Path)
			if named && len(s.between) == 0 && p.Type.Has(s.axis) && meets(s.mesh) {
				return true
			}
		}
	}
	return false
}
