package names

import (
	"strings"

	"ptc/lang/directive"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// train resolves the train block: the model, and the entries.
func (s *scope) train(d *syntax.Train) {
	s.add(s.file, d.Model, s.tops[s.file][d.Model.Name], false)
	for _, e := range d.Entries {
		s.loss = e.Key.Name == "loss"
		s.expr(e.Value)
		switch e.Key.Name {
		case "freeze":
			s.patterns(e.Value)
		case "optimizer":
			s.selections(e.Value)
		}
	}
	s.loss = true
	for _, m := range d.Metrics {
		for _, e := range m.Entries {
			s.expr(e.Value)
		}
	}
	s.loss = false
	for _, x := range d.Stops {
		for _, e := range x.Entries {
			if k := e.Key.Name; k != "on" && k != "best" { // words, and names of metrics
				s.expr(e.Value)
			}
		}
	}
	for _, l := range d.Loras {
		for _, e := range l.Entries {
			s.expr(e.Value)
		}
		for _, on := range l.On {
			for _, p := range on.Paths {
				s.path(p)
			}
		}
	}
}

// layout resolves the directives of a layout, kept ones too: what each names, and the expressions and
// paths in it.
func (s *scope) layout(d *syntax.Layout) {
	mesh := map[string]*Symbol{}
	for _, x := range d.Directives {
		if m, ok := x.(*directive.Mesh); ok {
			for _, e := range m.Axes {
				mesh[e.Key.Name] = s.declare(MeshAxis, s.file, e.Key, e, d)
			}
		}
	}
	if d.Auto != nil {
		s.auto(d.Auto)
	}
	for _, x := range d.Kept() {
		axes, over := x.Names()
		for _, a := range axes {
			s.axisName(a, a.Name)
		}
		for _, id := range over {
			s.add(s.file, id, mesh[id.Name], false)
		}
		form := directive.FormOf(x)
		syntax.Inspect(x, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Path:
				s.path(n)
			case *syntax.Options:
				s.options(form, n)
				return false
			case syntax.Expr:
				s.expr(n)
				return false
			}
			return true
		})
	}
}

// options resolves the values of options that are expressions; the others are words, or
// paths.
func (s *scope) options(form *directive.Form, o *syntax.Options) {
	for _, e := range o.Entries {
		if k := form.Key(e.Key.Name); k != nil && len(k.Words) == 0 && !k.Paths {
			s.expr(e.Value)
		}
	}
}

// path resolves the parts of a path into the model. A first part that names a module
// stands for its instances; after `**`, or a pattern, nothing is known.
func (s *scope) path(p *syntax.Path) {
	f, model := s.model()
	at := p.Pos.Offset
	m := model
	for i, part := range p.Parts {
		from := at
		at += len(part) + 1
		if p.EndPos.Offset-p.Pos.Offset != len(p.String()) {
			return // with spaces or comments in it
		}
		if part == "*" || part[0] >= '0' && part[0] <= '9' {
			continue
		}
		if m == nil || strings.Contains(part, "*") {
			return
		}
		t := s.Member(m, part)
		if i == 0 && (t == nil || t.Kind != SubModule && t.Kind != Parameter) {
			t = s.moduleNamed(f, part)
		}
		if t == nil {
			return
		}
		s.refs[s.file] = append(s.refs[s.file], Ref{File: s.file, From: from, To: from + len(part), Symbol: t})
		switch d := t.Decl.(type) {
		case *syntax.SubModule:
			m = s.subModule(t)
		case *syntax.Module:
			m = d
		default:
			m = nil
		}
	}
}

// model is what the program trains, and the file that it is in.
func (b *builder) model() (*source.File, *syntax.Module) {
	for _, f := range b.prog.Files {
		if f.Std {
			continue
		}
		for _, t := range syntax.Decls[*syntax.Train](f.Tree) {
			if f.Modules[t.Model.Name] != nil {
				return f, f.Modules[t.Model.Name]
			}
		}
	}
	return nil, nil
}

// moduleNamed is a module of this name: of the file, then of what is read otherwise.
func (b *builder) moduleNamed(f *source.File, name string) *Symbol {
	files := b.prog.Files
	if f != nil {
		files = append([]*source.File{f}, files...)
	}
	for _, g := range files {
		if t := b.tops[g][name]; t != nil && t.Kind == Module {
			return t
		}
	}
	return nil
}
