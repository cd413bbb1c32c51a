package names

import (
	"slices"

	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// scope is where names are looked up: the variables of a function, the members of a
// module, then the file.
type scope struct {
	*builder
	file   *source.File
	module *syntax.Module
	owner  syntax.Node // the function
	vars   map[string]*Symbol
	loss   bool // in the entry `loss`, where fields of the batch are known
}

// file resolves the names of a file.
func (b *builder) file(f *source.File) {
	if f.Tree == nil {
		return
	}
	for _, d := range f.Tree.Decls {
		s := &scope{builder: b, file: f}
		switch d := d.(type) {
		case *syntax.Config:
			for _, e := range d.Entries {
				s.expr(e.Value)
			}
		case *syntax.Fn:
			s.function(d)
		case *syntax.Module:
			s.module = d
			s.formals(d.Params)
			for _, x := range d.Members {
				s.member(x)
			}
		case *syntax.Train:
			s.train(d)
		case *syntax.Layout:
			s.layout(d)
		}
	}
}

func (s *scope) member(x syntax.Member) {
	switch x := x.(type) {
	case *syntax.ParamDecl:
		s.typ(x.Type)
		s.initial(x.Init)
		s.expr(x.When)
	case *syntax.SubModule:
		s.expr(x.Value)
	case *syntax.Let:
		s.expr(x.Value)
	case *syntax.Fn:
		s.function(x)
	}
}

// initial resolves initial values, whose names are words.
func (s *scope) initial(x syntax.Expr) {
	name := x
	c, isCall := x.(*syntax.Call)
	if isCall {
		name = c.Fun
	}
	n, ok := name.(*syntax.Name)
	if !ok || !slices.ContainsFunc(eval.Initializers(), func(g eval.Signature) bool { return g.Name == n.Name }) {
		s.expr(x)
		return
	}
	if isCall {
		for _, a := range c.Args {
			s.expr(a.Value)
		}
	}
}

// function resolves a function: its variables are those of the function, not of a
// block, and each is known from where it is first set.
func (s *scope) function(d *syntax.Fn) {
	in := &scope{builder: s.builder, file: s.file, module: s.module, owner: d, vars: map[string]*Symbol{}}
	for _, p := range d.Params {
		in.vars[p.Name.Name] = in.byAt[p.Name]
	}
	in.formals(d.Params)
	in.typ(d.Result)
	in.block(d.Body)
}

func (s *scope) formals(ps []*syntax.Param) {
	for _, p := range ps {
		s.typ(p.Type)
		if t := s.byAt[p.Name]; t.OfAxis {
			s.axisExpr(p.Default)
		} else {
			s.expr(p.Default)
		}
	}
}

func (s *scope) block(b *syntax.Block) {
	if b == nil {
		return
	}
	for _, x := range b.Stmts {
		switch x := x.(type) {
		case *syntax.Assign:
			s.expr(x.Value)
			s.typ(x.Type)
			for _, n := range x.Names {
				s.set(n, x)
			}
		case *syntax.Return:
			for _, v := range x.Values {
				s.expr(v)
			}
		case *syntax.For:
			s.expr(x.Over)
			s.set(x.Var, x)
			s.block(x.Body)
		case *syntax.If:
			s.expr(x.Cond)
			s.block(x.Then)
			for _, e := range x.Else {
				s.expr(e.Cond)
				s.block(e.Body)
			}
		}
	}
}

// set declares a variable, or names the one that there is.
func (s *scope) set(id *syntax.Ident, decl syntax.Node) {
	if v := s.vars[id.Name]; v != nil {
		s.add(s.file, id, v, false)
		return
	}
	s.vars[id.Name] = s.declare(Local, s.file, id, decl, s.owner)
}

func (s *scope) typ(t syntax.Type) {
	switch t := t.(type) {
	case *syntax.TensorType:
		for _, a := range t.Axes {
			s.axisName(a.Name, a.Name.Name)
			s.expr(a.Size)
		}
	case *syntax.LikeType:
		s.name(t.Of, t.Of.Name)
	case *syntax.TupleType:
		for _, e := range t.Elems {
			s.typ(e)
		}
	}
}

// lookup is what a name stands for; nil where that is no declaration.
func (s *scope) lookup(name string) *Symbol {
	if t, ok := s.find(s.file.Places(), name); ok {
		return t
	}
	return s.axis(name)
}

func (s *scope) find(places []source.Place, name string) (*Symbol, bool) {
	return source.Lookup(places, func(p source.Place) (t *Symbol, ok bool) {
		switch p {
		case source.Variables:
			t = s.vars[name]
		case source.Members:
			if s.module != nil {
				t = s.Member(s.module, name)
			}
		case source.Top:
			t = s.tops[s.file][name]
		case source.Config:
			if t = s.axes[name]; t != nil && t.At == nil {
				t = nil
			}
		case source.Implicit:
			t = s.tops[s.prog.Implies(name)][name]
		case source.Language:
			return s.builtins[name], eval.Defines(name)
		}
		return t, t != nil
	})
}

// name resolves a name that is an expression.
func (s *scope) name(n syntax.Node, name string) {
	if s.asAxis(n, name) {
		t := s.axis(name)
		t.Named, t.Own = true, t.Own || !s.file.Std
		s.add(s.file, n, t, false)
		return
	}
	t := s.lookup(name)
	if t != nil && t.Kind == Axis && s.loss && s.isTensor(n) {
		t = s.field(name)
	}
	s.add(s.file, n, t, false)
}

// field is a field of the batch, which the source of data names.
func (b *builder) field(name string) *Symbol {
	if b.fields == nil {
		b.fields = map[string]*Symbol{}
	}
	if b.fields[name] == nil {
		b.fields[name] = &Symbol{Kind: Field, Name: name}
	}
	return b.fields[name]
}

func (s *scope) isTensor(n syntax.Node) bool {
	return slices.ContainsFunc(s.seen[n], func(v eval.Seen) bool {
		_, ok := v.Value.(value.Tensor)
		return ok
	})
}

// asAxis is whether a node was evaluated as the axis of its name although a tensor or
// the like has that name too.
func (s *scope) asAxis(n syntax.Node, name string) bool {
	for _, v := range s.seen[n] {
		if len(v.Axes) == 1 && v.Axes[0] == name {
			t := s.lookup(name)
			return t == nil || t.Kind != Formal && t.Kind != Constant
		}
	}
	return false
}

// axisName resolves a name in the place of an axis: that of a parameter, or the axis.
func (s *scope) axisName(n syntax.Node, name string) {
	t := s.vars[name]
	if t == nil && s.module != nil {
		t = s.Member(s.module, name)
	}
	if t == nil || t.Kind != Formal && t.Kind != Constant || t.Kind == Formal && tensorTyped(t) {
		t = s.axis(name)
		t.Named, t.Own = true, t.Own || !s.file.Std
	}
	s.add(s.file, n, t, false)
}

func tensorTyped(t *Symbol) bool {
	p, ok := t.Decl.(*syntax.Param)
	if !ok {
		return false
	}
	_, tensor := p.Type.(*syntax.TensorType)
	return tensor
}

// axisExpr resolves an expression that names axes.
func (s *scope) axisExpr(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Name:
		s.axisName(x, x.Name)
	case *syntax.Tuple:
		for _, e := range x.Elems {
			s.axisExpr(e)
		}
	case *syntax.List:
		for _, e := range x.Elems {
			s.axisExpr(e)
		}
	default:
		s.expr(x)
	}
}
