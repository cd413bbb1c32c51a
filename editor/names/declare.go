package names

import (
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// builder makes an Index.
type builder struct {
	*Index
	prog       *source.Program
	seen       Seen
	builtins   map[string]*Symbol
	signatures map[string]eval.Signature
	fields     map[string]*Symbol
}

// declare makes a symbol for an identifier, and its reference.
func (b *builder) declare(k Kind, f *source.File, id *syntax.Ident, decl, owner syntax.Node) *Symbol {
	s := &Symbol{Kind: k, Name: id.Name, File: f, At: id, Decl: decl, Owner: owner}
	b.byAt[id] = s
	b.add(f, id, s, true)
	return s
}

// add notes a reference by a node that is the name alone.
func (b *builder) add(f *source.File, n syntax.Node, s *Symbol, declares bool) {
	if s == nil {
		return
	}
	at := n.Extent()
	b.refs[f] = append(b.refs[f], Ref{f, at.Pos.Offset, at.EndPos.Offset, s, declares, n})
}

// axis is the symbol of an axis or entry of the config.
func (b *builder) axis(name string) *Symbol {
	s := b.axes[name]
	if s == nil {
		s = &Symbol{Kind: Axis, Name: name}
		b.axes[name] = s
	}
	return s
}

// declareFile enters what a file declares at top level, and the members of its modules.
func (b *builder) declareFile(f *source.File) {
	tops := map[string]*Symbol{}
	b.tops[f] = tops
	if f.Tree == nil {
		return
	}
	enter := func(s *Symbol) {
		if tops[s.Name] == nil {
			tops[s.Name] = s
		}
	}
	for _, d := range f.Tree.Decls {
		switch d := d.(type) {
		case *syntax.Config:
			for _, e := range d.Entries {
				b.declareEntry(f, e)
			}
		case *syntax.Fn:
			enter(b.declare(Function, f, d.Name, d, nil))
			b.declareFormals(f, d.Params, d)
		case *syntax.Module:
			enter(b.declare(Module, f, d.Name, d, nil))
			b.declareMembers(f, d)
		case *syntax.Import:
			if id := source.ImportName(d); d.As != nil || len(d.Parts) > 0 {
				s := b.declare(Import, f, id, d, nil)
				s.Target = f.Imports[id.Name]
				enter(s)
			} else {
				enter(&Symbol{Kind: Import, Name: id.Name, File: f, At: id, Decl: d, Target: f.Imports[id.Name]})
			}
		case *syntax.Layout:
			b.declare(Layout, f, d.Name, d, nil)
		}
	}
}

// declareEntry enters an entry of the config: the first one of a name counts, and the
// others are references to it.
func (b *builder) declareEntry(f *source.File, e *syntax.Entry) {
	s := b.axis(e.Key.Name)
	if s.At == nil {
		s.File, s.At, s.Decl = f, e.Key, e
		b.byAt[e.Key] = s
	}
	b.add(f, e.Key, s, s.At == e.Key)
}

// declareMembers enters what a module declares, and the parameters of its functions.
func (b *builder) declareMembers(f *source.File, m *syntax.Module) {
	b.declareFormals(f, m.Params, m)
	for _, x := range m.Members {
		k := Constant
		switch x := x.(type) {
		case *syntax.ParamDecl:
			k = Parameter
		case *syntax.SubModule:
			k = SubModule
		case *syntax.Fn:
			k = Function
			b.declareFormals(f, x.Params, x)
		}
		for _, id := range x.Declares() {
			b.declare(k, f, id, x, m)
		}
	}
}

func (b *builder) declareFormals(f *source.File, ps []*syntax.Param, owner syntax.Node) {
	for _, p := range ps {
		s := b.declare(Formal, f, p.Name, p, owner)
		if t, ok := p.Type.(*syntax.NamedType); ok {
			s.OfAxis = t.Name == "axis"
		}
	}
}

// Member is what a module declares by a name, or nil.
func (x *Index) Member(m *syntax.Module, name string) *Symbol {
	for id := range m.Declared() {
		if id.Name == name {
			return x.byAt[id]
		}
	}
	return nil
}

func (x *Index) formal(ps []*syntax.Param, name string) *Symbol {
	for _, p := range ps {
		if p.Name.Name == name {
			return x.byAt[p.Name]
		}
	}
	return nil
}
