package text

import "github.com/aymanbagabas/go-udiff"

// Edit replaces a range, or, where that is nil, the whole text.
type Edit struct {
	Range *Range `json:"range,omitempty"`
	Text  string `json:"text"`
}

// Apply makes edits one after the other, each in the text that the one before it left.
func Apply(t *Text, edits []Edit) *Text {
	for _, e := range edits {
		if e.Range == nil {
			t = New(e.Text)
			continue
		}
		from, to := t.Offset(e.Range.Start), t.Offset(e.Range.End)
		if to < from {
			from, to = to, from
		}
		t = New(t.String[:from] + e.Text + t.String[to:])
	}
	return t
}

// Shift is what became of offsets between two texts, by the lines in which they differ.
type Shift struct{ edits []udiff.Edit }

// Between is the shift from an old text to a new one.
func Between(old, now string) Shift {
	if old == now {
		return Shift{}
	}
	return Shift{udiff.Lines(old, now)}
}

// Old is where an offset of the new text was; false inside of what was edited.
func (s Shift) Old(offset int) (int, bool) {
	by := 0 // how much longer the new text is, so far
	for _, e := range s.edits {
		from, to := e.Start+by, e.Start+by+len(e.New)
		if offset < from || offset == from && e.Start == e.End {
			break
		}
		if offset < to {
			return 0, false
		}
		by += len(e.New) - (e.End - e.Start)
	}
	return offset - by, true
}

// New is where an offset of the old text is.
func (s Shift) New(offset int) (int, bool) {
	by := 0
	for _, e := range s.edits {
		if offset < e.Start {
			break
		}
		if offset < e.End {
			return 0, false
		}
		by += len(e.New) - (e.End - e.Start)
	}
	return offset + by, true
}
