package query

import (
	"slices"
	"strings"

	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// Kinds of actions, as the protocol names them.
const (
	KindFix    = "quickfix"
	KindSource = "source"
)

// Fixes are the edits that correct the mistakes at a range of the document, where a
// diagnostic states the edit: "did you mean", or a hint that leaves nothing open.
func (v *View) Fixes(r protocol.Range) []protocol.CodeAction {
	out := []protocol.CodeAction{}
	if v.File == nil || v.File.Std {
		return out
	}
	for _, e := range v.mistakes() {
		f, d := v.diagnostic(e)
		if f != v.File || before(d.Range.End, r.Start) || before(r.End, d.Range.Start) {
			continue
		}
		x := remedy(v.siteOf(f, e))
		if x == nil {
			continue
		}
		edits, ok := v.textEdits(f, x.edits)
		if !ok {
			continue // the text at fault was edited since
		}
		a := protocol.CodeAction{Title: x.title, Kind: KindFix, Preferred: true, Diagnostics: []protocol.Diagnostic{d},
			Edit: &protocol.WorkspaceEdit{Changes: map[string][]protocol.TextEdit{v.URI(f): edits}}}
		// Several layouts may have one mistake.
		if !slices.ContainsFunc(out, func(o protocol.CodeAction) bool {
			return o.Title == a.Title && slices.Equal(o.Edit.Changes[v.URI(f)], edits)
		}) {
			out = append(out, a)
		}
	}
	return out
}

// textEdits are changes of the analyzed text as edits of the text in the editor.
func (v *View) textEdits(f *source.File, changes []change) ([]protocol.TextEdit, bool) {
	out := []protocol.TextEdit{}
	for _, c := range changes {
		r, ok := v.span(f, c.from, c.to)
		if !ok {
			return nil, false
		}
		out = append(out, protocol.TextEdit{Range: r, NewText: c.text})
	}
	return out, true
}

// A site is a diagnostic in the text of its file.
type site struct {
	*diag.Error
	src      string
	from, to int           // what the diagnostic underlines
	tree     *syntax.File  // nil for a file without any
	path     []syntax.Node // the nodes around the diagnostic
	noted    []change      // the lines behind the places of its notes, in this file
}

func (v *View) siteOf(f *source.File, e *diag.Error) site {
	t := v.TextOf(f)
	s := site{Error: e, src: t.String, tree: f.Tree}
	if e.Pos.IsValid() && e.Pos.File == f.Name {
		s.from, s.to = extent(t, e)
		s.path = v.Path(f, s.from)
	}
	for _, n := range e.Note {
		if n.Pos.IsValid() && n.Pos.File == f.Name {
			from := t.At(n.Pos.Line, n.Pos.Col)
			line, _, _ := strings.Cut(s.src[from:], "\n")
			s.noted = append(s.noted, change{from: from, to: from + len(line)})
		}
	}
	return s
}

// extent is where a diagnostic begins and ends in a text.
func extent(t *text.Text, e *diag.Error) (from, to int) {
	from = t.At(e.Pos.Line, e.Pos.Col)
	return from, min(from+max(e.Len, 1), len(t.String))
}

// found is the underlined text.
func (s site) found() string { return s.src[s.from:s.to] }

// A fix is one correction: changes in the order of the text, none over another.
type fix struct {
	title string
	edits []change
}

// A change replaces a part of a text.
type change struct {
	from, to int
	text     string
}

// remedy is the correction that a diagnostic states, or nil.
func remedy(s site) *fix {
	if s.Hint == "" || s.to == s.from {
		return nil
	}
	for _, r := range remedies {
		if m := r.hint.FindStringSubmatch(s.Hint); m != nil {
			return r.edit(s, m)
		}
	}
	return nil
}
