package names

import (
	"strings"

	"ptc/lang/syntax"
	"ptc/lang/value"
)

// selectors are the arguments of an optimizer whose strings select parameters.
var selectors = map[string]bool{"on": true, "decay": true, "no_decay": true}

// patterns resolves the strings below x, which are patterns of paths of parameters.
func (s *scope) patterns(x syntax.Expr) {
	syntax.Inspect(x, func(n syntax.Node) bool {
		if p, ok := n.(*syntax.String); ok {
			s.pattern(p)
		}
		return true
	})
}

// selections resolves the patterns among the arguments of optimizers.
func (s *scope) selections(x syntax.Expr) {
	syntax.Inspect(x, func(n syntax.Node) bool {
		if a, ok := n.(*syntax.Arg); ok && a.Name != nil && selectors[a.Name.Name] {
			s.patterns(a.Value)
		}
		return true
	})
}

// pattern resolves the parts of a pattern that are names. One that stands for several
// declarations, as `w` in `**.w` may, is left out: it is the name of none of them alone.
func (s *scope) pattern(p *syntax.String) {
	_, model := s.model()
	if model == nil || p.EndPos.Offset-p.Pos.Offset != len(p.Value)+len(`""`) {
		return // with escapes in it
	}
	w := &walk{scope: s, parts: strings.Split(p.Value, "."), left: maxSteps}
	w.names = make([]map[*Symbol]bool, len(w.parts))
	w.from(model, 0, false)
	if w.left <= 0 {
		return
	}
	at := p.Pos.Offset + len(`"`)
	for i, part := range w.parts {
		if len(w.names[i]) == 1 {
			for t := range w.names[i] {
				s.refs[s.file] = append(s.refs[s.file], Ref{File: s.file, From: at, To: at + len(part), Symbol: t})
			}
		}
		at += len(part) + len(".")
	}
}

// maxSteps is how far a pattern is followed: a text may have modules that hold themselves.
const maxSteps = 10000

// walk finds what a pattern's parts stand for, in all paths of parameters that it selects.
type walk struct {
	*scope
	parts []string
	names []map[*Symbol]bool // by part
	left  int                // steps
}

// from follows the parts from number i on into a module, before which a number of an
// instance stands where it is repeated, and says whether a parameter is selected.
func (w *walk) from(m *syntax.Module, i int, repeated bool) (found bool) {
	if w.left--; w.left <= 0 || m == nil || i == len(w.parts) {
		return false
	}
	part := w.parts[i]
	if part == "**" && w.from(m, i+1, repeated) { // for nothing
		found = true
	}
	if repeated {
		switch {
		case part == "**":
			return w.from(m, i, false) || found
		case strings.Contains(part, "*") || part != "" && part[0] >= '0' && part[0] <= '9':
			return w.from(m, i+1, false)
		}
		return false
	}
	next := i + 1
	if part == "**" {
		next = i
	}
	for _, x := range m.Members {
		switch x := x.(type) {
		case *syntax.ParamDecl:
			for _, id := range x.Names {
				if w.matches(part, id) && w.ends(i+1) {
					found = w.note(i, id)
				}
			}
		case *syntax.SubModule:
			_, list := x.Value.(*syntax.Index)
			for _, id := range x.Names {
				t := w.byAt[id]
				if t != nil && w.matches(part, id) && w.from(w.subModule(t), next, list) {
					found = w.note(i, id)
				}
			}
		}
	}
	return found
}

func (w *walk) matches(part string, id *syntax.Ident) bool {
	return part == "**" || value.MatchPath(part, id.Name)
}

// ends is whether nothing more has to follow.
func (w *walk) ends(i int) bool {
	for ; i < len(w.parts); i++ {
		if w.parts[i] != "**" {
			return false
		}
	}
	return true
}

// note takes what a part that is a name stands for.
func (w *walk) note(i int, id *syntax.Ident) bool {
	if t := w.byAt[id]; t != nil && w.parts[i] == id.Name {
		if w.names[i] == nil {
			w.names[i] = map[*Symbol]bool{}
		}
		w.names[i][t] = true
	}
	return true
}
