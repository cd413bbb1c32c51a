package lang

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/lang/syntax"
)

// layout is the chosen layout while its directives are checked and turned into
// terms of metadata.
type layout struct {
	l    *lowerer
	f    *frame
	decl *syntax.Layout // nil: one device, by default
	t    *training
	// incomplete: the model has errors, so that an axis that a directive names may
	// be missing for another reason than a slip in the directive; unnamed: so may a
	// module or parameter.
	incomplete, unnamed bool

	rules  ir.Terms
	shards []shardRule
	// precision is what is computed and kept in which dtype; scale what the
	// loss is multiplied with before the backward pass, nil where not said.
	precision map[string]ir.DType
	scale     ir.AttrVal
	once      map[string]syntax.Node    // directives that may occur once
	holders   map[string]*syntax.Module // of each instance, by path; made when needed
	// recomputed has the rule that names each instance.
	recomputed map[*instance]*syntax.Recompute
	// oneChunk are interleaved pipelines with one chunk for each device.
	oneChunk map[*syntax.Pipeline]bool
}

// shardRule is one axis of a shard directive.
type shardRule struct {
	axis    string
	node    syntax.Node
	mesh    []*syntax.Ident
	of      []*syntax.Path
	between []*syntax.Module
	zigzag  bool // each device has a part of either half
}

// chooseLayout finds the layout by name; the first one where none is asked
// for. It returns nil after reporting an unknown name.
func (l *lowerer) chooseLayout(name string) (*layout, []string) {
	var all []string
	byName := map[string]*syntax.Layout{}
	for _, d := range l.prog.main.tree.Decls {
		if y, ok := d.(*syntax.Layout); ok {
			if old := byName[y.Name.Name]; old != nil {
				l.errs.add(twice(y.Name, old.Name))
				continue
			}
			byName[y.Name.Name] = y
			all = append(all, y.Name.Name)
		}
	}
	lay := &layout{l: l, f: l.mainFrame(), once: map[string]syntax.Node{}, recomputed: map[*instance]*syntax.Recompute{}, oneChunk: map[*syntax.Pipeline]bool{}}
	switch {
	case name == "" && len(all) > 0:
		name = all[0]
	case name == "" || name == "single" && byName[name] == nil:
		return lay, all
	}
	if lay.decl = byName[name]; lay.decl == nil {
		l.errs.add(&diag.Error{Code: "E0401", Msg: "there is no layout `" + clip(name) + "`",
			Want: diag.OneOf(all), Hint: diag.DidYouMean(name, all)})
		return nil, all
	}
	return lay, all
}

// lowerLayout checks the directives against the lowered module and appends the
// metadata: the rules, the precision, and which modules are where.
func (l *lowerer) lowerLayout(y *layout, t *training, compute string) {
	y.t = t
	y.incomplete = len(l.errs.list) > 0
	y.precision = map[string]ir.DType{"compute": ir.F32, "params": ir.F32, "reduce": ir.F32}
	name := "single"
	if y.decl != nil {
		name = y.decl.Name.Name
		for _, d := range y.decl.Directives {
			if m, ok := d.(*syntax.Mesh); ok {
				y.mesh(m)
			}
		}
		for _, d := range y.decl.Directives {
			y.directive(d)
		}
		y.checkShards()
		y.checkIdle()
		y.checkPointless()
	}
	if compute != "" {
		d, ok := ir.ParseDType(compute)
		if !ok || !slices.Contains(dtypes.Compute(), d) {
			l.errs.add(&diag.Error{Code: "E0413", Msg: "cannot compute in `" + clip(compute) + "`", Want: diag.OneOf(dtypes.Names(dtypes.Compute()))})
		}
		y.precision["compute"] = d
	}
	precision := ir.Term{Head: "precision", Args: ir.A("compute", ir.Name(y.precision["compute"].String()),
		"params", ir.Name(y.precision["params"].String()), "reduce", ir.Name(y.precision["reduce"].String()))}
	if y.scale != nil && y.precision["compute"] == ir.F16 {
		precision.Args = precision.Args.With("scale", y.scale)
	}
	l.mod.Meta = append(l.mod.Meta, ir.Term{Head: "layout", Args: ir.A("name", ir.Str(name), "rules", y.rules)}, precision, l.instancesTerm())
}

// instancesTerm lists, for each module, the paths of its instances; a repeated
// one is written with a star.
func (l *lowerer) instancesTerm() ir.Term {
	t := ir.Term{Head: "instances"}
	paths := map[string][]string{}
	for _, i := range l.instances {
		if i.path == "" {
			continue
		}
		n, p := i.decl.Name.Name, starred(i.path)
		if !contains(paths[n], p) {
			paths[n] = append(paths[n], p)
		}
	}
	for n, ps := range paths {
		t.Args = t.Args.With(n, ir.Str(strings.Join(ps, ", ")))
	}
	return t
}

