package query

import (
	"strings"

	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Symbols is the outline of a text, as far as it parses.
func Symbols(name string, t *text.Text) []protocol.DocumentSymbol {
	f, _ := syntax.ParsePart(name, []byte(t.String))
	out := []protocol.DocumentSymbol{}
	if f == nil {
		return out
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *syntax.Import:
			out = append(out, symbol(t, d, source.ImportName(d), protocol.SymbolNamespace, "import "+d.Path()))
		case *syntax.Config:
			s := protocol.DocumentSymbol{Name: "config", Kind: protocol.SymbolObject, Range: rangeOf(t, d), SelectionRange: rangeOf(t, d)}
			for _, e := range d.Entries {
				s.Children = append(s.Children, symbol(t, e, e.Key, protocol.SymbolProperty, exprText(e.Value)))
			}
			out = append(out, s)
		case *syntax.Fn:
			out = append(out, symbol(t, d, d.Name, protocol.SymbolFunction, signature("", d.Params, d.Result)))
		case *syntax.Module:
			s := symbol(t, d, d.Name, protocol.SymbolClass, d.Kind)
			for _, m := range d.Members {
				s.Children = append(s.Children, member(t, m)...)
			}
			out = append(out, s)
		case *syntax.Train:
			s := symbol(t, d, d.Model, protocol.SymbolObject, "train")
			for _, e := range d.Entries {
				s.Children = append(s.Children, symbol(t, e, e.Key, protocol.SymbolProperty, ""))
			}
			out = append(out, s)
		case *syntax.Layout:
			out = append(out, symbol(t, d, d.Name, protocol.SymbolModule, layoutWords(d)))
		case *syntax.Machine:
			out = append(out, machineSymbol(t, d))
		}
	}
	return out
}

// layoutWords are the words of a kind of layout.
func layoutWords(d *syntax.Layout) string {
	if d.Auto != nil {
		return "layout auto"
	}
	return "layout"
}

func member(t *text.Text, m syntax.Member) (out []protocol.DocumentSymbol) {
	switch m := m.(type) {
	case *syntax.ParamDecl:
		for _, n := range m.Names {
			out = append(out, symbol(t, n, n, protocol.SymbolField, m.Kind+" "+typeText(m.Type)))
		}
	case *syntax.SubModule:
		for _, n := range m.Names {
			out = append(out, symbol(t, n, n, protocol.SymbolField, "module"))
		}
	case *syntax.Let:
		out = append(out, symbol(t, m, m.Name, protocol.SymbolConstant, "let"))
	case *syntax.Fn:
		out = append(out, symbol(t, m, m.Name, protocol.SymbolMethod, signature("", m.Params, m.Result)))
	}
	return out
}

func symbol(t *text.Text, n syntax.Node, id *syntax.Ident, kind int, detail string) protocol.DocumentSymbol {
	return protocol.DocumentSymbol{Name: id.Name, Detail: detail, Kind: kind, Range: rangeOf(t, n), SelectionRange: rangeOf(t, id)}
}

func rangeOf(t *text.Text, n syntax.Node) protocol.Range {
	at := n.Extent()
	return t.Range(at.Pos.Offset, at.EndPos.Offset)
}

// Folds are the pairs of brackets, and the comments, of more than one line.
func Folds(t *text.Text) []protocol.FoldingRange {
	out := []protocol.FoldingRange{}
	var open []syntax.Token
	first, last := -1, -1 // lines of a run of comments
	add := func(from, to int, kind string) {
		if to > from {
			out = append(out, protocol.FoldingRange{StartLine: from, EndLine: to, Kind: kind})
		}
	}
	flush := func() {
		if first >= 0 {
			add(first, last, "comment")
		}
		first = -1
	}
	for _, k := range syntax.Tokens([]byte(t.String)) {
		line, end := t.Position(k.Pos.Offset).Line, t.Position(k.End()).Line
		if k.Class == syntax.ClassComment {
			if first >= 0 && line > last+1 {
				flush()
			}
			if first < 0 {
				first = line
			}
			last = end
			continue
		}
		flush()
		if k.Class != syntax.ClassSign {
			continue
		}
		switch k.Text {
		case "(", "[", "{":
			open = append(open, k)
		case ")", "]", "}":
			if n := len(open) - 1; n >= 0 && open[n].Text == closers[k.Text] {
				add(t.Position(open[n].Pos.Offset).Line, line-1, "")
				open = open[:n]
			}
		}
	}
	flush()
	return out
}

// Format is the edit that lays a text out, none where it is already, or where it has
// mistakes of syntax.
func Format(name string, t *text.Text) ([]protocol.TextEdit, diag.List) {
	out, errs := syntax.Format(name, []byte(t.String))
	if len(errs) > 0 {
		return nil, errs
	}
	now := string(out)
	if now == t.String {
		return []protocol.TextEdit{}, nil
	}
	// Whole lines that are alike stay, so that a cursor there does.
	from := 0
	for {
		i := strings.IndexByte(t.String[from:], '\n') + 1
		if i == 0 || from+i > len(now) || t.String[from:from+i] != now[from:from+i] {
			break
		}
		from += i
	}
	end, was := len(now), len(t.String)
	for was > from && end > from {
		i := strings.LastIndexByte(t.String[from:was-1], '\n') + 1 + from
		n := was - i
		if end-n < from || t.String[i:was] != now[end-n:end] || end-n > from && now[end-n-1] != '\n' {
			break
		}
		was, end = i, end-n
	}
	return []protocol.TextEdit{{Range: t.Range(from, was), NewText: now[from:end]}}, nil
}
