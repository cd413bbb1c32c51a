package source

import (
	"fmt"

	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// Reporter collects diagnostics. One that was already made, at the same place
// and with the same code, is dropped: a module that is instantiated 48 times
// has its mistake once.
type Reporter struct {
	List diag.List
	seen map[seenKey]bool
	said map[string]bool
}

type seenKey struct {
	pos  diag.Pos
	code string
	msg  string // where there is no place
}

// Add takes a diagnostic.
func (r *Reporter) Add(e *diag.Error) {
	k := seenKey{pos: e.Pos, code: e.Code}
	if !e.Pos.IsValid() {
		k.msg = e.Msg
	}
	if r.seen == nil {
		r.seen = map[seenKey]bool{}
	}
	if r.seen[k] || len(r.List) >= maxErrors {
		return
	}
	r.seen[k] = true
	r.List = append(r.List, e)
}

// Said is whether it was asked before of the same mistake, which may be at many places.
func (r *Reporter) Said(what string) bool {
	if r.said == nil {
		r.said = map[string]bool{}
	}
	said := r.said[what]
	r.said[what] = true
	return said
}

// Full is whether further diagnostics are dropped.
func (r *Reporter) Full() bool { return len(r.List) >= maxErrors }

// ErrorAt makes an error at a node.
func ErrorAt(code string, n syntax.Node, format string, args ...any) *diag.Error {
	return &diag.Error{Code: code, Pos: n.At(), Len: n.Len(), Msg: fmt.Sprintf(format, args...)}
}

// Wanted is an error at a node with what was expected and a hint.
func Wanted(code string, n syntax.Node, want, hint, format string, args ...any) *diag.Error {
	e := ErrorAt(code, n, format, args...)
	e.Want, e.Hint = want, hint
	return e
}

// Twice is the error for a second declaration of a name.
func Twice(id *syntax.Ident, old syntax.Node) *diag.Error {
	return Conflict("E0202", id, old.At(), "first declared here", "", "", "`%s` is declared twice", id.Name)
}

// Conflict is an error at a node with a note at the other place that it conflicts with,
// what was expected, and a hint.
func Conflict(code string, n syntax.Node, other diag.Pos, note, want, hint, format string, args ...any) *diag.Error {
	e := Wanted(code, n, want, hint, format, args...)
	e.Note = []diag.Note{{Pos: other, Msg: note}}
	return e
}
