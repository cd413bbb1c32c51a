package names

import (
	"ptc/ir/auto"
	"ptc/lang/syntax"
)

// auto resolves the items of an auto layout, except its kept directives: sizes are
// expressions, and lists of `tensor` name axes.
func (s *scope) auto(d *syntax.Auto) {
	for _, x := range d.Items {
		switch x := x.(type) {
		case *syntax.MeshOn:
			for _, l := range x.Levels {
				if l.Name != nil {
					s.axisName(l.Name, l.Name.Name)
				}
			}
		case *syntax.Limit:
			s.expr(x.Value)
		case *syntax.Allow:
			for _, a := range x.Choices {
				s.allowed(a)
			}
		}
	}
}

func (s *scope) allowed(a *syntax.Allowed) {
	w := auto.WordOf(a.Word.Name)
	switch {
	case w == nil:
	case w.Kind == auto.Sizes && a.Op != "":
		s.expr(a.Bound)
	case w.Kind == auto.Sizes:
		for _, c := range a.Values {
			if c.Value != nil {
				s.expr(c.Value)
			}
		}
	case w.Kind == auto.Sets:
		for _, c := range a.Values {
			for _, x := range c.List {
				if n, ok := x.(*syntax.Name); ok {
					s.axisName(n, n.Name)
				}
			}
		}
	}
}
