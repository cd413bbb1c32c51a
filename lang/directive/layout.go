package directive

import (
	"slices"

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
	All      []string // the layouts of the main file, in order
	Warnings []string // of what changes nothing

	in   *eval.Interp
	decl *syntax.Layout // nil: one device, by default
}

// Choose finds the layout by name; the first one where none is asked
// for. It returns nil after reporting an unknown name.
func Choose(in *eval.Interp, name string) *Layout {
	var all []string
	byName := map[string]*syntax.Layout{}
	for _, d := range syntax.Decls[*syntax.Layout](in.Prog.Main.Tree) {
		if old := byName[d.Name.Name]; old != nil {
			in.Errs.Add(source.Twice(d.Name, old.Name))
			continue
		}
		byName[d.Name.Name] = d
		all = append(all, d.Name.Name)
	}
	switch {
	case name == "" && len(all) > 0:
		name = all[0]
	case name == "" || name == "single" && byName[name] == nil:
		return &Layout{in: in, Name: "single", All: all}
	}
	if byName[name] == nil {
		in.Errs.Add(&diag.Error{Code: "E0401", Msg: "there is no layout `" + value.Clip(name) + "`",
			Want: diag.OneOf(all), Hint: diag.DidYouMean(name, all)})
		return nil
	}
	return &Layout{in: in, Name: name, All: all, decl: byName[name]}
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
