package query

import (
	"strings"

	"ptc/editor/analysis"
	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/lang/directive"
	"ptc/lang/eval"
	"ptc/lang/syntax"
)

// Hover is what is known of the name or expression at a position; nil where nothing is.
func (v *View) Hover(p protocol.Position) *protocol.Hover {
	at, ok := v.offset(p)
	if !ok || v.Names == nil {
		return nil
	}
	if r := v.Names.At(v.File, at); r != nil {
		return v.hoverName(r, at)
	}
	path := v.Path(v.File, at)
	if h := v.hoverDirective(path, at); h != nil {
		return h
	}
	if h := v.hoverAuto(path, at); h != nil {
		return h
	}
	if h := v.hoverMachine(path, at); h != nil {
		return h
	}
	if h := v.hoverInitializer(path, at); h != nil {
		return h
	}
	for i := len(path) - 1; i >= 0; i-- {
		if values := v.values(path[i]); len(values) > 0 {
			return v.card(path[i], "", values, v.sharding(path[i], nil), "")
		}
		switch path[i].(type) {
		case syntax.Stmt, syntax.Member, syntax.Decl, syntax.Directive:
			return nil
		}
	}
	return nil
}

// hoverName is about a name: its value here, its declaration, its comment.
func (v *View) hoverName(r *names.Ref, at int) *protocol.Hover {
	s := r.Symbol
	n := r.Node
	var values []string
	if n != nil {
		values = v.values(n)
	}
	if len(values) == 0 && s.At != nil {
		values = v.values(s.At)
	}
	if s.Kind == names.Function || s.Kind == names.Builtin {
		values = v.results(at)
	}
	if s.Kind == names.Module || s.Kind == names.Import || s.Kind == names.Layout {
		values = nil
	}
	what := s.Kind.String()
	if s.Kind == names.Axis {
		what = v.axisKind(s)
		values = append(values, v.sizes(s, values)...)
	}
	note := ""
	if n != nil || s.Kind == names.Parameter {
		note = v.sharding(n, s)
	}
	doc := s.Doc()
	if b := builtin(s.Name); b != nil && s.Kind == names.Builtin {
		doc = b.doc
	}
	h := v.card(n, v.heading(s), values, note, doc)
	if h == nil {
		return nil
	}
	h.Contents.Value += "\n\n" + what
	var ok bool
	if h.Range, ok = v.span(r.File, r.From, r.To); !ok {
		return nil
	}
	return h
}

func (v *View) axisKind(s *names.Symbol) string {
	switch {
	case s.At != nil && s.Named:
		return "axis, with its size in the config"
	case s.At != nil:
		return "entry of the config"
	case s.Named:
		return "axis"
	}
	return "word"
}

// sizes are those that an axis without an entry has in what was evaluated.
func (v *View) sizes(s *names.Symbol, have []string) (out []string) {
	if len(have) > 0 || !s.Named {
		return nil
	}
	found := map[int]bool{}
	for _, r := range v.Names.In(v.File) {
		if r.Node == nil {
			continue
		}
		for _, x := range v.Seen[r.Node] {
			if t, ok := analysis.TypeOf(x.Value); ok && t.Has(s.Name) {
				found[t.Size(s.Name)] = true
			}
		}
	}
	return sortedInts(found)
}

// results are what the call around a function's name gives.
func (v *View) results(at int) []string {
	path := v.Path(v.File, at)
	for i := len(path) - 1; i >= 0; i-- {
		if c, ok := path[i].(*syntax.Call); ok && at <= c.Fun.Extent().EndPos.Offset {
			return v.values(c)
		}
		if f, ok := path[i].(*syntax.Fn); ok && at <= f.Name.EndPos.Offset {
			return v.values(f.Name)
		}
	}
	return nil
}

// hoverDirective is about the word of a directive.
func (v *View) hoverDirective(path []syntax.Node, at int) *protocol.Hover {
	for _, n := range path {
		d, ok := n.(syntax.Directive)
		if !ok {
			continue
		}
		form := directive.FormOf(d)
		if form == nil {
			return nil
		}
		from, word := d.Extent().Pos.Offset, form.Word
		if at > from+len(word) {
			return nil
		}
		if r, ok := v.span(v.File, from, from+len(word)); ok {
			return &protocol.Hover{Contents: protocol.Markdown("**" + word + "**\n\n" + form.Help()), Range: r}
		}
	}
	return nil
}

// hoverInitializer is about the word behind `~` of a parameter.
func (v *View) hoverInitializer(path []syntax.Node, at int) *protocol.Hover {
	for _, n := range path {
		d, ok := n.(*syntax.ParamDecl)
		if !ok || d.Init == nil {
			continue
		}
		word := d.Init
		if c, ok := word.(*syntax.Call); ok {
			word = c.Fun
		}
		id, ok := word.(*syntax.Name)
		if e := word.Extent(); !ok || at < e.Pos.Offset || at > e.EndPos.Offset {
			continue
		}
		for _, g := range eval.Initializers() {
			if g.Name == id.Name {
				return v.card(id, g.Text(), nil, "", g.Doc)
			}
		}
	}
	return nil
}

// card is the text of a hover; nil where there is nothing to say.
func (v *View) card(n syntax.Node, heading string, values []string, note, doc string) *protocol.Hover {
	code := heading
	switch {
	case code != "" && len(values) > 0:
		code += " : " + strings.Join(values, "\n  or ")
	case code == "":
		code = strings.Join(values, "\nor ")
	}
	if code == "" {
		return nil
	}
	out := "```ptl\n" + code + "\n```"
	if note != "" {
		out += "\n\n" + note
	}
	if doc != "" {
		out += "\n\n---\n\n" + doc
	}
	h := &protocol.Hover{Contents: protocol.Markdown(out)}
	if n != nil {
		h.Range, _ = v.place(v.File, n)
	}
	return h
}
