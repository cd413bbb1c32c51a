package query

import (
	"slices"

	"ptc/lang/directive"
	"ptc/lang/syntax"
)

// cursor is what is being written at an offset, as the tokens before it tell.
type cursor struct {
	from   int            // where the word at the cursor begins
	prev   []syntax.Token // the tokens before that word, without comments
	open   []int          // in prev: the brackets that are open, outermost first
	decl   string         // the word of the declaration around it; empty outside of any
	silent bool           // within a comment or string
}

// cursorAt reads the tokens of a text up to an offset.
func cursorAt(src string, offset int) cursor {
	c := cursor{from: offset}
	for _, t := range syntax.Tokens([]byte(src)) {
		if t.Pos.Offset >= offset {
			break
		}
		switch {
		case t.Class == syntax.ClassComment:
			// A comment of a line goes on at its end.
			c.silent = t.End() > offset || t.End() == offset && t.Text[1] == '/'
		case t.End() >= offset && (t.Class == syntax.ClassName || t.Class == syntax.ClassReserved || t.Class == syntax.ClassWord):
			c.from = t.Pos.Offset
		case t.End() > offset && t.Class == syntax.ClassString:
			c.silent = true
		default:
			c.push(t)
		}
	}
	return c
}

var closers = map[string]string{")": "(", "]": "[", "}": "{"}

func (c *cursor) push(t syntax.Token) {
	c.prev = append(c.prev, t)
	if t.Class == syntax.ClassName || t.Class == syntax.ClassReserved {
		first := t.Pos.Column == 1
		if (len(c.open) == 0 || first) && slices.Contains(syntax.Words().Declarations, t.Text) && (first || c.decl == "") {
			c.decl, c.open = t.Text, nil
		}
		return
	}
	if t.Class != syntax.ClassSign {
		return
	}
	switch t.Text {
	case "(", "[", "{":
		c.open = append(c.open, len(c.prev)-1)
	case ")", "]", "}":
		for n := len(c.open) - 1; n >= 0; n-- {
			if c.prev[c.open[n]].Text == closers[t.Text] {
				c.open = c.open[:n]
				break
			}
		}
		if t.Text == "}" && len(c.open) == 0 {
			c.decl = ""
		}
	}
}

// before is the n-th token before the word, from 1; an empty one where there is none.
func (c *cursor) before(n int) syntax.Token {
	if len(c.prev) < n {
		return syntax.Token{}
	}
	return c.prev[len(c.prev)-n]
}

// bracket is the innermost open bracket, and the token before it.
func (c *cursor) bracket() (sign string, at int, before syntax.Token) {
	if len(c.open) == 0 {
		return "", 0, before
	}
	at = c.open[len(c.open)-1]
	if at > 0 {
		before = c.prev[at-1]
	}
	return c.prev[at].Text, at, before
}

// listed are the names that begin the elements before the word, in the tuple that it is
// an element of: in brackets, or, in a layout, behind a word.
func (c *cursor) listed() (out []string) {
	sign, at, _ := c.bracket()
	if sign == "" || sign == "{" && c.before(1).Text != "," {
		return nil
	}
	depth := 0
	for i := len(c.prev) - 1; i >= at; i-- {
		switch t := c.prev[i]; t.Text {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			depth--
		case ",":
		default:
			// Without brackets a list ends where two names meet.
			if depth == 0 && sign == "{" && c.prev[i+1].Class == syntax.ClassName {
				return append(out, c.prev[i+1].Text)
			}
			continue
		}
		if (depth == 0 && c.prev[i].Text == "," || i == at) && i+1 < len(c.prev) && c.prev[i+1].Class == syntax.ClassName {
			out = append(out, c.prev[i+1].Text)
		}
	}
	return out
}

// starts is whether the word begins a line or a list: nothing of what it stands in is
// before it on its line.
func (c *cursor) starts(src string) bool {
	p := c.before(1)
	if p.Text == "{" || p.Text == ";" || p.Text == "}" || p.Text == "" {
		return true
	}
	for i := c.from - 1; i >= p.End(); i-- {
		if src[i] == '\n' {
			return p.Text != "=" && p.Text != ":" && p.Text != "," && p.Text != "~" && p.Text != "("
		}
	}
	return false
}

// directive is the form of the directive that the word belongs to, in a layout; and the
// last of its words that is followed by names, such as over.
func (c *cursor) directive() (form *directive.Form, word string) {
	for i := len(c.prev) - 1; i >= 0; i-- {
		t := c.prev[i]
		if t.Class != syntax.ClassName {
			continue
		}
		switch t.Text {
		case "over", "of", "between", "on", "to":
			if word == "" {
				word = t.Text
			}
		}
		for _, f := range directive.Forms() {
			if f.Word == t.Text && (i == 0 || c.prev[i-1].Pos.Line != t.Pos.Line || c.prev[i-1].Text == "{" || c.prev[i-1].Text == ";" || c.prev[i-1].Text == "keep") {
				return f, word
			}
		}
		if t.Pos.Column == 1 {
			break
		}
	}
	return nil, word
}
