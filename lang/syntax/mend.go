package syntax

import (
	"maps"
	"slices"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// ParsePart is Parse for a text that somebody is still writing: with errors, the File
// has every declaration that parses, and of the others what is left without the lines
// at fault. It is nil only for what is no text.
func ParsePart(file string, src []byte) (*File, diag.List) {
	f, _, errs := parseTokens(file, src, true)
	return f, errs
}

// mended is the declaration without the lines on which err was found: that of its
// place, and that of the token before it, which may lack an end. It is nil where
// neither helps.
func (c chunk) mended(err *diag.Error) Decl {
	at, before := err.Pos.Line, err.Pos.Line
	for _, t := range c.toks {
		if !trivia(t) && !t.EOF() && (t.Pos.Line < at || t.Pos.Line == at && t.Pos.Column < err.Pos.Col) {
			before = t.Pos.Line
		}
	}
	for _, lines := range [][2]int{{before, before}, {at, at}, {before, at}} {
		rest := chunk{next: c.next}
		for _, t := range c.toks {
			if t.EOF() || t.Pos.Line < lines[0] || t.Pos.Line > lines[1] {
				rest.toks = append(rest.toks, t)
			}
		}
		if !hasTokens(rest.toks) {
			continue
		}
		if d, err := rest.parse(); err == nil {
			return d
		}
	}
	return nil
}

// Class is what kind of token a [Token] is.
type Class uint8

const (
	ClassName     Class = iota // also words that only some places give a meaning to
	ClassWord                  // begins with a digit: 1f1b
	ClassReserved              // cannot be a name
	ClassInt
	ClassFloat
	ClassString
	ClassSign
	ClassComment
)

var classes = map[lexer.TokenType]Class{tokIdent: ClassName, tokWord: ClassWord, tokKeyword: ClassReserved,
	tokInt: ClassInt, tokFloat: ClassFloat, tokString: ClassString, tokOp: ClassSign, tokComment: ClassComment}

// Token is a word, sign or comment of a text.
type Token struct {
	Class Class
	Text  string
	Pos   Pos
}

// End is the offset just after the token.
func (t Token) End() int { return t.Pos.Offset + len(t.Text) }

// Tokens are the tokens of a text, whatever is wrong with it; none of what is no text.
func Tokens(src []byte) []Token {
	toks, _ := lex("", src)
	var out []Token
	for _, t := range toks {
		if c, ok := classes[t.Type]; ok {
			out = append(out, Token{c, t.Value, Pos(t.Pos)})
		}
	}
	return out
}

// Vocabulary is the words and signs of the language, for tools that colour or complete
// text. Only those of Reserved are no names. Units are those of an expression, Measures
// those of a machine's numbers.
type Vocabulary struct {
	Reserved, Declarations, Members, Statements, Directives, Autos, Sections, Units, Measures, Signs []string
}

// Words is the vocabulary; the words of each list are sorted, the signs longest first.
func Words() Vocabulary {
	v := Vocabulary{Declarations: sorted(declWords), Members: sorted(memberWords), Statements: sorted(stmtWords),
		Directives: sorted(directiveWords), Autos: sorted(autoWords), Sections: sorted(sectionWords), Signs: slices.Clone(operators)}
	v.Reserved = slices.Sorted(maps.Keys(reserved))
	v.Units, v.Measures = slices.Sorted(maps.Keys(units)), slices.Sorted(maps.Keys(measures))
	return v
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }
