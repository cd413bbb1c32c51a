package diag

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Render writes every diagnostic, in this style, the way a terminal shows it:
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
func (s Style) Render(l List, source func(file string) (string, bool)) string {
	r := renderer{source: source, style: s}
	for i, e := range l {
		if i > 0 {
			r.WriteByte('\n')
		}
		r.error(e)
	}
	return r.String()
}

// Style says whether a rendering has colors.
type Style bool

// Plain is text alone; ANSI has the colors of a terminal, as sequences of
// ECMA-48, section 8.3.117 (SGR).
const (
	Plain Style = false
	ANSI  Style = true
)

const (
	red   = "1;31" // errors
	blue  = "1;34" // places
	cyan  = "1;36" // notes
	green = "1;32" // what to do
	bold  = "1"
)

func (s Style) paint(color, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Head is the first word of a message of that severity: error, warning.
func (s Style) Head(severity string) string {
	if severity == "warning" {
		return s.paint("1;33", severity)
	}
	return s.paint(red, severity)
}

type renderer struct {
	strings.Builder
	source func(string) (string, bool)
	style  Style
}

func (b *renderer) error(e *Error) {
	head := "error"
	if e.Code != "" {
		head += "[" + e.Code + "]"
	}
	fmt.Fprintf(b, "%s\n", b.style.paint(red, head)+b.style.paint(bold, ": "+printable(e.Msg)))
	b.snippet(e.Pos, e.Len, e.Want)
	for _, n := range e.Note {
		fmt.Fprintf(b, "%s: %s\n", b.style.paint(cyan, "note"), printable(n.Msg))
		b.snippet(n.Pos, 0, "")
	}
	if e.Hint != "" {
		fmt.Fprintf(b, "  %s %s\n", b.style.paint(blue, "="), b.style.paint(green, printable(e.Hint)))
	}
}

func (b *renderer) snippet(p Pos, n int, want string) {
	source, paint := b.source, b.style.paint
	if want != "" {
		want = " expected " + want
	}
	if !p.IsValid() {
		if want != "" {
			fmt.Fprintf(b, "  =%s\n", want)
		}
		return
	}
	fmt.Fprintf(b, "  %s %s\n", paint(blue, "-->"), p)
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
	bar := paint(blue, "|")
	fmt.Fprintf(b, "%s %s\n%s %s %s\n", pad, bar, paint(blue, num), bar, printable(line))
	fmt.Fprintf(b, "%s %s %s%s\n", pad, bar, blank(line[:col]), paint(red, strings.Repeat("^", n)+printable(want)))
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

// printable keeps tabs and line breaks and replaces what a terminal could act upon.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
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
