package query

import (
	"strings"

	"ptc/editor/protocol"
	"ptc/internal/diag"
	"ptc/lang/source"
)

// Diagnostics are the mistakes of the program by the URI of their file. Those without a
// place are at the start of the main file.
func (v *View) Diagnostics() map[string][]protocol.Diagnostic {
	out := map[string][]protocol.Diagnostic{}
	errs := v.Errs
	if len(errs) == 0 && v.Structure != nil {
		errs = v.Structure.Errs
	}
	for _, e := range errs {
		f := v.FileOf(e.Pos)
		if f == nil || f.Std && e.Pos.File != f.Name {
			f = v.Main
		}
		d := protocol.Diagnostic{Range: v.rangeAt(f, e.Pos, e.Len), Severity: 1, Code: e.Code, Source: "ptc", Message: message(e)}
		for _, n := range e.Note {
			if g := v.FileOf(n.Pos); g != nil && v.URI(g) != "" {
				d.Related = append(d.Related, protocol.Related{Location: protocol.Location{URI: v.URI(g), Range: v.rangeAt(g, n.Pos, 1)}, Message: n.Msg})
			}
		}
		out[v.URI(f)] = append(out[v.URI(f)], d)
	}
	for _, w := range v.Warn {
		out[v.URI(v.Main)] = append(out[v.URI(v.Main)], protocol.Diagnostic{Severity: 2, Source: "ptc", Message: w})
	}
	return out
}

// message is a mistake with what was expected and what helps.
func message(e *diag.Error) string {
	parts := []string{e.Msg}
	if e.Want != "" {
		parts = append(parts, "expected "+e.Want)
	}
	if e.Hint != "" {
		parts = append(parts, e.Hint)
	}
	return strings.Join(parts, "\n")
}

// rangeAt is the range of a diagnostic; the first line where it has no place.
func (v *View) rangeAt(f *source.File, at diag.Pos, n int) protocol.Range {
	t := v.TextOf(f)
	if !at.IsValid() || t == nil || at.File != f.Name {
		return protocol.Range{}
	}
	from := t.At(at.Line, at.Col)
	to := min(from+max(n, 1), len(t.String))
	if r, ok := v.span(f, from, to); ok {
		return r
	}
	return t.Range(from, to)
}
