package query

import (
	"unicode/utf8"

	"ptc/editor/analysis"
	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/lang/source"
	"ptc/lang/syntax"
)

// View is a program as a document sees it.
type View struct {
	*analysis.Program
	Structure *analysis.Structure // nil before it is known
	File      *source.File        // of the document; nil where it has none
	Now       *text.Text          // the document's text in the editor
	// URI is that of a file, and Text its text in the editor; nil where that is the one
	// that was analyzed.
	URI  func(f *source.File) string
	Text func(f *source.File) *text.Text

	shifts map[*source.File]text.Shift // those found so far
}

// now is the text of a file as the editor has it, and what became of the one that was
// analyzed.
func (v *View) now(f *source.File) (*text.Text, text.Shift) {
	was := v.TextOf(f)
	is := v.textNow(f)
	if is == nil || is.String == was.String {
		return was, text.Shift{}
	}
	s, ok := v.shifts[f]
	if !ok {
		s = text.Between(was.String, is.String)
		if v.shifts == nil {
			v.shifts = map[*source.File]text.Shift{}
		}
		v.shifts[f] = s
	}
	return is, s
}

func (v *View) textNow(f *source.File) *text.Text {
	if f == v.File {
		return v.Now
	}
	if v.Text == nil {
		return nil
	}
	return v.Text(f)
}

// offset is where a position of the document is in the text that was analyzed; false
// inside of what was edited since.
func (v *View) offset(p protocol.Position) (int, bool) {
	if v.File == nil {
		return 0, false
	}
	t, s := v.now(v.File)
	at := t.Offset(p)
	if t == v.TextOf(v.File) {
		return at, true
	}
	return s.Old(at)
}

// nearest is offset, or, inside of what was edited, where that begins.
func (v *View) nearest(p protocol.Position) int {
	for {
		if at, ok := v.offset(p); ok || v.File == nil {
			return at
		}
		t := v.Now
		at := t.Offset(p)
		if at == 0 {
			return 0
		}
		_, last := utf8.DecodeLastRuneInString(t.String[:at])
		p = t.Position(at - last)
	}
}

// span is a range of a file as the editor has it now; false where it was edited.
func (v *View) span(f *source.File, from, to int) (protocol.Range, bool) {
	t, s := v.now(f)
	if t == v.TextOf(f) {
		return t.Range(from, to), true
	}
	from, okFrom := s.New(from)
	to, okTo := s.New(to)
	return t.Range(from, to), okFrom && okTo && from <= to
}

// place is the range of a node as the editor has it now.
func (v *View) place(f *source.File, n syntax.Node) (protocol.Range, bool) {
	at := n.Extent()
	return v.span(f, at.Pos.Offset, at.EndPos.Offset)
}
