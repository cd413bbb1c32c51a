package eval

import (
	"ptc/internal/diag"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Report adds an error found while the frame runs. In a file of the standard
// library it is moved to where the user's code called, and the place in the
// library becomes a note; then come the calls that led there, but for that of
// the train block. name, where not empty, is the axis or word at fault: the place
// is where the user's call has it, if it does.
func (f *Frame) Report(e *diag.Error) { f.ReportNamed(e, "") }

func (f *Frame) ReportNamed(e *diag.Error, name string) {
	inner := f
	if f.file.Std {
		for f.up != nil && f.file.Std {
			f = f.up
		}
		if !f.file.Std && inner.outer() != nil {
			site := inner.outer()
			e.Note = append(e.Note, diag.Note{Pos: e.Pos, Msg: "found in `" + inner.name + "`"})
			if n := naming(site, name); n != nil {
				site = n
			}
			e.Pos, e.Len = site.At(), site.Len()
		}
	}
	for n := 0; f.up != nil && f.up.up != nil && !f.up.file.Std && n < 3; n++ {
		e.Note = append(e.Note, diag.Note{Pos: f.site.At(), Msg: "in a call of `" + f.name + "`"})
		f = f.up
	}
	f.Interp.Errs.Add(e)
}

// outer is the call in the user's code that led into the standard library.
func (f *Frame) outer() syntax.Node {
	var site syntax.Node
	for ; f != nil && f.file.Std; f = f.up {
		site = f.site
	}
	if f == nil {
		return nil
	}
	return site
}

// Errorf reports an error at a node and gives the unknown value.
func (f *Frame) Errorf(code string, n syntax.Node, format string, args ...any) value.Value {
	f.Report(source.ErrorAt(code, n, format, args...))
	return value.Unknown{}
}

// Wants is errorf with what was expected and a hint.
func (f *Frame) Wants(code string, n syntax.Node, want, hint, format string, args ...any) value.Value {
	e := source.ErrorAt(code, n, format, args...)
	e.Want, e.Hint = want, hint
	f.Report(e)
	return value.Unknown{}
}
