package analysis

import (
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Path are the nodes around an offset, from the declaration to the innermost one that
// has it. One that ends at the offset counts where none begins there.
func (p *Program) Path(f *source.File, offset int) []syntax.Node {
	if f == nil || f.Tree == nil {
		return nil
	}
	at := path(f.Tree, func(s syntax.Span) bool { return s.Pos.Offset <= offset && offset < s.EndPos.Offset })
	behind := path(f.Tree, func(s syntax.Span) bool { return s.Pos.Offset <= offset && offset <= s.EndPos.Offset })
	if len(behind) > len(at) {
		return behind
	}
	return at
}

func path(f *syntax.File, has func(syntax.Span) bool) (out []syntax.Node) {
	for _, d := range f.Decls {
		if has(d.Extent()) {
			syntax.Inspect(d, func(n syntax.Node) bool {
				if !has(n.Extent()) || len(out) > 0 && covers(n, out) {
					return false
				}
				out = append(out, n)
				return true
			})
		}
	}
	return out
}

// covers is whether a node off the path was found to be nearer already: where two
// nodes meet, the second one counts.
func covers(n syntax.Node, path []syntax.Node) bool {
	last := path[len(path)-1].Extent()
	at := n.Extent()
	return at.Pos.Offset < last.Pos.Offset || at.EndPos.Offset > last.EndPos.Offset
}

// Within is the function, module and declaration around an offset; each may be nil.
func (p *Program) Within(f *source.File, offset int) (fn *syntax.Fn, m *syntax.Module, d syntax.Decl) {
	if f == nil || f.Tree == nil {
		return nil, nil, nil
	}
	for _, n := range p.Path(f, offset) {
		if x, ok := n.(*syntax.Fn); ok {
			fn = x
		}
		if x, ok := n.(*syntax.Module); ok {
			m = x
		}
		if x, ok := n.(syntax.Decl); ok && d == nil {
			d = x
		}
	}
	return fn, m, d
}
