package names

import (
	"slices"

	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func (s *scope) expr(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Name:
		s.name(x, x.Name)
	case *syntax.Dot:
		s.expr(x.X)
		s.add(s.file, x.Sel, s.selected(x), false)
	case *syntax.Call:
		s.call(x)
	case *syntax.Index:
		s.index(x)
	case nil:
	default:
		below(x, s.expr)
	}
}

// below calls visit for the expressions directly within x.
func below(x syntax.Expr, visit func(syntax.Expr)) {
	syntax.Inspect(x, func(n syntax.Node) bool {
		e, ok := n.(syntax.Expr)
		if !ok || e == x {
			return true
		}
		visit(e)
		return false
	})
}

// selected is what `x.name` stands for.
func (s *scope) selected(x *syntax.Dot) *Symbol {
	if n, ok := x.X.(*syntax.Name); ok {
		if t := s.lookup(n.Name); t != nil && t.Kind == Import {
			if t.Target == nil {
				return nil
			}
			return s.tops[s.prog.Selected(t.Target, x.Sel.Name)][x.Sel.Name]
		}
	}
	if m := s.moduleOf(x.X); m != nil {
		return s.Member(m, x.Sel.Name)
	}
	for _, v := range s.seen[x.X] {
		switch v.Value.(type) {
		case value.Tensor, value.Number:
			return s.builtins[x.Sel.Name]
		}
	}
	return nil
}

// moduleOf is the module that an expression is an instance of, or nil.
func (s *scope) moduleOf(x syntax.Expr) *syntax.Module {
	for _, v := range s.seen[x] {
		switch v := v.Value.(type) {
		case *value.Instance:
			return v.Decl
		case value.Instances:
			if len(v) > 0 {
				return v[0].Decl
			}
		}
	}
	n, ok := x.(*syntax.Name)
	if !ok {
		return nil
	}
	switch t := s.lookup(n.Name); {
	case t == nil:
	case t.Kind == SubModule:
		return s.subModule(s.scopeOf(t), t)
	case t.Kind == Module && s.loss: // in the loss, the model's name is its instance
		m, _ := t.Decl.(*syntax.Module)
		return m
	}
	return nil
}

// scopeOf is the scope in which a member is declared.
func (s *scope) scopeOf(t *Symbol) *scope {
	m, _ := t.Owner.(*syntax.Module)
	return &scope{builder: s.builder, file: t.File, module: m}
}

// subModule is the module of `name : Module(args)[count]`.
func (s *scope) subModule(in *scope, t *Symbol) *syntax.Module {
	d, ok := t.Decl.(*syntax.SubModule)
	if !ok {
		return nil
	}
	x := d.Value
	if i, ok := x.(*syntax.Index); ok {
		x = i.X
	}
	if c, ok := x.(*syntax.Call); ok {
		x = c.Fun
	}
	if d := in.callee(x); d != nil && d.Kind == Module {
		m, _ := d.Decl.(*syntax.Module)
		return m
	}
	return nil
}

// callee is the declaration that the function of a call names.
func (s *scope) callee(x syntax.Expr) *Symbol {
	switch x := x.(type) {
	case *syntax.Name:
		t := s.lookup(x.Name)
		if t != nil && t.Kind != Local && t.Kind != Formal && t.Kind != Parameter && t.Kind != Axis {
			return t
		}
		for _, v := range s.seen[x] { // a variable does not hide a function
			if f, ok := v.Value.(value.Function); ok {
				return s.byAt[f.Decl.Name]
			}
		}
		if b, ok := s.find(source.Callables, x.Name); ok && b != nil {
			return b
		}
		return t
	case *syntax.Dot:
		return s.selected(x)
	}
	return nil
}

// call resolves a call. The name of an argument is that of the callee's parameter, or
// of an axis where the function takes any.
func (s *scope) call(x *syntax.Call) {
	if n, ok := x.Fun.(*syntax.Name); ok {
		t := s.callee(n)
		if t == nil || t.Name != n.Name { // a variable that holds a function
			t = s.lookup(n.Name)
		}
		s.add(s.file, n, t, false)
	} else {
		s.expr(x.Fun)
	}
	callee := s.callee(x.Fun)
	formals := s.formalsOf(x.Fun, callee)
	_, method := x.Fun.(*syntax.Dot)
	for i, a := range x.Args {
		axis := false
		switch {
		case callee != nil && callee.Kind == Builtin:
			axis = s.builtinArg(callee.Name, a, i, method)
		case a.Name != nil:
			if f := s.formal(formals, a.Name.Name); f != nil {
				s.add(s.file, a.Name, f, false)
				axis = f.OfAxis
			}
		case i < len(formals):
			axis = s.byAt[formals[i].Name].OfAxis
		}
		if axis {
			s.axisExpr(a.Value)
		} else {
			s.expr(a.Value)
		}
	}
}

// formalsOf are the declared parameters of what is called.
func (s *scope) formalsOf(fun syntax.Expr, callee *Symbol) []*syntax.Param {
	var m *syntax.Module
	if callee != nil {
		switch d := callee.Decl.(type) {
		case *syntax.Fn:
			return d.Params
		case *syntax.Module:
			if !s.loss || callee.Kind != Module || d.Kind != "model" {
				return d.Params
			}
			m = d
		}
	}
	if m == nil {
		m = s.moduleOf(fun)
	}
	if m == nil {
		return nil
	}
	if f := m.Fn("apply"); f != nil {
		return f.Params
	}
	return nil
}

// builtinArg resolves the name of argument i of a built-in function, and says whether
// its value names axes.
func (s *scope) builtinArg(name string, a *syntax.Arg, i int, method bool) bool {
	g := s.signatures[name]
	if a.Name == nil {
		if method {
			i++
		}
		if name == "index" {
			return true
		}
		return i < len(g.Axes) && g.Axes[i]
	}
	if i := slices.Index(g.Names, a.Name.Name); i >= 0 {
		return g.Axes[i]
	}
	if g.Any && name != "source" {
		s.axisName(a.Name, a.Name.Name)
		return true
	}
	return false
}

// index resolves `x[axis = …]`, `Module[count]` and a type as a value, `i32[batch]`.
func (s *scope) index(x *syntax.Index) {
	s.expr(x.X)
	n, isName := x.X.(*syntax.Name)
	shape := isName && s.lookup(n.Name) == nil // a dtype
	for _, a := range x.Args {
		if a.Name != nil {
			s.axisName(a.Name, a.Name.Name)
		}
		if r, ok := a.Value.(*syntax.Range); ok {
			s.expr(r.Lo)
			s.expr(r.Hi)
		} else if shape && a.Name == nil {
			s.axisExpr(a.Value)
		} else {
			s.expr(a.Value)
		}
	}
}
