package syntax

import (
	"reflect"
	"strings"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// Parse reads one source file. With any error the File is nil and the list
// has every syntax error found, in source order: at most one for each
// declaration, and one for each bad character, string or number.
func Parse(file string, src []byte) (*File, diag.List) {
	f, _, errs := parseTokens(file, src, false)
	if len(errs) > 0 {
		return nil, errs
	}
	return f, nil
}

// parseTokens is Parse, and the tokens. With errors the File has the declarations
// without one; where mend is true, also what can be saved of the others.
func parseTokens(file string, src []byte, mend bool) (*File, []lexer.Token, diag.List) {
	toks, errs := lex(file, src)
	if len(toks) == 1 && len(errs) > 0 {
		return nil, toks, errs
	}
	if !hasTokens(toks) {
		if len(errs) == 0 {
			errs = append(errs, emptyFile(file))
		}
		return nil, toks, errs
	}
	end := Pos(toks[len(toks)-1].Pos)
	f := &File{Span: Span{Pos: Pos{Filename: file, Line: 1, Column: 1}, EndPos: end}, Name: file}
	badLines := map[int]bool{}
	for _, e := range errs {
		badLines[e.Pos.Line] = true
	}
	for _, c := range split(toks) {
		d, err := c.parse()
		if err != nil && mend {
			d = c.mended(err)
		}
		if err == nil || mend && d != nil {
			f.Decls = append(f.Decls, d)
		}
		if err != nil && !badLines[err.Pos.Line] && !badLines[c.lineBefore(err.Pos)] { // else it follows from a bad character
			errs = append(errs, err)
		}
	}
	attachDocs(f, toks)
	return f, toks, errs.Sort()
}

// lineBefore is the line of the last token before a place.
func (c chunk) lineBefore(p diag.Pos) int {
	line := 0
	for _, t := range c.toks {
		if at := Pos(t.Pos).Diag(); at.Line > p.Line || at.Line == p.Line && at.Col >= p.Col {
			break
		}
		if !trivia(t) {
			line = t.Pos.Line
		}
	}
	return line
}

func emptyFile(file string) *diag.Error {
	return &diag.Error{Code: "E0109", Pos: diag.Pos{File: file, Line: 1, Col: 1}, Msg: "the file is empty",
		Want: "a model", Hint: "`model Name { … }` is the least; `ptc new` writes an example"}
}

// parse parses one declaration.
func (c chunk) parse() (Decl, *diag.Error) {
	if errs := checkBrackets(c.toks); len(errs) > 0 {
		return nil, errs[0]
	}
	lex, err := lexer.Upgrade(&tokenReader{c.toks}, tokSpace, tokComment)
	if err != nil {
		return nil, internal(c.toks[0], err)
	}
	d, err := grammar().ParseFromLexer(lex)
	if err != nil {
		return nil, c.explain(err)
	}
	return d.Decl, c.lastElse(d.Decl)
}

// lastElse finds a branch after the `else` that has no condition.
func (c chunk) lastElse(d Decl) (err *diag.Error) {
	Inspect(d, func(n Node) bool {
		if x, ok := n.(*If); ok {
			for i, e := range x.Else {
				if i > 0 && x.Else[i-1].Cond == nil && err == nil {
					err = &diag.Error{Code: "E0101", Pos: e.At(), Len: len("else"), Msg: "an `else` after the last `else`",
						Note: []diag.Note{{Pos: x.Else[i-1].At(), Msg: "this branch has no condition, so it is the last"}}}
				}
			}
		}
		return true
	})
	return err
}

// ParseExpr reads one expression, for example the value of `--set name=value`.
// file stands in the positions of its errors.
func ParseExpr(file, text string) (Expr, diag.List) {
	toks, errs := lex(file, []byte(text))
	if len(errs) > 0 {
		return nil, errs
	}
	if errs := checkBrackets(toks); len(errs) > 0 {
		return nil, errs
	}
	c := chunk{toks: toks, next: toks[len(toks)-1]}
	lex, err := lexer.Upgrade(&tokenReader{toks}, tokSpace, tokComment)
	if err != nil {
		return nil, diag.List{internal(toks[0], err)}
	}
	x, err := parseExpr(lex)
	if err == nil && !lex.Peek().EOF() {
		err = unexpected(*lex.Peek(), "the end of the expression")
	}
	if err != nil {
		return nil, diag.List{c.explain(err)}
	}
	return x, nil
}

// attachDocs gives declarations, members and entries the comments that stand
// directly above them.
func attachDocs(f *File, toks []lexer.Token) {
	index := make(map[int]int, len(toks)) // by offset
	for i, t := range toks {
		index[t.Pos.Offset] = i
	}
	Inspect(f, func(n Node) bool {
		if doc := docField(n); doc != nil {
			*doc = docAbove(toks, index[n.Extent().Pos.Offset])
		}
		switch n.(type) {
		case *Fn, *Param, Expr, Type:
			return false
		}
		return true
	})
}

// Doc is the comment above a declaration, member or entry; empty where there is none.
func Doc(n Node) string {
	if n == nil {
		return ""
	}
	if doc := docField(n); doc != nil {
		return *doc
	}
	return ""
}

// docField is the field Doc of a node, or nil.
func docField(n Node) *string {
	if f := reflect.ValueOf(n).Elem().FieldByName("Doc"); f.IsValid() {
		return f.Addr().Interface().(*string)
	}
	return nil
}

// docAbove is the text of the comments on the lines directly above token i.
func docAbove(toks []lexer.Token, i int) string {
	var lines []string
	for i >= 2 && toks[i-1].Type == tokSpace && strings.Count(toks[i-1].Value, "\n") == 1 && toks[i-2].Type == tokComment {
		i -= 2
		ownLine := i == 0 || toks[i-1].Type == tokSpace && (i == 1 || strings.Contains(toks[i-1].Value, "\n"))
		if !ownLine {
			break
		}
		lines = append([]string{commentText(toks[i].Value)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// commentText is a comment without its marks.
func commentText(c string) string {
	if body, ok := strings.CutPrefix(c, "//"); ok {
		return strings.TrimPrefix(body, " ")
	}
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(c, "/*"), "*/"))
}
