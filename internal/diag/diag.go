package diag

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Pos is a place in a source. Line and Col count from 1; Col counts bytes.
// The zero Pos means "no place".
type Pos struct {
	File string
	Line int
	Col  int
}

// IsValid reports whether p names a place.
func (p Pos) IsValid() bool { return p.Line > 0 }

// String is "file:line:col", or "-" for no place.
func (p Pos) String() string {
	if !p.IsValid() {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col)
}

// ParsePos reads what [Pos.String] writes; the zero Pos for anything else.
func ParsePos(s string) Pos {
	number := func() int {
		i := strings.LastIndexByte(s, ':')
		if i < 0 {
			return 0
		}
		n, err := strconv.Atoi(s[i+1:])
		if err != nil {
			return 0
		}
		s = s[:i]
		return n
	}
	col := number()
	line := number()
	if line < 1 || col < 1 {
		return Pos{}
	}
	return Pos{File: s, Line: line, Col: col}
}

// Note is a second place that explains an [Error], for example where a name
// was declared.
type Note struct {
	Pos Pos
	Msg string
}

// Error is one diagnostic: a mistake of the user's, with its place.
type Error struct {
	Code string // stable, "E" and four digits; see docs/language.md
	Pos  Pos
	Len  int    // bytes to underline from Pos; 0 means 1
	Msg  string // what was found
	Want string // what was expected; may be empty
	Hint string // what to do, for example "did you mean `embed`?"; may be empty
	Note []Note // further places
}

// Error is the first line of the rendering, without the source.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pos.IsValid() {
		fmt.Fprintf(&b, "%s: ", e.Pos)
	}
	if e.Code != "" {
		fmt.Fprintf(&b, "error[%s]: ", e.Code)
	}
	b.WriteString(e.Msg)
	if e.Want != "" {
		fmt.Fprintf(&b, "; expected %s", e.Want)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// List is several diagnostics; as an error it is all of them.
type List []*Error

// Error joins the diagnostics, one a line.
func (l List) Error() string {
	s := make([]string, len(l))
	for i, e := range l {
		s[i] = e.Error()
	}
	return strings.Join(s, "\n")
}

// Sort orders by file, line, column, code and text, and drops exact repeats.
func (l List) Sort() List {
	sort.SliceStable(l, func(i, j int) bool { return less(l[i], l[j]) })
	out := l[:0]
	for i, e := range l {
		if i > 0 && !less(out[len(out)-1], e) {
			continue
		}
		out = append(out, e)
	}
	return out
}

func less(a, b *Error) bool {
	switch {
	case a.Pos.File != b.Pos.File:
		return a.Pos.File < b.Pos.File
	case a.Pos.Line != b.Pos.Line:
		return a.Pos.Line < b.Pos.Line
	case a.Pos.Col != b.Pos.Col:
		return a.Pos.Col < b.Pos.Col
	case a.Code != b.Code:
		return a.Code < b.Code
	}
	return a.Msg < b.Msg
}

// Err is nil for an empty list, so that a caller can return l.Err().
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return l
}

// As returns the diagnostics inside err, if any.
func As(err error) (List, bool) {
	var l List
	if errors.As(err, &l) {
		return l, true
	}
	var e *Error
	if errors.As(err, &e) {
		return List{e}, true
	}
	return nil, false
}
