package compiler

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/auto"
	"ptc/lang/syntax"
	"ptc/passes"
	"ptc/runtime/program"
)

// Auto is what an auto layout of the source says: that of a name, or the only one where the name is empty. The error is
// diagnostics of the source.
func (p *Prober) Auto(name string) (*auto.Layout, error) {
	l, errs := p.program.Auto(name, p.set)
	if len(errs) > 0 {
		return nil, errs
	}
	return l, nil
}

// Plan is what a probe of a layout, the text of its block, gives: the plan of all devices. If the layout is refused, code is that of
// the first mistake, and that is no error.
func (p *Prober) Plan(text string) (plan *program.Plan, code string, err error) {
	l, err := layoutOf(text)
	if err != nil {
		return nil, "", err
	}
	x, err := p.Probe(l)
	if code := codeOf(err); code != "" || err != nil {
		if code != "" {
			err = nil
		}
		return nil, code, err
	}
	return x.Whole(), "", nil
}

// layoutOf parses the text of a layout.
func layoutOf(text string) (*syntax.Layout, error) {
	f, errs := syntax.Parse("layout.ptl", []byte(text))
	if len(errs) > 0 {
		return nil, errs
	}
	all := syntax.Decls[*syntax.Layout](f)
	if len(all) != 1 {
		return nil, &diag.Error{Code: "E0101", Msg: "this is not one layout"}
	}
	return all[0], nil
}

// codeOf is the code of the first diagnostic of an error.
func codeOf(err error) string {
	switch err := err.(type) {
	case diag.List:
		if len(err) > 0 {
			return err[0].Code
		}
	case *diag.Error:
		return err.Code
	}
	return ""
}

// Model is the step under a layout, as the text of its block, before anything is divided among devices: with its gradients, in
// its precision, and with repeated modules written once.
func (p *Prober) Model(text string) (*ir.Module, error) {
	l, err := layoutOf(text)
	if err != nil {
		return nil, err
	}
	low, err := p.under(l)
	if err != nil {
		return nil, err
	}
	c, err := contextOf(p.options, &Report{}, p.target)
	if err != nil {
		return nil, err
	}
	if err := passes.Run(c, low.Module, &passes.Options{Stop: "precision"}); err != nil {
		return nil, classify(err)
	}
	return low.Module, nil
}

// Config is the resolved config of the source.
func (p *Prober) Config() [][2]string {
	attrs, _ := p.program.Config(p.set)
	out := make([][2]string, len(attrs))
	for i, a := range pairs(attrs) {
		out[i] = [2]string{a.Key, a.Value}
	}
	return out
}

// Import is a file of the user's that the source imports, directly or through others.
type Import struct {
	Path string // from the folder of the main file
	Text string
	Pos  diag.Pos // of the first import that names it
	Len  int      // bytes of that import
}

// Imports are the files that the source imports, without those of the standard library, sorted by path.
func (p *Prober) Imports() (out []Import) {
	for _, x := range p.program.Imported() {
		text, _ := p.program.Source(x.File.Name)
		out = append(out, Import{Path: x.File.Name, Text: text, Pos: x.By.At(), Len: x.By.Len()})
	}
	slices.SortFunc(out, func(a, b Import) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// With is the main file with a layout before its others, and without the auto layout called name: a source whose layout is, by
// default, the one that was found.
func (p *Prober) With(name, layout string) string {
	text := string(p.options.Source)
	var out strings.Builder
	at, put := 0, false
	for _, d := range syntax.Decls[*syntax.Layout](p.program.Main.Tree) {
		from, to := d.Pos.Offset, d.EndPos.Offset
		out.WriteString(text[at:from])
		if !put {
			out.WriteString(layout)
			out.WriteByte('\n')
			put = true
		}
		if at = to; d.Auto != nil && d.Name.Name == name {
			continue
		}
		out.WriteString(text[from:to])
	}
	out.WriteString(text[at:])
	return out.String()
}
