package text

import "unicode/utf8"

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

// Shift is what became of offsets between two texts that begin and end alike: all that
// differs is taken as one edit.
type Shift struct{ prefix, oldEnd, newEnd int }

// Between is the shift from an old text to a new one.
func Between(old, now string) Shift {
	n, most := 0, min(len(old), len(now))
	for n < most && old[n] == now[n] {
		n++
	}
	for n > 0 && (n < len(old) && !utf8.RuneStart(old[n]) || n < len(now) && !utf8.RuneStart(now[n])) {
		n--
	}
	m := 0
	for m < most-n && old[len(old)-1-m] == now[len(now)-1-m] {
		m++
	}
	for m > 0 && !utf8.RuneStart(old[len(old)-m]) {
		m--
	}
	return Shift{n, len(old) - m, len(now) - m}
}

// Old is where an offset of the new text was; false inside of what was edited.
func (s Shift) Old(offset int) (int, bool) { return s.moved(offset, s.newEnd, s.oldEnd) }

// New is where an offset of the old text is.
func (s Shift) New(offset int) (int, bool) { return s.moved(offset, s.oldEnd, s.newEnd) }

func (s Shift) moved(offset, from, to int) (int, bool) {
	switch {
	case offset <= s.prefix:
		return offset, true
	case offset >= from:
		return offset - from + to, true
	}
	return 0, false
}
