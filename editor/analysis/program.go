package analysis

import (
	"context"
	"slices"

	"ptc/editor/names"
	"ptc/editor/text"
	"ptc/foresight/machine"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Input is a main file as it is now.
type Input struct {
	Name string // of the file, as the program knows it
	Text string
	Read lang.Importer
	// Layout is the layout of which values are shown; the first one where it is empty, or
	// where there is none of this name.
	Layout string
	// Target is the target whose plan is described; where it is empty, this machine's processor.
	Target string
}

// Program is what the language says of one.
type Program struct {
	*lang.Program
	Input  Input
	Errs   diag.List
	Warn   []string
	Layout string   // that was chosen; empty where there is none
	All    []string // the layouts of the main file
	// Autos are the auto layouts among them, which are checked and not compiled.
	Autos map[string]bool
	Names *names.Index
	Seen  names.Seen
	// Broken is whether a file has mistakes of syntax, so that parts are missing.
	Broken bool
	// Trains is whether there is anything to compile.
	Trains bool
	texts  map[*source.File]*text.Text
}

// maxSeen is how many different values of one node are kept.
const maxSeen = 4

// maxLayouts is of how many layouts mistakes are looked for.
const maxLayouts = 16

// Check reads and evaluates a program, or reads the machine of a .ptm file. It is nil where ctx ended.
func Check(ctx context.Context, in Input) *Program {
	p := &Program{Input: in, Seen: names.Seen{}, Autos: map[string]bool{}, texts: map[*source.File]*text.Text{}}
	p.Program, p.Errs = lang.LoadPart(in.Name, []byte(in.Text), in.Read)
	p.Broken = slices.ContainsFunc(p.Errs, syntactic)
	for i, f := range filesInOrder(p.Program) {
		p.texts[f] = text.New(p.Sources[i].Text)
	}
	p.layouts()
	switch {
	case machine.IsFile(in.Name):
		_, p.Errs = machine.Load(in.Name, []byte(in.Text))
	case p.Main.Tree != nil:
		p.evaluate(ctx)
	}
	if ctx.Err() != nil {
		return nil
	}
	p.Names = names.Build(p.Program.Program, p.Seen)
	return p
}

// filesInOrder are the files of a program in the order of its sources.
func filesInOrder(p *lang.Program) []*source.File {
	var own, std []*source.File
	for _, f := range p.Files {
		if f.Std {
			std = append(std, f)
		} else {
			own = append(own, f)
		}
	}
	return append(own, std...)
}

// syntactic is whether a mistake is one of syntax, for which parts are missing.
func syntactic(e *diag.Error) bool { return len(e.Code) > 2 && e.Code[:3] == "E01" }

// layouts finds the layouts of the main file, and the one that is shown: the first ordinary
// one, if the input names none.
func (p *Program) layouts() {
	for _, y := range syntax.Decls[*syntax.Layout](p.Main.Tree) {
		if !slices.Contains(p.All, y.Name.Name) {
			p.All = append(p.All, y.Name.Name)
			p.Autos[y.Name.Name] = y.Auto != nil
		}
	}
	switch {
	case slices.Contains(p.All, p.Input.Layout):
		p.Layout = p.Input.Layout
	case len(p.All) > 0:
		p.Layout = p.All[max(0, slices.IndexFunc(p.All, func(n string) bool { return !p.Autos[n] }))]
	}
}

// evaluate lowers the program under the layout that is shown, which is watched, and,
// where nothing is wrong with it, under the others for their mistakes.
func (p *Program) evaluate(ctx context.Context) {
	watch := func(s lang.Seen) bool {
		p.saw(s)
		return ctx.Err() == nil
	}
	r, errs := p.Lower(lang.Options{Layout: p.Layout, Auto: p.Autos[p.Layout], Omit: true, Watch: watch})
	p.Trains = !slices.ContainsFunc(errs, func(e *diag.Error) bool { return e.Code == "E0501" })
	if len(p.Errs) > 0 { // what follows from them is not to be told
		return
	}
	if !p.Trains {
		return // a file of modules alone is no mistake
	}
	p.Errs = append(p.Errs, errs...)
	if r == nil && slices.ContainsFunc(errs, func(e *diag.Error) bool { return e.Code[:3] != "E04" }) {
		return // others would say the same
	}
	if r != nil {
		p.Warn = r.Warnings
	}
	for _, name := range p.All[:min(len(p.All), maxLayouts)] {
		if name == p.Layout {
			continue
		}
		_, errs := p.Lower(lang.Options{Layout: name, Auto: p.Autos[name], Omit: true, Watch: func(lang.Seen) bool { return ctx.Err() == nil }})
		for _, e := range errs {
			if !slices.ContainsFunc(p.Errs, func(o *diag.Error) bool { return o.Code == e.Code && o.Pos == e.Pos }) {
				p.Errs = append(p.Errs, e)
			}
		}
	}
	p.Errs = p.Errs.Sort()
}

// saw keeps a value that differs from those of the node so far.
func (p *Program) saw(s lang.Seen) {
	old := p.Seen[s.Node]
	if len(old) >= maxSeen || slices.ContainsFunc(old, func(o lang.Seen) bool { return alike(o, s) }) {
		return
	}
	p.Seen[s.Node] = append(old, s)
}

func alike(a, b lang.Seen) bool {
	if !slices.Equal(a.Axes, b.Axes) {
		return false
	}
	t, okT := TypeOf(a.Value)
	u, okU := TypeOf(b.Value)
	if okT || okU {
		return okT && okU && t.Equal(u)
	}
	switch a.Value.(type) {
	case value.Number, value.Text, value.Truth, value.Word:
		return a.Value == b.Value
	case nil, value.Unknown:
		return true
	}
	return b.Value != nil && a.Value.What() == b.Value.What()
}

// TypeOf is the type of a tensor or parameter.
func TypeOf(v value.Value) (ir.Type, bool) {
	switch v := v.(type) {
	case value.Tensor:
		return v.V.Type, true
	case value.ParamRef:
		return v.Type, !v.Bad && v.Absent == nil
	case value.Shape:
		return v.Type, true
	}
	return ir.Type{}, false
}

// TextOf is the text of a file.
func (p *Program) TextOf(f *source.File) *text.Text { return p.texts[f] }

// File is the file of a name.
func (p *Program) File(name string, std bool) *source.File {
	for _, f := range p.Files {
		if f.Name == name && f.Std == std {
			return f
		}
	}
	return nil
}

// FileOf is the file of a diagnostic's place, or nil.
func (p *Program) FileOf(at diag.Pos) *source.File {
	if f := p.File(at.File, false); f != nil {
		return f
	}
	return p.File(at.File, true)
}
