package eval

import (
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// block runs statements until one returns, and gives what that returned. Variables belong
// to the function, not to the block.
func (f *Frame) block(b *syntax.Block) (result value.Value, done bool) {
	for _, s := range b.Stmts {
		if f.Interp.Stopped {
			return nil, false
		}
		if result, done = f.stmt(s); done {
			return result, true
		}
	}
	return nil, false
}

func (f *Frame) stmt(s syntax.Stmt) (result value.Value, done bool) {
	switch s := s.(type) {
	case *syntax.Assign:
		f.assign(s)
	case *syntax.Return:
		if len(s.Values) == 1 {
			return f.Symbolic(s.Values[0]), true
		}
		var t value.Tuple
		for _, x := range s.Values {
			t = append(t, f.Expr(x))
		}
		return t, true
	case *syntax.For:
		return f.loop(s)
	case *syntax.If:
		return f.branch(s)
	}
	return nil, false
}

// assign gives a value to one name, or the values of a tuple to several. A type
// is checked before that: of several names, that of each one, or a tuple of them.
func (f *Frame) assign(s *syntax.Assign) {
	if len(s.Names) == 1 {
		f.set(s.Names[0], f.typed(f, s.Names[0].Name, s.Type, s.Value))
		return
	}
	v := f.Expr(s.Value)
	t, ok := v.(value.Tuple)
	if !ok || len(t) != len(s.Names) {
		if !value.IsUnknown(v) {
			found := v.What()
			if ok {
				found = "a tuple of " + value.FormatNumber(value.Whole(len(t)))
			}
			f.Errorf("E0209", s.Value, "%d names are given, but the value is %s", len(s.Names), found)
		}
		t = nil
	}
	types := make([]syntax.Type, len(s.Names))
	for i := range types {
		types[i] = s.Type
	}
	if u, ok := s.Type.(*syntax.TupleType); ok {
		if types = u.Elems; len(types) != len(s.Names) {
			f.Wants("E0208", u, value.Count(len(s.Names), "type")+", or one for all", "", "%d names are given, and %s", len(s.Names), value.Count(len(types), "type"))
			t = nil
		}
	}
	for i, n := range s.Names {
		if t == nil || types[i] != nil && !f.hasType(f, s.Value, n.Name, t[i], types[i]) {
			f.set(n, value.Unknown{})
		} else {
			f.set(n, t[i])
		}
	}
}

// set gives a variable its value.
func (f *Frame) set(name *syntax.Ident, v value.Value) {
	f.Vars[name.Name] = v
	f.watch(name, v, nil)
}

// loop unrolls over a repeated module or a tuple.
func (f *Frame) loop(s *syntax.For) (result value.Value, done bool) {
	var items []value.Value
	switch v := f.Expr(s.Over).(type) {
	case value.Instances:
		if list, g, omitted := f.Interp.gap(v); omitted {
			f.regularly(s, v, list, g)
			return nil, false
		}
		for _, i := range v {
			items = append(items, i)
		}
	case value.Tuple:
		items = v
	case value.Unknown:
		return nil, false
	case value.Word:
		f.Undefined(v)
		return nil, false
	default:
		f.Wants("E0209", s.Over, "a repeated module, such as `blocks : Block[layers]`, or a list", "", "cannot loop over %s", v.What())
		return nil, false
	}
	for _, i := range items {
		if !f.Interp.tick(f, s.Over) {
			return nil, false
		}
		f.set(s.Var, i)
		if result, done = f.block(s.Body); done {
			return result, true
		}
	}
	return nil, false
}

func (f *Frame) branch(s *syntax.If) (result value.Value, done bool) {
	c, ok := f.condition(s.Cond)
	if !ok {
		return f.poison(s)
	}
	if c {
		return f.block(s.Then)
	}
	for _, e := range s.Else {
		c := true
		if e.Cond != nil {
			if c, ok = f.condition(e.Cond); !ok {
				return f.poison(s)
			}
		}
		if c {
			return f.block(e.Body)
		}
	}
	return nil, false
}

// poison makes unknown what the branches of an undecided `if` would assign or return.
func (f *Frame) poison(s *syntax.If) (result value.Value, done bool) {
	syntax.Inspect(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			for _, id := range n.Names {
				f.Vars[id.Name] = value.Unknown{}
			}
		case *syntax.Return:
			result, done = value.Unknown{}, true
		}
		return true
	})
	return result, done
}
