package lang

import (
	"ptc/internal/diag"
	"ptc/ir"
)

// Options say what a program is lowered to.
type Options struct {
	Set []Override // config entries to replace
	// Layout is the layout's name; empty for the first one of the main file,
	// or one device where there is none.
	Layout string
	// Compute, where not empty, replaces the dtype in which the layout
	// computes: f32, bf16 or f16.
	Compute string
}

// Result is a lowered program.
type Result struct {
	Module  *ir.Module // at Global: @step and @eval
	Layout  string     // the layout's name
	Layouts []string   // all of the main file, in order
	Config  []ir.Attr  // resolved entries, in the order of the files
	// Params counts the parameters, Elems their elements.
	Params, Elems int
	// Unused are the paths of declared parameters that the loss does not read.
	// They are left out of the module.
	Unused []string
	// Warnings are about what is allowed and probably not meant.
	Warnings []string
	// Remarks are decisions that the source does not show.
	Remarks []string
}

// Lower resolves the program to a module, or to the list of its mistakes.
func (p *Program) Lower(o Options) (*Result, diag.List) {
	if p.main == nil || p.main.tree == nil {
		return nil, diag.List{{Code: "E0501", Msg: "nothing was parsed"}}
	}
	in := newInterp(p, o.Set)
	r := lower(in, o)
	if len(in.errs.list) > 0 {
		return nil, in.errs.list.Sort()
	}
	return r, nil
}

func lower(in *interp, o Options) *Result {
	if len(in.errs.list) > 0 {
		return nil
	}
	mod := &ir.Module{Level: ir.Global}
	y := chooseLayout(in, o.Layout)
	l := &lowerer{interp: in, mod: mod}
	t := l.trainBlock()
	if t == nil {
		return nil
	}
	before := len(in.errs.list)
	if in.model = l.trainFrame().instantiate(t.model, nil, t.node, ""); in.model == nil || in.stopped {
		return nil
	}
	unnamed := len(in.errs.list) > before
	mod.Name = t.model.decl.Name.Name
	config := in.configAttrs()
	mod.Meta = append(mod.Meta, term("config", config))
	l.train(t)
	if y != nil && !in.stopped {
		y.lower(mod, t.data, unnamed, o.Compute)
	}
	if len(in.errs.list) > 0 {
		return nil
	}
	r := &Result{Module: mod, Layouts: y.all, Layout: y.name, Config: config, Warnings: append(l.warnings, y.warnings...), Remarks: l.remarks}
	used := map[string]bool{}
	for _, a := range mod.Func("step").Args {
		if a.Role == ir.RoleParam {
			used[a.Path] = true
			r.Params++
			r.Elems += a.Value.Type.Elems()
		}
	}
	for _, p := range in.params {
		if !used[p.path] {
			r.Unused = append(r.Unused, p.path)
		}
	}
	return r
}
