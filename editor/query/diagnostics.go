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
	for _, e := range v.mistakes() {
		f, d := v.diagnostic(e)
		out[v.URI(f)] = append(out[v.URI(f)], d)
	}
	for _, w := range v.Warn {
		out[v.URI(v.Main)] = append(out[v.URI(v.Main)], protocol.Diagnostic{Severity: 2, Source: "ptc", Message: w})
	}
	return out
}

// mistakes are those of the language, or else those of the passes.
func (v *View) mistakes() diag.List {
	if len(v.Errs) == 0 && v.Structure != nil {
		return v.Structure.Errs
	}
	return v.Errs
}

// diagnostic is a mistake as an editor shows it, and its file.
func (v *View) diagnostic(e *diag.Error) (*source.File, protocol.Diagnostic) {
	f := v.FileOf(e.Pos)
	if f == nil || f.Std && e.Pos.File != f.Name {
		f = v.Main
	}
	d := protocol.Diagnostic{Range: v.rangeAt(f, e), Severity: 1, Code: e.Code, Source: "ptc", Message: message(e)}
	for _, n := range e.Note {
		if g := v.FileOf(n.Pos); g != nil && v.URI(g) != "" {
			at := v.rangeAt(g, &diag.Error{Pos: n.Pos})
			d.Related = append(d.Related, protocol.Related{Location: protocol.Location{URI: v.URI(g), Range: at}, Message: n.Msg})
		}
	}
	return f, d
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
func (v *View) rangeAt(f *source.File, e *diag.Error) protocol.Range {
	t := v.TextOf(f)
	if !e.Pos.IsValid() || t == nil || e.Pos.File != f.Name {
		return protocol.Range{}
	}
	from, to := extent(t, e)
	if r, ok := v.span(f, from, to); ok {
		return r
	}
	return t.Range(from, to)
}
