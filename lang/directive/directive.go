package directive

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Layout is the chosen layout while its directives are checked and turned into
// terms of metadata.
type Layout struct {
	in   *eval.Interp
	f    *eval.Frame
	Name string
	All  []string       // the layouts of the main file, in order
	decl *syntax.Layout // nil: one device, by default
	mod  *ir.Module
	data *value.Data // of the train block; nil where that has a mistake
	// incomplete: the model has errors, so that an axis that a directive names may
	// be missing for another reason than a slip in the directive; unnamed: so may a
	// module or parameter.
	incomplete, unnamed bool

	Warnings  []string
	rules     []layout.Rule
	shards    []shardRule
	precision layout.Precision
	once      map[string]syntax.Node    // directives that may occur once
	holders   map[string]*syntax.Module // of each instance, by path; made when needed
	// recomputed has the rule that names each instance.
	recomputed map[*value.Instance]*syntax.Recompute
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

// Choose finds the layout by name; the first one where none is asked
// for. It returns nil after reporting an unknown name.
func Choose(in *eval.Interp, name string) *Layout {
	var all []string
	byName := map[string]*syntax.Layout{}
	for _, d := range in.Prog.Main.Tree.Decls {
		if d, ok := d.(*syntax.Layout); ok {
			if old := byName[d.Name.Name]; old != nil {
				in.Errs.Add(source.Twice(d.Name, old.Name))
				continue
			}
			byName[d.Name.Name] = d
			all = append(all, d.Name.Name)
		}
	}
	y := &Layout{in: in, f: in.NewFrame(in.Prog.Main), Name: "single", All: all, precision: layout.Float32(), once: map[string]syntax.Node{}, recomputed: map[*value.Instance]*syntax.Recompute{}, oneChunk: map[*syntax.Pipeline]bool{}}
	switch {
	case name == "" && len(all) > 0:
		name = all[0]
	case name == "" || name == "single" && byName[name] == nil:
		return y
	}
	if y.Name, y.decl = name, byName[name]; y.decl == nil {
		in.Errs.Add(&diag.Error{Code: "E0401", Msg: "there is no layout `" + value.Clip(name) + "`",
			Want: diag.OneOf(all), Hint: diag.DidYouMean(name, all)})
		return nil
	}
	return y
}

// Lower checks the directives against the lowered module and appends the
// metadata: the rules, the precision, and which modules are where.
//
// data is of the train block, nil where that has a mistake; unnamed says that the
// model has one, so that names may be missing for it.
func (y *Layout) Lower(mod *ir.Module, data *value.Data, unnamed bool, compute string) {
	y.mod, y.data, y.unnamed = mod, data, unnamed
	y.incomplete = len(y.in.Errs.List) > 0
	if y.decl != nil {
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
		if !ok || !d.IsFloat() || d == ir.F64 {
			y.in.Errs.Add(&diag.Error{Code: "E0413", Msg: "cannot compute in `" + value.Clip(compute) + "`", Want: "one of bf16, f16, f32"})
		}
		y.precision.Compute = d
	}
	if y.precision.Compute != ir.F16 {
		y.precision.Scale = layout.Scale{}
	}
	rules, instances := (&layout.Layout{Name: y.Name, Rules: y.rules, Instances: y.instancePaths()}).Terms()
	mod.Meta = append(mod.Meta, rules, layout.Encode(&y.precision), instances)
}

// instancePaths lists, for each module, the paths of its instances; a repeated
// one is written with a star.
func (y *Layout) instancePaths() map[string][]string {
	paths := map[string][]string{}
	for _, i := range y.in.Instances {
		if i.Path == "" {
			continue
		}
		n, p := i.Decl.Name.Name, value.Starred(i.Path)
		if !slices.Contains(paths[n], p) {
			paths[n] = append(paths[n], p)
		}
	}
	return paths
}

// rule appends a rule; n is the line that made it.
func (y *Layout) rule(n syntax.Node, r layout.Rule) {
	r.Place(n.At())
	y.rules = append(y.rules, r)
}

// single reports a directive that occurs twice.
func (y *Layout) single(n syntax.Node, what string) {
	if old := y.once[what]; old != nil {
		e := source.ErrorAt("E0415", n, "a second `%s`", what)
		e.Note = []diag.Note{{Pos: old.At(), Msg: "the first one"}}
		y.in.Errs.Add(e)
	}
	y.once[what] = n
}

func (y *Layout) directive(d syntax.Directive) {
	switch d := d.(type) {
	case *syntax.Shard:
		y.shard(d)
	case *syntax.Replicate:
		mesh := y.meshNames(d.Over)
		y.rule(d, &layout.Replicate{Of: y.paramsOf(d.What), Over: mesh})
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
		y.rule(d, &layout.Forbid{Collectives: y.collectives(d.What), Of: y.paramsOf(d.On)})
	case *syntax.Device:
		y.device(d)
	case *syntax.Overlap:
		y.overlap(d)
	case *syntax.Entry:
		y.entry(d)
	}
}

// mesh declares axes of devices.
func (y *Layout) mesh(d *syntax.Mesh) {
	for _, e := range d.Axes {
		c, ok := y.f.Number(e.Value)
		if !ok {
			continue
		}
		n, ok := c.Int()
		switch {
		case !ok || n < 1 || n > source.MaxDevices || y.mod.Devices()*n > source.MaxDevices:
			y.f.Wants("E0414", e.Value, fmt.Sprintf("at least 1, and at most %d devices in all", source.MaxDevices), "", "mesh axis `%s` of size %s", e.Key.Name, value.FormatNumber(c))
		case y.mod.MeshSize(e.Key.Name) != 0:
			y.f.Errorf("E0414", e.Key, "mesh axis `%s` is declared twice", e.Key.Name)
		default:
			y.mod.Mesh = append(y.mod.Mesh, ir.MeshAxis{Name: e.Key.Name, Size: n})
		}
	}
}

// meshNames checks names of mesh axes.
func (y *Layout) meshNames(ids []*syntax.Ident) []string {
	out := []string{}
	for _, id := range ids {
		if y.mod.MeshSize(id.Name) == 0 {
			var names []string
			for _, a := range y.mod.Mesh {
				names = append(names, a.Name)
			}
			want := diag.OneOf(names)
			if len(names) == 0 {
				want = "a `mesh` that declares it: `mesh " + id.Name + " = 2`"
			}
			y.f.Wants("E0403", id, want, diag.DidYouMean(id.Name, names), "unknown mesh axis `%s`", id.Name)
			continue
		}
		if slices.Contains(out, id.Name) {
			y.f.Errorf("E0405", id, "mesh axis `%s` is named twice", id.Name)
			continue
		}
		out = append(out, id.Name)
	}
	return out
}

// paramsOf are the paths of the parameters that patterns select, in the order
// of declaration: by their own paths, or as part of instances or modules.
func (y *Layout) paramsOf(ps []*syntax.Path) []string {
	hit := map[*value.Param]bool{}
	for _, p := range ps {
		before := len(hit)
		for _, q := range y.in.Params {
			if y.covers(p, q.Path) {
				hit[q] = true
			}
		}
		switch {
		case !y.selects(p):
			y.unknownPath(p)
		case len(hit) == before && len(ps) == 1:
			y.f.Errorf("E0412", p, "`%s` has no parameters", p)
		}
	}
	out := []string{}
	for _, q := range y.in.Params {
		if hit[q] {
			out = append(out, q.Path)
		}
	}
	return out
}

// selects reports whether a path names a parameter, an instance or a module.
func (y *Layout) selects(p *syntax.Path) bool {
	s := p.String()
	if y.in.Selects(s) || y.module(s) != nil {
		return true
	}
	for _, i := range y.in.Instances {
		if value.MatchPath(s, i.Path) {
			return true
		}
	}
	return matchesRepeated(y.in.Model, p)
}

// matchesRepeated is whether the path names a repeated module of the model,
// without the numbers.
func matchesRepeated(m *value.Instance, p *syntax.Path) bool {
	_, ok := repeatedAt(m, p.Parts)
	return ok
}

// repeatedAt follows a path from m to a repeated module.
func repeatedAt(m *value.Instance, parts []string) (value.Instances, bool) {
	if len(parts) == 0 {
		return nil, false
	}
	switch s := m.Subs[parts[0]].(type) {
	case value.Instances:
		return s, len(parts) == 1
	case *value.Instance:
		return repeatedAt(s, parts[1:])
	}
	return nil, false
}

// module is the declaration of a module that the model uses, by its name.
func (y *Layout) module(name string) *syntax.Module {
	for _, i := range y.in.Instances {
		if i.Decl.Name.Name == name && i.Path != "" {
			return i.Decl
		}
	}
	return nil
}

func (y *Layout) unknownPath(p *syntax.Path) {
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
	for _, i := range y.in.Instances {
		if i.Path != "" {
			add(i.Decl.Name.Name)
		}
		add(value.Starred(i.Path))
	}
	for _, q := range y.in.Params {
		add(value.Starred(q.Path))
	}
	y.f.Wants("E0412", p, "a module such as `Block`, or a path such as `blocks.*.attn`", diag.DidYouMean(p.String(), names), "nothing in the model is called `%s`", p)
}
