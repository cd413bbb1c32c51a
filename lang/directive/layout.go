package directive

import (
	"cmp"
	"slices"
	"strings"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Layout is the layout that was chosen.
type Layout struct {
	Name     string
	All      []string // the ordinary layouts of the main file, in order
	Autos    []string // its auto layouts
	Warnings []string // of what changes nothing

	in   *eval.Interp
	decl *syntax.Layout // nil: one device, by default
}

// Choose finds the layout by name; the first one where none is asked for. Where auto is true
// it is an auto layout, the only one where none is asked for; else it is an ordinary one. It
// returns nil after reporting that there is none.
func Choose(in *eval.Interp, name string, auto bool) *Layout {
	y := &Layout{in: in}
	byName := map[string]*syntax.Layout{}
	first := ""
	for _, d := range syntax.Decls[*syntax.Layout](in.Prog.Main.Tree) {
		n := d.Name.Name
		if old := byName[n]; old != nil {
			in.Errs.Add(source.Twice(d.Name, old.Name))
			continue
		}
		byName[n] = d
		first = cmp.Or(first, n)
		if d.Auto != nil {
			y.Autos = append(y.Autos, n)
		} else {
			y.All = append(y.All, n)
		}
	}
	switch {
	case name == "" && auto && len(y.Autos) == 1:
		name = y.Autos[0]
	case name == "" && !auto && first != "":
		name = first
	case !auto && (name == "" || name == "single" && byName[name] == nil):
		y.Name = "single"
		return y
	}
	if y.Name, y.decl = name, byName[name]; y.decl == nil || (y.decl.Auto != nil) != auto {
		in.Errs.Add(y.unfit(auto))
		return nil
	}
	return y
}

// unfit is the error for a layout that there is not, or that is of the other kind.
func (y *Layout) unfit(auto bool) *diag.Error {
	name, list := value.Clip(y.Name), y.All
	if auto {
		list = y.Autos
	}
	switch {
	case auto && len(list) == 0:
		return &diag.Error{Code: "E0401", Msg: "there is no auto layout", Want: "`layout best auto { … }` in the main file"}
	case y.Name == "":
		return &diag.Error{Code: "E0401", Msg: "there are several auto layouts", Want: diag.OneOf(list), Hint: "`--layout NAME` chooses one"}
	case y.decl == nil:
		return &diag.Error{Code: "E0401", Msg: "there is no layout `" + name + "`", Want: diag.OneOf(list), Hint: diag.DidYouMean(y.Name, list)}
	case auto:
		return source.Wanted("E0430", y.decl.Name, diag.OneOf(list), "", "layout `%s` is no auto layout: it leaves nothing to choose", name)
	}
	want := "a layout without `auto`"
	if len(list) > 0 {
		want += ": " + strings.TrimPrefix(diag.OneOf(list), "one of ")
	}
	return source.Wanted("E0430", y.decl.Name, want, "`ptc layout auto "+y.in.Prog.Main.Name+" --layout "+name+"` finds one",
		"`%s` is an auto layout: its directives are not chosen yet", name)
}

// Given is a layout that need not be in the file; nil is one device.
func Given(in *eval.Interp, decl *syntax.Layout) *Layout {
	y := &Layout{in: in, Name: "single", decl: decl}
	if decl != nil {
		y.Name = decl.Name.Name
	}
	for _, d := range syntax.Decls[*syntax.Layout](in.Prog.Main.Tree) {
		y.All = append(y.All, d.Name.Name)
	}
	return y
}

// Lower checks the directives against the lowered module and appends the
// metadata: the rules, the precision, and which modules are where.
//
// data is of the train block, nil where that has a mistake; unnamed says that the
// model has one, so that names may be missing for it.
func (y *Layout) Lower(mod *ir.Module, data *value.Data, unnamed bool, compute string) {
	r := y.reading(mod, newModel(y.in, mod.Func("step"), data, unnamed))
	if y.decl != nil {
		r.readAll()
		y.Warnings = checkAll(r)
	}
	y.write(r, compute)
}

// LowerPrecision appends the metadata of a layout of one device that computes in the
// precision of this one.
func (y *Layout) LowerPrecision(mod *ir.Module, compute string) {
	r := y.reading(mod, newModel(y.in, nil, nil, false))
	if y.decl != nil {
		for _, d := range of[*Precision](y.decl) {
			d.read(r)
		}
	}
	r.precision.Scale = layout.Scale{} // of gradients, which there are none of
	y.write(r, compute)
}

// reading is the first stage, with nothing read.
func (y *Layout) reading(mod *ir.Module, m *model) *reading {
	return &reading{context: context{f: y.in.NewFrame(y.in.Prog.Main), decl: y.decl, mod: mod, model: m},
		unsized: map[string]bool{}, once: map[string]syntax.Node{}, precision: layout.Float32()}
}

// write replaces the dtype in which the layout computes, unless compute is empty, and
// appends the metadata of what was read.
func (y *Layout) write(r *reading, compute string) {
	if compute != "" {
		d, ok := ir.ParseDType(compute)
		if !ok || !slices.Contains(layout.Precisions["compute"], d) {
			y.in.Errs.Add(&diag.Error{Code: "E0413", Msg: "cannot compute in `" + value.Clip(compute) + "`", Want: diag.OneOf(dtypes.Names(layout.Precisions["compute"]))})
		}
		r.precision.Compute = d
	}
	if r.precision.Compute != ir.F16 {
		r.precision.Scale = layout.Scale{}
	}
	l := &layout.Layout{Name: y.Name, Instances: r.model.instancePaths()}
	for _, p := range r.rules {
		l.Rules = append(l.Rules, p.Rule)
	}
	rules, instances := l.Terms()
	r.mod.Meta = append(r.mod.Meta, rules, layout.Encode(&r.precision), instances)
}

// of are the directives of one type, in order.
func of[D syntax.Directive](y *syntax.Layout) []D {
	var out []D
	for _, d := range y.Directives {
		if d, ok := d.(D); ok {
			out = append(out, d)
		}
	}
	return out
}
