package syntax

import (
	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// Pos is a place in a source text. Line and Column count from 1; Column
// counts bytes, Offset counts bytes from 0. The fields are those of
// participle's lexer.Position, so that the parser can fill them.
type Pos struct {
	Filename string
	Offset   int
	Line     int
	Column   int
}

// Diag is the place as diagnostics want it.
func (p Pos) Diag() diag.Pos { return diag.Pos{File: p.Filename, Line: p.Line, Col: p.Column} }

// Span is embedded in every node: from its first byte to just after its last.
type Span struct {
	Pos    Pos
	EndPos Pos
}

// At is where the node begins, for a diagnostic.
func (s Span) At() diag.Pos { return s.Pos.Diag() }

// Len is how many bytes a diagnostic should underline: the node, or 1 where it
// runs over several lines.
func (s Span) Len() int {
	if s.Pos.Line != s.EndPos.Line {
		return 1
	}
	return max(1, s.EndPos.Offset-s.Pos.Offset)
}

// Extent is the span itself; it makes every node a [Node].
func (s Span) Extent() Span { return s }

// Node is any part of the tree.
type Node interface {
	At() diag.Pos
	Len() int
	Extent() Span
}

// tokenEnd is just after a token; no token but a block comment spans lines.
func tokenEnd(t lexer.Token) Pos {
	p := Pos(t.Pos)
	p.Offset += len(t.Value)
	p.Column += len(t.Value)
	return p
}
