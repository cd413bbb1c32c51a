package directive

import (
	"fmt"
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
	y := &Layout{in: in, f: in.NewFrame(in.Prog.Main), Name: "single", All: all, precision: layout.Float32(), once: map[string]syntax.Node{}, unsized: map[string]bool{}, recomputed: map[*value.Instance]*syntax.Recompute{}, oneChunk: map[*syntax.Pipeline]string{}}
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
		y.checkAccumulate()
		y.checkShards()
		y.checkIdle()
		y.checkPointless()
	}
	y.computeIn(compute)
	rules, instances := (&layout.Layout{Name: y.Name, Rules: y.rules, Instances: y.instancePaths()}).Terms()
	mod.Meta = append(mod.Meta, rules, layout.Encode(&y.precision), instances)
}

// LowerPrecision appends the metadata of a layout of one device that computes in the
// precision of this one.
func (y *Layout) LowerPrecision(mod *ir.Module, compute string) {
	y.mod = mod
	if y.decl != nil {
		for _, d := range y.decl.Directives {
			if p, ok := d.(*syntax.Precision); ok {
				y.setPrecision(p)
			}
		}
	}
	y.computeIn(compute)
	y.precision.Scale = layout.Scale{} // of gradients, which there are none of
	rules, instances := (&layout.Layout{Name: y.Name, Instances: y.instancePaths()}).Terms()
	mod.Meta = append(mod.Meta, rules, layout.Encode(&y.precision), instances)
}

// computeIn replaces the dtype in which the layout computes, unless it is empty.
func (y *Layout) computeIn(compute string) {
	if compute != "" {
		d, ok := ir.ParseDType(compute)
		if !ok || !slices.Contains(layout.Precisions["compute"], d) {
			y.in.Errs.Add(&diag.Error{Code: "E0413", Msg: "cannot compute in `" + value.Clip(compute) + "`", Want: diag.OneOf(dtypes.Names(layout.Precisions["compute"]))})
		}
		y.precision.Compute = d
	}
	if y.precision.Compute != ir.F16 {
		y.precision.Scale = layout.Scale{}
	}
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
			y.unsized[e.Key.Name] = true
			continue
		}
		n, ok := c.Int()
		switch {
		case !ok || n < 1 || n > source.MaxDevices || y.mod.Devices()*n > source.MaxDevices:
			y.f.Wants("E0414", e.Value, fmt.Sprintf("at least 1, and at most %d devices in all", source.MaxDevices), "", "mesh axis `%s` of size %s", e.Key.Name, value.FormatNumber(c))
			y.unsized[e.Key.Name] = true
		case y.mod.MeshSize(e.Key.Name) != 0:
			y.f.Errorf("E0414", e.Key, "mesh axis `%s` is declared twice", e.Key.Name)
		default:
			y.mod.Mesh = append(y.mod.Mesh, ir.MeshAxis{Name: e.Key.Name, Size: n})
		}
	}
}
