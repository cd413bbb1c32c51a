package diag

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Render writes every diagnostic the way a terminal shows it:
//
//	error[E0203]: unknown axis `embedd`
//	  --> gpt.ptl:14:23
//	   |
//	14 |     q = dot(x, wq, over = embedd)
//	   |                           ^^^^^^ expected one of batch, seq, embed
//	   = did you mean `embed`?
//
// The position is also printed as file:line:col. source returns the text of a
// file, or false; where there is none the source lines are left out.
func Render(l List, source func(file string) (string, bool)) string {
	var b strings.Builder
	for i, e := range l {
		if i > 0 {
			b.WriteByte('\n')
		}
		render(&b, e, source)
	}
	return b.String()
}

func render(b *strings.Builder, e *Error, source func(string) (string, bool)) {
	b.WriteString("error")
	if e.Code != "" {
		fmt.Fprintf(b, "[%s]", e.Code)
	}
	fmt.Fprintf(b, ": %s\n", e.Msg)
	snippet(b, e.Pos, e.Len, e.Want, source)
	for _, n := range e.Note {
		fmt.Fprintf(b, "note: %s\n", n.Msg)
		snippet(b, n.Pos, 0, "", source)
	}
	if e.Hint != "" {
		fmt.Fprintf(b, "  = %s\n", e.Hint)
	}
}

func snippet(b *strings.Builder, p Pos, n int, want string, source func(string) (string, bool)) {
	if want != "" {
		want = " expected " + want
	}
	if !p.IsValid() {
		if want != "" {
			fmt.Fprintf(b, "  =%s\n", want)
		}
		return
	}
	fmt.Fprintf(b, "  --> %s\n", p)
	line, ok := sourceLine(p, source)
	if !ok {
		if want != "" {
			fmt.Fprintf(b, "  =%s\n", want)
		}
		return
	}
	num := fmt.Sprint(p.Line)
	pad := strings.Repeat(" ", len(num))
	col := min(max(p.Col-1, 0), len(line))
	under := line[col:min(col+max(n, 1), len(line))]
	n = max(1, utf8.RuneCountInString(under)) // one mark for each character, not byte
	fmt.Fprintf(b, "%s |\n%s | %s\n", pad, num, printable(line))
	fmt.Fprintf(b, "%s | %s%s%s\n", pad, blank(line[:col]), strings.Repeat("^", n), want)
}

func sourceLine(p Pos, source func(string) (string, bool)) (string, bool) {
	if source == nil {
		return "", false
	}
	text, ok := source(p.File)
	if !ok {
		return "", false
	}
	for i := 1; i < p.Line; i++ {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return "", false
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	if len(line) > 400 {
		return "", false
	}
	return strings.TrimSuffix(line, "\r"), true
}

// printable keeps tabs and replaces what a terminal could act upon.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// blank is as wide as s: tabs stay tabs, every rune becomes a space.
func blank(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return r
		}
		return ' '
	}, s)
}
