package lang

import (
	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// report adds an error found while the frame runs. In a file of the standard
// library it is moved to where the user's code called, and the place in the
// library becomes a note; then come the calls that led there, but for that of
// the train block. name, where not empty, is the axis or word at fault: the place
// is where the user's call has it, if it does.
func (f *frame) report(e *diag.Error) { f.reportNamed(e, "") }

func (f *frame) reportNamed(e *diag.Error, name string) {
	inner := f
	if f.file.std {
		for f.up != nil && f.file.std {
			f = f.up
		}
		if !f.file.std && inner.outer() != nil {
			site := inner.outer()
			e.Note = append(e.Note, diag.Note{Pos: e.Pos, Msg: "found in `" + inner.name + "`"})
			if n := naming(site, name); n != nil {
				site = n
			}
			e.Pos, e.Len = site.At(), site.Len()
		}
	}
	for n := 0; f.up != nil && f.up.up != nil && !f.up.file.std && n < 3; n++ {
		e.Note = append(e.Note, diag.Note{Pos: f.site.At(), Msg: "in a call of `" + f.name + "`"})
		f = f.up
	}
	f.in.errs.add(e)
}

// outer is the call in the user's code that led into the standard library.
func (f *frame) outer() syntax.Node {
	var site syntax.Node
	for ; f != nil && f.file.std; f = f.up {
		site = f.site
	}
	if f == nil {
		return nil
	}
	return site
}

// errorf reports an error at a node and gives the unknown value.
func (f *frame) errorf(code string, n syntax.Node, format string, args ...any) value {
	f.report(at(code, n, format, args...))
	return unknown{}
}

// wants is errorf with what was expected and a hint.
func (f *frame) wants(code string, n syntax.Node, want, hint, format string, args ...any) value {
	e := at(code, n, format, args...)
	e.Want, e.Hint = want, hint
	f.report(e)
	return unknown{}
}
