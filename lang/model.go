package lang

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/auto"
	"ptc/lang/directive"
	"ptc/lang/eval"
	"ptc/lang/keymap"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/train"
)

// Model is a program lowered for one config and for no layout: [Model.Under] adds one.
type Model struct {
	in      *eval.Interp
	options Options
	mod     *ir.Module
	lowerer *train.Lowerer
	train   *train.Block
	unnamed bool // the model has a mistake, so that names may be missing for it
}

// LowerModel lowers the program up to the layout. Of the options, Layout is not read, and ports are constants.
func (p *Program) LowerModel(o Options) (*Model, diag.List) {
	if p.Main == nil || p.Main.Tree == nil {
		return nil, diag.List{{Code: "E0501", Msg: "nothing was parsed"}}
	}
	o.Layout, o.Ports = "", nil
	return evaluated(p, o, nil, func(in *eval.Interp) *Model {
		checkSweep(in)
		return modelOf(in, o)
	})
}

// Module is the lowered model, which is not to be changed.
func (m *Model) Module() *ir.Module { return m.mod }

// Under is the model under a layout, which need not be one of the file; nil is one device. Results share nothing that passes
// change. The diagnostics are those of [Program.Lower] under that layout. Only one goroutine at a time may call it.
func (m *Model) Under(l *syntax.Layout) (*Result, diag.List) {
	m.in.Errs = source.Reporter{}
	r := m.place(directive.Given(m.in, l), m.mod.Clone())
	if errs := m.in.Errs.List; len(errs) > 0 {
		return nil, errs.Sort()
	}
	return r, nil
}

// modelOf lowers the model with in; nil where it has mistakes, or is to be lowered again.
func modelOf(in *eval.Interp, o Options) *Model {
	mod := &ir.Module{Level: ir.Global}
	l := &train.Lowerer{Interp: in, Mod: mod}
	t := l.Block()
	if t == nil {
		return nil
	}
	before := len(in.Errs.List)
	if in.Model.Root = l.Frame().Instantiate(t.Model, nil, t.Node, ""); in.Model.Root == nil || in.Stopped {
		return nil
	}
	m := &Model{in: in, options: o, mod: mod, lowerer: l, train: t, unnamed: len(in.Errs.List) > before}
	mod.Name = t.Model.Decl.Name.Name
	mod.Meta = append(mod.Meta, eval.Term("config", in.Config.Attrs()))
	if len(in.Lora.Adapters) > 0 && in.Lora.Contractions == nil {
		l.See(t)
		return nil
	}
	if o.Sample {
		l.Sample(t)
	} else {
		l.Train(t)
	}
	return m
}

// place adds layout y, which is nil where there is none of its name, to mod, the module of m or a copy; nil where there are
// mistakes.
func (m *Model) place(y *directive.Layout, mod *ir.Module) *Result {
	in, o, l := m.in, m.options, m.lowerer
	var search *auto.Layout
	switch {
	case y == nil || in.Stopped:
	case o.Auto:
		search = y.Auto(mod, m.train.Data, m.unnamed)
	case o.Sample:
		y.LowerPrecision(mod, o.Compute)
	default:
		y.Lower(mod, m.train.Data, m.unnamed, o.Compute)
	}
	var maps []keymap.Map
	if len(in.Errs.List) == 0 && !in.Stopped {
		maps = keymap.Lower(in, m.train.Model.File)
	}
	if len(in.Errs.List) > 0 || in.Stopped {
		return nil
	}
	r := &Result{Module: mod, Layouts: y.All, Layout: y.Name, Auto: search, Names: maps, Config: in.Config.Attrs(), Settings: in.Config.Settings(),
		Warnings: append(slices.Clone(l.Warnings), y.Warnings...), Remarks: l.Remarks}
	for _, p := range in.Model.Params {
		if !l.Reads(p) {
			if !o.Sample { // what the loss alone reads is of no concern
				r.Unused = append(r.Unused, p.Path)
			}
			continue
		}
		r.Params++
		r.Elems += p.Type.Elems()
	}
	for _, b := range l.Built {
		for _, omitted := range b.Omitted {
			r.Omitted = append(r.Omitted, Omitted{b.Func.Name, omitted})
		}
	}
	return r
}
