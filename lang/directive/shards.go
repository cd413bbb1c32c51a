package directive

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir/layout"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// shardRule is one axis of a shard directive.
type shardRule struct {
	axis    string
	node    syntax.Node
	mesh    []*syntax.Ident
	of      []*syntax.Path
	between []*syntax.Module
	zigzag  bool // each device has a part of either half
}

// shardRules are those of rules without a mistake in their names.
func shardRules(m *model, rules []rule) []shardRule {
	var out []shardRule
	for _, r := range rules {
		l, ok := r.Rule.(*layout.Shard)
		if !ok {
			continue
		}
		d := r.node.(*Shard)
		var between []*syntax.Module
		for _, n := range l.Between {
			between = append(between, m.module(n))
		}
		for _, a := range d.Axes {
			if slices.Contains(l.Axes, a.Name) && len(l.Over) == len(d.Over) {
				out = append(out, shardRule{a.Name, a, d.Over, d.Of, between, l.Order == "zigzag"})
			}
		}
	}
	return out
}

// checkShards looks at all rules together: no axis sharded twice, no mesh axis
// twice in a tensor, every size divisible, every rule about something.
func (c *checking) checkShards() {
	var rules []shardRule // what a second rule of an axis would clash with follows from there being two
	for i, r := range c.shards {
		twice := false
		for _, o := range c.shards[:i] {
			if o.axis == r.axis && sameScope(o, r) {
				c.again(o, r)
				twice = true
			}
		}
		if !twice {
			rules = append(rules, r)
		}
	}
	all := c.model.tensors()
	for i, r := range rules {
		scope := c.scoped(r, all)
		c.checkScope(r, scope)
		for _, p := range scope {
			c.checkSize(r, p)
			for _, o := range rules[:i] {
				c.checkTwice(o, r, p)
			}
		}
	}
}

// checkScope reports a rule about modules or parameters that do not have its
// axis.
func (c *checking) checkScope(r shardRule, scope []placed) {
	var names []string
	for _, p := range scope {
		for _, n := range p.typ.Names() {
			if n == r.axis {
				return
			}
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	who := ""
	switch {
	case len(names) == 0 || c.model.incomplete:
		return
	case len(r.of) == 1:
		who = "`" + r.of[0].String() + "` has"
	case len(r.of) > 1:
		who = "these parameters have"
	case len(r.between) == 1:
		who = "the result of `" + r.between[0].Name.Name + "` has"
	default:
		who = "the results of these modules have"
	}
	slices.Sort(names)
	c.f.Wants("E0402", r.node, diag.OneOf(names), diag.DidYouMean(r.axis, names), "%s no axis `%s`", who, r.axis)
}

// scoped are the tensors that a rule is about: what crosses the borders of the
// modules after `between`, the parameters after `of`, else all.
func (c *checking) scoped(r shardRule, all []placed) []placed {
	var out []placed
	switch {
	case len(r.between) > 0:
		for _, m := range r.between {
			for _, t := range c.model.made.Bounds[m] {
				out = append(out, placed{typ: t, name: "the result of `" + m.Name.Name + "`"})
			}
		}
	case len(r.of) > 0:
		for _, p := range c.model.made.Params {
			if c.model.covers(r.of, p.Path) {
				out = append(out, placed{p.Type, parameter(p)})
			}
		}
	default:
		return all
	}
	return out
}

func sameScope(a, b shardRule) bool {
	text := func(r shardRule) string {
		var s []string
		for _, p := range r.of {
			s = append(s, p.String())
		}
		s = append(s, "|")
		for _, m := range r.between {
			s = append(s, m.Name.Name)
		}
		return strings.Join(s, " ")
	}
	return text(a) == text(b)
}

func (c *checking) again(o, r shardRule) {
	var mesh []string
	for _, m := range append(slices.Clone(o.mesh), r.mesh...) {
		if !slices.Contains(mesh, m.Name) {
			mesh = append(mesh, m.Name)
		}
	}
	hint := ""
	if len(mesh) > 1 {
		hint = "`shard " + r.axis + " over (" + strings.Join(mesh, ", ") + ")` shards it over both"
	}
	c.f.Report(source.Conflict("E0404", r.node, o.node.At(), "first sharded here", "", hint, "axis `%s` is sharded twice", r.axis))
}

// checkTwice reports a tensor in which two axes want the same mesh axis.
func (c *checking) checkTwice(o, r shardRule, p placed) {
	if o.axis == r.axis || !p.typ.Has(o.axis) || !p.typ.Has(r.axis) {
		return
	}
	if (len(o.of) > 0 || len(o.between) > 0) && !sameScope(o, r) {
		return
	}
	for _, a := range o.mesh {
		for _, b := range r.mesh {
			if a.Name != b.Name {
				continue
			}
			c.f.Report(source.Conflict("E0405", r.node, o.node.At(), "`"+o.axis+"` is sharded here", "a mesh axis at most once in a tensor", "",
				"%s has both `%s` and `%s`, which are both sharded over `%s`", p.name, o.axis, r.axis, a.Name))
		}
	}
}

func (c *checking) checkSize(r shardRule, p placed) {
	i := p.typ.Index(r.axis)
	if i < 0 {
		return
	}
	parts := 1
	for _, m := range r.mesh {
		parts *= c.mod.MeshSize(m.Name)
	}
	n := p.typ.Axes[i].Size
	switch {
	case n%parts != 0 && !r.zigzag:
		c.f.Wants("E0406", r.node, "a multiple of "+value.FormatNumber(value.Whole(parts)), "", "axis `%s` is %d in %s, and cannot be split into %d equal shards", r.axis, n, p.name, parts)
	case r.zigzag && parts > 1 && n%(2*parts) != 0:
		c.f.Wants("E0406", r.node, "a multiple of "+value.FormatNumber(value.Whole(2*parts)), "`order = contiguous` needs one shard for each device",
			"axis `%s` is %d in %s, and cannot be split into %d equal chunks, two for each device", r.axis, n, p.name, 2*parts)
	}
}
