package directive

import (
	"slices"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// checkShards looks at all rules together: no axis sharded twice, no mesh axis
// twice in a tensor, every size divisible, every rule about something.
func (y *Layout) checkShards() {
	y.checkStages()
	y.checkReplicas()
	y.checkWhole()
	var rules []shardRule // what a second rule of an axis would clash with follows from there being two
	for i, r := range y.shards {
		twice := false
		for _, o := range y.shards[:i] {
			if o.axis == r.axis && sameScope(o, r) {
				y.again(o, r)
				twice = true
			}
		}
		if !twice {
			rules = append(rules, r)
		}
	}
	all, params := y.tensors(false), []placed(nil)
	if slices.ContainsFunc(y.shards, func(r shardRule) bool { return len(r.of) > 0 }) {
		params = y.tensors(true)
	}
	for i, r := range rules {
		scope := y.scoped(r, all, params)
		y.checkScope(r, scope)
		for _, p := range scope {
			y.checkSize(r, p)
			for _, o := range rules[:i] {
				y.checkTwice(o, r, p)
			}
		}
	}
}

// checkStages reports rules over the mesh axis of a pipeline: its devices have
// different parts of the model, and no tensor in common to cut.
func (y *Layout) checkStages() {
	stages := map[string]*syntax.Ident{}
	for _, d := range y.decl.Directives {
		if p, ok := d.(*syntax.Pipeline); ok {
			stages[p.Over.Name] = p.Over
		}
	}
	for _, d := range y.decl.Directives {
		var over []*syntax.Ident
		does := ""
		switch d := d.(type) {
		case *syntax.Shard:
			over, does = d.Over, "shards"
		case *syntax.Zero:
			over, does = d.Over, "shards"
		case *syntax.Replicate:
			over, does = d.Over, "replicates"
		}
		for _, id := range over {
			p := stages[id.Name]
			if p == nil || y.mod.MeshSize(id.Name) == 0 {
				continue
			}
			e := source.ErrorAt("E0421", id, "`%s` holds the stages of the pipeline, and this rule %s over it", id.Name, does)
			e.Want = "another mesh axis"
			e.Hint = "devices of a pipeline have different blocks: add one more axis to the mesh"
			e.Note = []diag.Note{{Pos: p.At(), Msg: "the pipeline is over it here"}}
			y.in.Errs.Add(e)
		}
	}
}

// checkReplicas reports zero over devices that all do the same work: they have
// nothing to add up, and a part of the batch for each was probably forgotten.
func (y *Layout) checkReplicas() {
	used := y.dividing()
	batch := "batch"
	if y.data != nil {
		batch = y.data.Fields[0].Type.Axes[0].Name
	}
	for _, d := range y.decl.Directives {
		z, ok := d.(*syntax.Zero)
		if !ok {
			continue
		}
		for _, id := range z.Over {
			if n := y.mod.MeshSize(id.Name); n > 1 && !used[id.Name] {
				y.f.Wants("E0422", id, "a mesh axis over which something is sharded", "`shard "+batch+" over "+id.Name+"` shards the batch",
					"the %d devices of `%s` all do the same work", n, id.Name)
			}
		}
	}
}

// checkWhole reports rules about parameters that another one keeps whole, all of
// them.
func (y *Layout) checkWhole() {
	for _, d := range y.decl.Directives {
		w, ok := d.(*syntax.Replicate)
		if !ok {
			continue
		}
		for _, r := range y.shards {
			if undone := len(r.of) > 0 && y.keepsWhole(w, r); undone {
				e := source.ErrorAt("E0423", w, "`replicate` covers every parameter of a rule, so the rule shards nothing")
				e.Want = "one of the two rules"
				e.Note = []diag.Note{{Pos: r.node.At(), Msg: "the rule"}}
				y.in.Errs.Add(e)
			}
		}
	}
}

// keepsWhole is whether w replicates all parameters of r over all mesh axes of r.
func (y *Layout) keepsWhole(w *syntax.Replicate, r shardRule) bool {
	for _, m := range r.mesh {
		if len(w.Over) > 0 && !slices.ContainsFunc(w.Over, func(id *syntax.Ident) bool { return id.Name == m.Name }) {
			return false
		}
	}
	covered := func(ps []*syntax.Path, path string) bool {
		return slices.ContainsFunc(ps, func(p *syntax.Path) bool { return y.covers(p, path) })
	}
	some := false
	for _, p := range y.in.Params {
		if covered(r.of, p.Path) {
			if some = true; !covered(w.What, p.Path) {
				return false
			}
		}
	}
	return some
}

// checkScope reports a rule about modules or parameters that do not have its
// axis.
func (y *Layout) checkScope(r shardRule, scope []placed) {
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
	case len(names) == 0 || y.incomplete:
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
	sort.Strings(names)
	y.f.Wants("E0402", r.node, diag.OneOf(names), diag.DidYouMean(r.axis, names), "%s no axis `%s`", who, r.axis)
}

// scoped are the tensors that a rule is about: what crosses the borders of the
// modules after `between`, the parameters after `of`, else all.
func (y *Layout) scoped(r shardRule, all, params []placed) []placed {
	var out []placed
	switch {
	case len(r.between) > 0:
		for _, m := range r.between {
			for _, t := range y.in.Bounds[m] {
				out = append(out, placed{typ: t, name: "the result of `" + m.Name.Name + "`"})
			}
		}
	case len(r.of) > 0:
		for _, p := range params {
			for _, q := range r.of {
				if y.covers(q, p.path) {
					out = append(out, p)
					break
				}
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

func (y *Layout) again(o, r shardRule) {
	var mesh []string
	for _, m := range append(slices.Clone(o.mesh), r.mesh...) {
		if !slices.Contains(mesh, m.Name) {
			mesh = append(mesh, m.Name)
		}
	}
	e := source.ErrorAt("E0404", r.node, "axis `%s` is sharded twice", r.axis)
	if len(mesh) > 1 {
		e.Hint = "`shard " + r.axis + " over (" + strings.Join(mesh, ", ") + ")` shards it over both"
	}
	e.Note = []diag.Note{{Pos: o.node.At(), Msg: "first sharded here"}}
	y.in.Errs.Add(e)
}

// checkTwice reports a tensor in which two axes want the same mesh axis.
func (y *Layout) checkTwice(o, r shardRule, p placed) {
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
			e := source.ErrorAt("E0405", r.node, "%s has both `%s` and `%s`, which are both sharded over `%s`", p.name, o.axis, r.axis, a.Name)
			e.Want = "a mesh axis at most once in a tensor"
			e.Note = []diag.Note{{Pos: o.node.At(), Msg: "`" + o.axis + "` is sharded here"}}
			y.in.Errs.Add(e)
		}
	}
}

func (y *Layout) checkSize(r shardRule, p placed) {
	i := p.typ.Index(r.axis)
	if i < 0 {
		return
	}
	parts := 1
	for _, m := range r.mesh {
		parts *= y.mod.MeshSize(m.Name)
	}
	n := p.typ.Axes[i].Size
	switch {
	case n%parts != 0 && !r.zigzag:
		y.f.Wants("E0406", r.node, "a multiple of "+value.FormatNumber(value.Whole(parts)), "", "axis `%s` is %d in %s, and cannot be split into %d equal shards", r.axis, n, p.name, parts)
	case r.zigzag && parts > 1 && n%(2*parts) != 0:
		y.f.Wants("E0406", r.node, "a multiple of "+value.FormatNumber(value.Whole(2*parts)), "`order = contiguous` needs one shard for each device",
			"axis `%s` is %d in %s, and cannot be split into %d equal chunks, two for each device", r.axis, n, p.name, 2*parts)
	}
}
