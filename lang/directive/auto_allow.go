package directive

import (
	"slices"
	"strconv"
	"strings"

	"ptc/internal/diag"
	"ptc/ir/auto"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// allow reads what may be chosen for a word.
func (s *searching) allow(x *syntax.Allowed) {
	name := x.Word.Name
	w := auto.WordOf(name)
	if w == nil {
		names := auto.WordNames()
		s.f.Wants("E0432", x.Word, diag.OneOf(names), diag.DidYouMean(name, names), "`allow` has no word `%s`", name)
		return
	}
	for _, old := range s.allowed[name] {
		if old.Op == x.Op || !oneSided(old) || !oneSided(x) {
			hint := ""
			if w.Kind == auto.Sizes {
				hint = "only `" + name + " >= 2, " + name + " <= 8` says two things about one word"
			}
			s.f.Report(source.Conflict("E0433", x, old.At(), "first named here", "each word once", hint, "`%s` is allowed twice", name))
			return
		}
	}
	s.allowed[name] = append(s.allowed[name], x)
	a := s.found.Allowed(name)
	if a == nil {
		s.found.Allow = append(s.found.Allow, auto.Allowed{Word: name, Pos: x.At()})
		a = s.found.Allowed(name)
	}
	switch {
	case w.Kind == auto.Sizes && x.Op != "":
		s.bound(x, a)
	case w.Kind == auto.Sizes:
		s.sizes(x, a)
	case x.Op != "":
		s.f.Wants("E0434", x, "`"+exampleOf(w)+"`", "", "`%s` is chosen from a list", name)
	case w.Kind == auto.Choice:
		s.choices(x, w, a)
	default:
		s.sets(x, w, a)
	}
}

// oneSided is whether it bounds a number from one side.
func oneSided(x *syntax.Allowed) bool { return x.Op == "<=" || x.Op == ">=" }

// exampleOf is how a word is used.
func exampleOf(w *auto.Word) string {
	list := map[auto.Kind]string{auto.Sizes: "1, 2, 4", auto.Choice: strings.Join(w.From, ", "), auto.Sets: "(heads, ffn), (heads, ffn, vocab)", auto.Orders: "(dp, pp, tp), (pp, dp, tp)"}[w.Kind]
	return w.Name + " in (" + list + ")"
}

// bound reads `tp <= 8`.
func (s *searching) bound(x *syntax.Allowed, a *auto.Allowed) {
	n, ok := s.count(x.Bound, "E0434", "`"+x.Word.Name+"`", 1, source.MaxDevices)
	if !ok {
		return
	}
	if x.Op != "<=" {
		a.Least = n
	}
	if x.Op != ">=" {
		a.Most = n
	}
	if a.Most > 0 && a.Least > a.Most {
		first := s.allowed[a.Word][0]
		s.f.Report(source.Conflict("E0435", x, first.At(), "the other bound", "", "", "no size of `%s` is both at least %d and at most %d", a.Word, a.Least, a.Most))
	}
}

// sizes reads `tp in (1, 2, 4)`.
func (s *searching) sizes(x *syntax.Allowed, a *auto.Allowed) {
	for _, c := range x.Values {
		if c.Value == nil {
			s.f.Wants("E0434", c, "a whole number, such as 4", "", "`%s` is a number", a.Word)
			continue
		}
		n, ok := s.count(c.Value, "E0434", "`"+a.Word+"`", 1, source.MaxDevices)
		if ok && slices.Contains(a.Numbers, n) {
			s.again(c, strconv.Itoa(n), a.Word)
		} else if ok {
			a.Numbers = append(a.Numbers, n)
		}
	}
}

// again reports a value that a list has twice.
func (s *searching) again(n syntax.Node, what, word string) {
	s.f.Wants("E0433", n, "each value once", "", "`%s` is allowed twice for `%s`", what, word)
}

// choices reads `schedule in (1f1b, zb_v)`. Schedules and levels of zero have codes of their
// own, as in an ordinary layout.
func (s *searching) choices(x *syntax.Allowed, w *auto.Word, a *auto.Allowed) {
	code := map[string]string{"schedule": "E0410", "zero": "E0411"}[w.Name]
	if code == "" {
		code = "E0434"
	}
	for _, c := range x.Values {
		v := ""
		switch e := c.Value.(type) {
		case *syntax.Name:
			v = e.Name
		case *syntax.String:
			v = e.Value
		case *syntax.Int:
			v = strconv.FormatInt(e.Value, 10)
		}
		switch {
		case v == "":
			s.f.Wants("E0434", c, diag.OneOf(w.From), "", "a value of `%s` is a word of a list", w.Name)
		case !slices.Contains(w.From, v):
			s.f.Wants(code, c, diag.OneOf(w.From), diag.DidYouMean(v, w.From), "`%s` cannot be `%s`", w.Name, value.Clip(v))
		case slices.Contains(a.Values, v):
			s.again(c, v, w.Name)
		default:
			a.Values = append(a.Values, v)
		}
	}
}

// sets reads `tensor in ((heads, ffn), (heads, ffn, vocab))`, or orders of the mesh.
func (s *searching) sets(x *syntax.Allowed, w *auto.Word, a *auto.Allowed) {
	known, code, twice := auto.Mesh, "E0403", "E0405"
	if w.Kind == auto.Sets {
		known, code, twice = s.model.allAxes(), "E0402", "E0404"
	}
	for _, c := range x.Values {
		if c.List == nil {
			s.f.Wants("E0434", c, "`"+exampleOf(w)+"`", "", "each value of `%s` is a list in parentheses", w.Name)
			continue
		}
		var set []string
		for _, e := range c.List {
			n, ok := e.(*syntax.Name)
			switch {
			case !ok:
				s.f.Wants("E0434", e, "`"+exampleOf(w)+"`", "", "a list of `%s` has names of axes", w.Name)
			case !slices.Contains(known, n.Name):
				if w.Kind != auto.Sets || !s.model.incomplete {
					s.f.Wants(code, e, diag.OneOf(known), diag.DidYouMean(n.Name, known), "unknown axis `%s`", value.Clip(n.Name))
				}
			case slices.Contains(set, n.Name):
				s.f.Wants(twice, e, "each axis once", "", "`%s` is named twice in a list", n.Name)
			default:
				set = append(set, n.Name)
			}
		}
		if len(set) > 0 && a.Set(set) {
			s.again(c, strings.Join(set, ", "), w.Name)
		} else if len(set) > 0 {
			a.Sets = append(a.Sets, set)
		}
	}
}
