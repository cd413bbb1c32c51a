package text

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// Position is a place as editors have it: both count from 0, and Character counts
// UTF-16 units, of which a character outside of the basic plane has two.
type Position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// Range is from Start to just before End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is a text with the places of its lines. It never changes.
type Text struct {
	String string
	lines  []int // where each one begins; `\r` alone ends a line for editors
	breaks []int // where each line of the compiler begins, which `\n` alone ends
}

// New finds the lines of a text.
func New(s string) *Text {
	t := &Text{String: s, lines: []int{0}, breaks: []int{0}}
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			t.lines, t.breaks = append(t.lines, i+1), append(t.breaks, i+1)
		case s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n'):
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// lineEnd is where the characters of a line end, before what ends the line.
func (t *Text) lineEnd(line int) int {
	end := len(t.String)
	if line+1 < len(t.lines) {
		end = t.lines[line+1]
	}
	return t.lines[line] + len(strings.TrimRight(t.String[t.lines[line]:end], "\r\n"))
}

// Offset is the offset of a position. One behind the end of its line, or of the text,
// is there, as the protocol has it; one inside of a character is before it.
func (t *Text) Offset(p Position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.String)
	}
	at, end := t.lines[p.Line], t.lineEnd(p.Line)
	for units := 0; at < end; {
		r, n := utf8.DecodeRuneInString(t.String[at:end])
		if units += units16(r); units > p.Character {
			break
		}
		at += n
	}
	return at
}

// Position is the position of an offset.
func (t *Text) Position(offset int) Position {
	offset = min(max(offset, 0), len(t.String))
	line := sort.SearchInts(t.lines, offset+1) - 1
	units := 0
	for _, r := range t.String[t.lines[line]:offset] {
		units += units16(r)
	}
	return Position{line, units}
}

// Range is the range between two offsets.
func (t *Text) Range(from, to int) Range { return Range{t.Position(from), t.Position(to)} }

// At is the offset of a line and column of a diagnostic: both count from 1, the column
// in bytes.
func (t *Text) At(line, column int) int {
	if line < 1 {
		return 0
	}
	if line > len(t.breaks) {
		return len(t.String)
	}
	return min(t.breaks[line-1]+max(column-1, 0), len(t.String))
}

// units16 is how many UTF-16 units a character has; a byte that is none of a
// character counts as the one that stands for it, U+FFFD.
func units16(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}
