package syntax

import (
	"strings"
	"unicode/utf8"
)

// A line is one output line: cells that may be padded into columns, and the
// comment that ends it.
type line struct {
	blank   bool // a blank line goes before it
	indent  int
	kind    string // of the item that begins it; lines of one kind share columns
	cells   []cell
	comment string
}

// A cell is a piece of a line, at least gap spaces after the one before.
type cell struct {
	gap  int
	text []byte
}

// render writes the lines with their columns aligned.
func render(lines []*line) string {
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && lines[to].joins(lines[from]) {
			to++
		}
		align(lines[from:to], 0)
		from = to
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.text()
	}
	alignComments(lines, texts)
	var b strings.Builder
	for i, l := range lines {
		if l.blank {
			b.WriteByte('\n')
		}
		b.WriteString(texts[i])
		b.WriteByte('\n')
	}
	return b.String()
}

// joins reports whether l can share columns with the lines of first above it.
func (l *line) joins(first *line) bool {
	return !l.blank && l.kind == first.kind && l.kind != "" && l.kind != kindPlain && l.indent == first.indent
}

// align pads cell c of neighbouring lines to one width wherever another cell
// follows, and goes on with the next column.
func align(lines []*line, c int) {
	if len(lines) < 2 {
		return
	}
	for from := 0; from < len(lines); {
		to, width := from, 0
		for to < len(lines) && len(lines[to].cells) > c+1 {
			width = max(width, utf8.RuneCount(lines[to].cells[c].text))
			to++
		}
		for _, l := range lines[from:to] {
			l.cells[c+1].gap += width - utf8.RuneCount(l.cells[c].text)
		}
		align(lines[from:to], c+1)
		from = to + 1
	}
}

func (l *line) text() string {
	var b strings.Builder
	b.WriteString(strings.Repeat("  ", l.indent))
	for _, c := range l.cells {
		b.WriteString(strings.Repeat(" ", c.gap))
		b.Write(c.text)
	}
	return b.String()
}

// alignComments adds the trailing comments, those of neighbouring lines in one
// column.
func alignComments(lines []*line, texts []string) {
	for from := 0; from < len(lines); from++ {
		to, width := from, 0
		for to < len(lines) && lines[to].comment != "" && (to == from || !lines[to].blank) {
			width = max(width, lastWidth(texts[to]))
			to++
		}
		for i := from; i < to; i++ {
			texts[i] += strings.Repeat(" ", width-lastWidth(texts[i])+2) + lines[i].comment
		}
		from = max(from, to-1)
	}
}

// lastWidth is the width of the last line of a text that may hold a block
// comment of several lines.
func lastWidth(text string) int {
	return utf8.RuneCountInString(text[strings.LastIndexByte(text, '\n')+1:])
}
