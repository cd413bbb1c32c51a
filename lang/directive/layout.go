package directive

import (
	"slices"
	"sort"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Layout is the chosen layout while its directives are checked and turned into
// rules.
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
	unsized   map[string]bool           // mesh axes that are declared, in a size with a mistake
	holders   map[string]*syntax.Module // of each instance, by path; made when needed
	// recomputed has the rule that names each instance.
	recomputed map[*value.Instance]*syntax.Recompute
	axes       []string // of all tensors, sorted; made when needed
	// oneChunk are the schedules of pipelines with one chunk for each device, of those
	// that are for several.
	oneChunk map[*syntax.Pipeline]string
	// rounds is the `accumulate` of the layout, nil where there is none, and micro the
	// microbatches of its pipeline.
	rounds *syntax.Entry
	micro  int
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

// meshNames checks names of mesh axes.
func (y *Layout) meshNames(ids []*syntax.Ident) []string {
	out := []string{}
	for _, id := range ids {
		if y.mod.MeshSize(id.Name) == 0 {
			if y.unsized[id.Name] {
				continue
			}
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
	y.f.Wants("E0412", p, "a module such as `Block`, or a path such as `blocks.*.attn`", diag.DidYouMean(p.String(), names), "the model has no module or parameter `%s`", p)
}

// covers is whether a pattern names a parameter, an instance that holds it, or
// the module of one.
func (y *Layout) covers(q *syntax.Path, param string) bool {
	s := q.String()
	if value.MatchPath(s, param) || value.MatchPath(s+".**", param) {
		return true
	}
	if y.holders == nil {
		y.holders = map[string]*syntax.Module{}
		for _, i := range y.in.Instances {
			y.holders[i.Path] = i.Decl
		}
	}
	for at := param; ; {
		i := strings.LastIndexByte(at, '.')
		if i < 0 {
			return false
		}
		at = at[:i]
		if m := y.holders[at]; m != nil && m.Name.Name == s {
			return true
		}
	}
}

// placed is a tensor of the model and what to call it.
type placed struct {
	typ  ir.Type
	name string
	path string // of a parameter that is listed by itself
}

// tensors lists what the rules are about, once for each type: the parameters,
// the batch, and the values of the forward pass. With paths, parameters are
// listed each by itself.
func (y *Layout) tensors(paths bool) []placed {
	var out []placed
	seen := map[string]bool{}
	add := func(t ir.Type, name, path string) {
		if paths {
			out = append(out, placed{t, name, path})
		} else if k := t.WithDType(ir.F32).String(); !seen[k] {
			seen[k] = true
			out = append(out, placed{typ: t, name: name})
		}
	}
	for _, p := range y.in.Params {
		if paths || p.Like == nil { // one that is like another is of its type
			add(p.Type, "the parameter `"+p.Path+"`", p.Path)
		}
	}
	if paths {
		return out
	}
	if y.data != nil {
		for _, d := range y.data.Fields {
			add(d.Type, "the field `"+d.Name+"` of the batch", "")
		}
	}
	step := y.mod.Func("step")
	if step == nil {
		return out
	}
	for _, o := range step.Ops {
		if o.Name == "grad" {
			break
		}
		add(o.Results[0].Type, "the value at "+o.Pos.String(), "")
	}
	return out
}

func (y *Layout) axisExists(name string) bool { return slices.Contains(y.allAxes(), name) }

// allAxes lists the axes of all tensors, sorted.
func (y *Layout) allAxes() []string {
	if y.axes != nil {
		return y.axes
	}
	seen := map[string]bool{}
	var out []string
	for _, p := range y.tensors(false) {
		for _, n := range p.typ.Names() {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	sort.Strings(out)
	y.axes = out
	return out
}

// dividing are the mesh axes over which work is divided.
func (y *Layout) dividing() map[string]bool {
	axes := map[string]bool{}
	for _, d := range y.decl.Directives {
		switch d := d.(type) {
		case *syntax.Shard:
			for _, id := range d.Over {
				axes[id.Name] = true
			}
		case *syntax.Pipeline:
			axes[d.Over.Name] = true
		}
	}
	return axes
}

// excludes is the `overlap` directive that keeps a collective from running concurrently with
// computation, or nil.
func (y *Layout) excludes(collective string) *syntax.Overlap {
	for _, d := range y.decl.Directives {
		o, ok := d.(*syntax.Overlap)
		if ok && !slices.ContainsFunc(o.What, func(id *syntax.Ident) bool { return id.Name == collective }) {
			return o
		}
	}
	return nil
}
