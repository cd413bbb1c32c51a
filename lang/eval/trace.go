package eval

import (
	"strings"

	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Trace is the calls that led to what is evaluated: mistakes are reported with them.
type Trace struct {
	errs  *source.Reporter
	file  *source.File // of the code, whose top-level names are seen
	name  string       // of the function
	up    *Trace       // the caller; nil for a file
	site  syntax.Node  // the call, in the caller's code
	depth int
}

// callee is the trace of something that is called at a site.
func (t *Trace) callee(site syntax.Node, name string, file *source.File) *Trace {
	return &Trace{t.errs, file, name, t, site, t.depth + 1}
}

// origin is the place in the user's code that led to a node.
func (t *Trace) origin(n syntax.Node) syntax.Node {
	for ; t.up != nil && t.file.Std; t = t.up {
		n = t.site
	}
	return n
}

// Report adds an error found there. One in a file of the standard
// library is moved to where the user's code called, and the place in the
// library becomes a note; what the user's code gave it, such as a word that names
// nothing, is shown where it is written. Then come the calls that led there, but for that of
// the train block. name, where not empty, is the axis or word at fault: the place
// is where the user's call has it, if it does.
func (t *Trace) Report(e *diag.Error) { t.ReportNamed(e, "") }

// ReportNamed is Report where an axis or word is at fault.
func (t *Trace) ReportNamed(e *diag.Error, name string) {
	inner := t
	if t.file.Std {
		for t.up != nil && t.file.Std {
			t = t.up
		}
		if inLibrary := strings.HasPrefix(e.Pos.File, source.StdPrefix); inLibrary && !t.file.Std && inner.outer() != nil {
			site := inner.outer()
			e.Note = append(e.Note, diag.Note{Pos: e.Pos, Msg: "found in `" + inner.name + "`"})
			if n := naming(site, name); n != nil {
				site = n
			}
			e.Pos, e.Len = site.At(), site.Len()
		}
	}
	for n := 0; t.up != nil && t.up.up != nil && !t.up.file.Std && n < 3; n++ {
		e.Note = append(e.Note, diag.Note{Pos: t.site.At(), Msg: "in a call of `" + t.name + "`"})
		t = t.up
	}
	t.errs.Add(e)
}

// outer is the call in the user's code that led into the standard library.
func (t *Trace) outer() syntax.Node {
	var site syntax.Node
	for ; t != nil && t.file.Std; t = t.up {
		site = t.site
	}
	if t == nil {
		return nil
	}
	return site
}

// Errorf reports an error at a node and gives the unknown value.
func (t *Trace) Errorf(code string, n syntax.Node, format string, args ...any) value.Value {
	t.Report(source.ErrorAt(code, n, format, args...))
	return value.Unknown{}
}

// Wants is Errorf with what was expected and a hint.
func (t *Trace) Wants(code string, n syntax.Node, want, hint, format string, args ...any) value.Value {
	t.Report(source.Wanted(code, n, want, hint, format, args...))
	return value.Unknown{}
}

// naming is where the arguments of a call name an axis, or nil.
func naming(n syntax.Node, axis string) (found syntax.Node) {
	var args []*syntax.Arg
	switch x := n.(type) {
	case *syntax.Call:
		args = x.Args
	case *syntax.Index:
		args = x.Args
	default:
		return nil
	}
	if axis == "" {
		return nil
	}
	for _, a := range args {
		if a.Name != nil && a.Name.Name == axis {
			return a.Name
		}
		if a.Name == nil {
			continue
		}
		syntax.Inspect(a.Value, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Name); ok && id.Name == axis && found == nil {
				found = id
			}
			return found == nil
		})
		if found != nil {
			return found
		}
	}
	return nil
}