// starred is a path with its numbers as stars.
func starred(p string) string {
	if p == "" {
		return ""
	}
	parts := strings.Split(p, ".")
	for i, s := range parts {
		if s[0] >= '0' && s[0] <= '9' {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ".")
}

// rule appends a term. Empty lists are left out, and `at` says which line made
// the rule.
func (y *layout) rule(n syntax.Node, head string, kv ...any) {
	t := ir.Term{Head: head, Args: ir.A("at", ir.Str(n.At().String()))}
	for i := 0; i < len(kv); i += 2 {
		switch v := kv[i+1].(type) {
		case ir.Names:
			if len(v) == 0 {
				continue
			}
		case ir.Ints:
			if len(v) == 0 {
				continue
			}
		case ir.Str:
			if v == "" {
				continue
			}
		}
		t.Args = t.Args.With(kv[i].(string), kv[i+1].(ir.AttrVal))
	}
	y.rules = append(y.rules, t)
}

// single reports a directive that occurs twice.
func (y *layout) single(n syntax.Node, what string) {
	if old := y.once[what]; old != nil {
		e := at("E0415", n, "a second `%s`", what)
		e.Note = []diag.Note{{Pos: old.At(), Msg: "the first one"}}
		y.l.errs.add(e)
	}
	y.once[what] = n
}

func (y *layout) directive(d syntax.Directive) {
	switch d := d.(type) {
	case *syntax.Shard:
		y.shard(d)
	case *syntax.Replicate:
		mesh := y.meshNames(d.Over)
		y.rule(d, "replicate", "of", y.paramsOf(d.What), "over", mesh)
	case *syntax.Pipeline:
		y.pipeline(d)
	case *syntax.Zero:
		y.zero(d)
	case *syntax.Recompute:
		y.recompute(d)
	case *syntax.Precision:
		y.setPrecision(d)
	case *syntax.Offload:
		y.offload(d)
	case *syntax.Forbid:
		y.rule(d, "forbid", "collectives", y.collectives(d.What), "of", y.paramsOf(d.On))
	case *syntax.Device:
		y.device(d)
	case *syntax.Overlap:
		y.overlap(d)
	case *syntax.Entry:
		y.entry(d)
	}
}

// mesh declares axes of devices.
func (y *layout) mesh(d *syntax.Mesh) {
	for _, e := range d.Axes {
		c, ok := y.f.number(e.Value)
		if !ok {
			continue
		}
		n, ok := c.int()
		switch {
		case !ok || n < 1 || n > maxDevices || y.l.mod.Devices()*n > maxDevices:
			y.f.wants("E0414", e.Value, fmt.Sprintf("at least 1, and at most %d devices in all", maxDevices), "", "mesh axis `%s` of size %s", e.Key.Name, formatNumber(c))
		case y.l.mod.MeshSize(e.Key.Name) != 0:
			y.f.errorf("E0414", e.Key, "mesh axis `%s` is declared twice", e.Key.Name)
		default:
			y.l.mod.Mesh = append(y.l.mod.Mesh, ir.MeshAxis{Name: e.Key.Name, Size: n})
		}
	}
}

// meshNames checks names of mesh axes.
func (y *layout) meshNames(ids []*syntax.Ident) ir.Names {
	out := ir.Names{}
	for _, id := range ids {
		if y.l.mod.MeshSize(id.Name) == 0 {
			var names []string
			for _, a := range y.l.mod.Mesh {
				names = append(names, a.Name)
			}
			want := diag.OneOf(names)
			if len(names) == 0 {
				want = "a `mesh` that declares it: `mesh " + id.Name + " = 2`"
			}
			y.f.wants("E0403", id, want, diag.DidYouMean(id.Name, names), "unknown mesh axis `%s`", id.Name)
			continue
		}
		if contains(out, id.Name) {
			y.f.errorf("E0405", id, "mesh axis `%s` is named twice", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}

// paramsOf are the paths of the parameters that patterns select, in the order
// of declaration: by their own paths, or as part of instances or modules.
func (y *layout) paramsOf(ps []*syntax.Path) ir.Names {
	hit := map[*param]bool{}
	for _, p := range ps {
		before := len(hit)
		for _, q := range y.l.params {
			if y.covers(p, q.path) {
				hit[q] = true
			}
		}
		switch {
		case !y.selects(p):
			y.unknownPath(p)
		case len(hit) == before && len(ps) == 1:
			y.f.errorf("E0412", p, "`%s` has no parameters", p)
		}
	}
	out := ir.Names{}
	for _, q := range y.l.params {
		if hit[q] {
			out = append(out, q.path)
		}
	}
	return out
}

// selects reports whether a path names a parameter, an instance or a module.
func (y *layout) selects(p *syntax.Path) bool {
	s := p.String()
	if y.l.selects(s) || y.module(s) != nil {
		return true
	}
	for _, i := range y.l.instances {
		if matchPath(s, i.path) {
			return true
		}
	}
	return matchesRepeated(y.l.model, p)
}

// matchesRepeated is whether the path names a repeated module of the model,
// without the numbers.
func matchesRepeated(m *instance, p *syntax.Path) bool {
	_, ok := repeatedAt(m, p.Parts)
	return ok
}

// repeatedAt follows a path from m to a repeated module.
func repeatedAt(m *instance, parts []string) (instances, bool) {
	if len(parts) == 0 {
		return nil, false
	}
	switch s := m.subs[parts[0]].(type) {
	case instances:
		return s, len(parts) == 1
	case *instance:
		return repeatedAt(s, parts[1:])
	}
	return nil, false
}

// module is the declaration of a module that the model uses, by its name.
func (y *layout) module(name string) *syntax.Module {
	for _, i := range y.l.instances {
		if i.decl.Name.Name == name && i.path != "" {
			return i.decl
		}
	}
	return nil
}

func (y *layout) unknownPath(p *syntax.Path) {
	if y.unnamed {
		return
	}
	var names []string
	seen := map[string]bool{}
	add := func(s string) {
		if s != "" && !seen[s] {
			seen[s] = true
			names = append(names, s)
		}
	}
	for _, i := range y.l.instances {
		if i.path != "" {
			add(i.decl.Name.Name)
		}
		add(starred(i.path))
	}
	for _, q := range y.l.params {
		add(starred(q.path))
	}
	y.f.wants("E0412", p, "a module such as `Block`, or a path such as `blocks.*.attn`", diag.DidYouMean(p.String(), names), "nothing in the model is called `%s`", p)
}
