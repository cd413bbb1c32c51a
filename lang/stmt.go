package lang

import (
	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// block runs statements until one returns. Variables belong to the function,
// not to the block.
func (f *frame) block(b *syntax.Block) {
	for _, s := range b.Stmts {
		if f.done || f.in.stopped {
			return
		}
		f.stmt(s)
	}
}

func (f *frame) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Assign:
		f.assign(s)
	case *syntax.Return:
		f.done = true
		if len(s.Values) == 1 {
			f.result = f.expr(s.Values[0])
			return
		}
		var t tuple
		for _, x := range s.Values {
			t = append(t, f.expr(x))
		}
		f.result = t
	case *syntax.For:
		f.loop(s)
	case *syntax.If:
		f.branch(s)
	}
}

// assign gives a value to one name, or the values of a tuple to several. A type
// is checked before that: of several names, that of each one, or a tuple of them.
func (f *frame) assign(s *syntax.Assign) {
	if len(s.Names) == 1 {
		f.vars[s.Names[0].Name] = f.typed(f, s.Names[0].Name, s.Type, s.Value)
		return
	}
	v := f.expr(s.Value)
	t, ok := v.(tuple)
	if !ok || len(t) != len(s.Names) {
		if !isUnknown(v) {
			found := v.what()
			if ok {
				found = "a tuple of " + formatNumber(whole(len(t)))
			}
			f.errorf("E0209", s.Value, "%d names are given, but the value is %s", len(s.Names), found)
		}
		t = nil
	}
	types := make([]syntax.Type, len(s.Names))
	for i := range types {
		types[i] = s.Type
	}
	if u, ok := s.Type.(*syntax.TupleType); ok {
		if types = u.Elems; len(types) != len(s.Names) {
			f.wants("E0208", u, count(len(s.Names), "type")+", or one for all", "", "%d names are given, and %s", len(s.Names), count(len(types), "type"))
			t = nil
		}
	}
	for i, n := range s.Names {
		if t == nil || types[i] != nil && !f.hasType(f, s.Value, n.Name, t[i], types[i]) {
			f.vars[n.Name] = unknown{}
		} else {
			f.vars[n.Name] = t[i]
		}
	}
}

// loop unrolls over a repeated module or a tuple.
func (f *frame) loop(s *syntax.For) {
	var items []value
	switch v := f.expr(s.Over).(type) {
	case instances:
		for _, i := range v {
			items = append(items, i)
		}
	case tuple:
		items = v
	case unknown:
		return
	case word:
		f.undefined(v)
		return
	default:
		f.wants("E0209", s.Over, "a repeated module, such as `blocks : Block[layers]`, or a list", "", "a loop over %s", v.what())
		return
	}
	for _, i := range items {
		if f.done || !f.in.tick(f, s.Over) {
			return
		}
		f.vars[s.Var.Name] = i
		f.block(s.Body)
	}
}

func (f *frame) branch(s *syntax.If) {
	c, ok := f.condition(s.Cond)
	if !ok {
		f.poison(s)
		return
	}
	if c {
		f.block(s.Then)
		return
	}
	for _, e := range s.Else {
		c := true
		if e.Cond != nil {
			if c, ok = f.condition(e.Cond); !ok {
				f.poison(s)
				return
			}
		}
		if c {
			f.block(e.Body)
			return
		}
	}
}

// poison makes unknown what the branches of an undecided `if` would assign.
func (f *frame) poison(s *syntax.If) {
	syntax.Inspect(s, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			for _, id := range n.Names {
				f.vars[id.Name] = unknown{}
			}
		case *syntax.Return:
			f.done, f.result = true, unknown{}
		}
		return true
	})
}

// condition evaluates what must be true or false at compile time.
func (f *frame) condition(x syntax.Expr) (c, ok bool) {
	switch v := f.expr(x).(type) {
	case truth:
		return bool(v), true
	case unknown:
		return false, false
	case word:
		f.undefined(v)
		return false, false
	case tensor:
		f.report(&diag.Error{Code: "E0219", Pos: x.At(), Len: x.Len(), Msg: "the condition is " + v.what() + ", which is known only when the program runs",
			Want: "a condition known at compile time", Hint: "`where(condition, a, b)` chooses element by element"})
		return false, false
	default:
		f.wants("E0219", x, "true or false", "", "the condition is %s", v.what())
		return false, false
	}
}
