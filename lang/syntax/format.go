package syntax

import (
	"strings"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

// Format lays a source file out in the one style of the language. It keeps the
// tokens, the comments, the line breaks (at most one blank line) and the
// length of lines; it sets the indentation, the spaces, and the columns of
// neighbouring entries, members and trailing comments. Braces around more than
// one line stand at the ends of lines. A file with syntax
// errors is not touched: the errors are returned. Formatting twice changes
// nothing more.
func Format(file string, src []byte) ([]byte, diag.List) {
	f, toks, errs := parseTokens(file, src, false)
	if len(errs) > 0 {
		return nil, errs
	}
	p := &formatter{starts: map[int]string{}, unary: map[int]bool{}, open: map[int]bool{}, tight: map[int]bool{}, from: map[int]bool{}, depth: -1}
	Inspect(f, p.learn)
	breaks, open := 0, opened(toks)
	for _, t := range toks {
		switch {
		case t.Type == tokSpace:
			breaks += strings.Count(t.Value, "\n")
		case !t.EOF():
			if open[t.Pos.Offset] {
				breaks = max(breaks, 1)
			}
			p.token(t, breaks)
			breaks = 0
		}
	}
	return []byte(render(p.lines)), nil
}

// opened are the offsets of the tokens that begin a line because of the braces
// around them: what follows `{`, but a comment on its line, and `}`, where there
// is a line break between the two.
func opened(toks []lexer.Token) map[int]bool {
	type brace struct {
		after int // offset of the token that follows, -1 before it is known
		lines bool
	}
	out := map[int]bool{}
	var stack []*brace
	for _, t := range toks {
		broken := strings.Contains(t.Value, "\n")
		comment := t.Type == tokComment && strings.HasPrefix(t.Value, "//")
		for _, b := range stack {
			if b.after < 0 && t.Type != tokSpace && !comment {
				b.after = t.Pos.Offset
			}
			b.lines = b.lines || broken || comment
		}
		switch {
		case is(t, "{"):
			stack = append(stack, &brace{after: -1})
		case is(t, "}") && len(stack) > 0:
			b := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if b.lines && b.after != t.Pos.Offset {
				out[b.after], out[t.Pos.Offset] = true, true
			}
		}
	}
	return out
}

// A level is an open bracket.
type level struct {
	open   string
	base   int // indentation of a line that begins with its closer
	inside int // indentation of the lines in it
}

// formatter turns tokens into lines.
type formatter struct {
	starts map[int]string // offset of the first token of an item → its kind
	unary  map[int]bool   // offset of a minus sign with one operand
	open   map[int]bool   // offsets of the braces of an open number, which stand close
	tight  map[int]bool   // offsets of the words of a unit: `GB/s` has no spaces
	from   map[int]bool   // offsets of `from`, which has a column of its own

	lines  []*line
	levels []level
	prev   lexer.Token
	// Within an item whose line is cut into cells: the number of levels around
	// it, or -1, and whether its `:` or `=` has been seen.
	depth     int
	separated bool
}

// Kinds of items that have columns; the others have kindPlain.
const (
	kindPlain  = "plain"
	kindEntry  = "entry"
	kindParam  = "param"
	kindModule = "submodule"
	kindLet    = "let"
)

// learn takes from the tree what tokens do not tell.
func (p *formatter) learn(n Node) bool {
	at := n.Extent().Pos.Offset
	switch n := n.(type) {
	case lister: // its entries begin nothing
		p.starts[at] = kindPlain
		for _, e := range n.List() {
			Inspect(e.Value, p.learn)
		}
		return false
	case *Entry, *TensorRow, *KeyRow, *Selected, *SweepAxis, *Fact:
		p.starts[at] = kindEntry
	case *Measure:
		p.unary[at] = true
	case *Source:
		p.from[at] = true
	case *Unit:
		if n.Per != "" {
			p.tight[at], p.tight[n.EndPos.Offset-len(n.Per)] = true, true
		}
	case *ParamDecl:
		p.starts[at] = kindParam
	case *SubModule:
		p.starts[at] = kindModule
	case *Let:
		p.starts[at] = kindLet
	case *PathPart:
		if n.Var != "" {
			p.open[at], p.open[n.EndPos.Offset-1] = true, true
		}
	case *Keep: // its directive goes on with the line
		Inspect(n.What, p.learn)
		delete(p.starts, n.What.Extent().Pos.Offset)
		p.starts[at] = kindPlain
		return false
	case Decl, Stmt, Directive, NamesItem, AutoItem, MachineItem, *Lora, *Metrics, *Stop:
		p.starts[at] = kindPlain
	case *Unary:
		p.unary[at] = n.Op == "-"
	}
	return true
}

func (p *formatter) top() level {
	if len(p.levels) == 0 {
		return level{open: "{"}
	}
	return p.levels[len(p.levels)-1]
}

// token places one token, which follows after so many line breaks.
func (p *formatter) token(t lexer.Token, breaks int) {
	if len(p.lines) == 0 || breaks > 0 {
		p.startLine(t, breaks)
	} else {
		p.append(t)
	}
	switch {
	case isOpener(t):
		l := level{open: t.Value, base: p.lines[len(p.lines)-1].indent}
		if t.Value == "{" {
			l.base = p.top().inside
		}
		l.inside = l.base + 1
		p.levels = append(p.levels, l)
	case isCloser(t):
		p.levels = p.levels[:len(p.levels)-1]
	}
	p.prev = t
}

func (p *formatter) startLine(t lexer.Token, breaks int) {
	l := &line{indent: p.top().inside}
	kind, starts := p.starts[t.Pos.Offset]
	switch {
	case isCloser(t):
		l.indent = p.top().base
	case t.Type == tokComment, starts, p.top().open != "{":
	case is(t, "{"), is(t, "else"), is(t, ";"):
	default: // goes on with what the line above began
		l.indent++
	}
	l.blank = breaks > 1 && len(p.lines) > 0 && !isCloser(t) && !isOpener(p.prev)
	p.depth = -1
	if l.kind = kind; starts && kind != kindPlain {
		p.depth, p.separated = len(p.levels), false
	}
	l.cells = []cell{{text: []byte(tokenText(t))}}
	p.lines = append(p.lines, l)
}

// append adds a token to the current line, in a new cell if it begins one.
func (p *formatter) append(t lexer.Token) {
	l := p.lines[len(p.lines)-1]
	gap, text := p.gap(t), tokenText(t)
	switch {
	case strings.HasPrefix(text, "//"):
		l.comment = text
	case p.beginsCell(t):
		l.cells = append(l.cells, cell{gap: len(gap), text: []byte(text)})
	default:
		last := &l.cells[len(l.cells)-1]
		last.text = append(append(last.text, gap...), text...)
	}
}

// beginsCell reports whether t stands in a column of its own: the sign of an
// entry or member, the `~` of a parameter, the source of a number, the next item on
// the line.
func (p *formatter) beginsCell(t lexer.Token) bool {
	if p.depth != len(p.levels) {
		return false
	}
	if kind, starts := p.starts[t.Pos.Offset]; starts {
		if kind == kindPlain {
			p.depth = -1
			return false
		}
		p.separated = false
		return true
	}
	if !p.separated && (is(t, ":") || is(t, "=")) {
		p.separated = true
		return true
	}
	return is(t, "~") || p.from[t.Pos.Offset]
}

// loose are the words before which a bracket does not make a call.
var loose = map[string]bool{"over": true, "in": true, "of": true, "on": true, "between": true, "as": true}

// gap is the space between the previous token and t on one line.
func (p *formatter) gap(t lexer.Token) string {
	prev := p.prev
	_, starts := p.starts[t.Pos.Offset]
	switch {
	case t.Type == tokComment:
		if strings.HasPrefix(t.Value, "//") {
			return "  "
		}
		if is(prev, "(") || is(prev, "[") {
			return ""
		}
		return " "
	case is(t, ";"), is(t, ","):
		return ""
	case p.open[t.Pos.Offset], p.open[prev.Pos.Offset] && is(prev, "{"):
		return ""
	case p.tight[prev.Pos.Offset] && is(t, "/"), p.tight[t.Pos.Offset] && is(prev, "/"):
		return ""
	case is(t, "}"), is(t, "{"), is(prev, "{"):
		return " "
	case is(prev, ";"), starts && prev.Type != tokComment:
		return "  "
	case is(prev, "("), is(prev, "["), is(t, ")"), is(t, "]"), is(t, "."), is(prev, "."), is(prev, ".."):
		return ""
	case is(t, ".."):
		if is(prev, "=") || is(prev, ",") {
			return " "
		}
		return ""
	case is(t, ":") && p.top().open != "{":
		return ""
	case prev.Type == tokOp && p.unary[prev.Pos.Offset]:
		return ""
	case (is(t, "(") || is(t, "[")) && isOperand(prev):
		return ""
	}
	return " "
}

// isOperand reports whether a bracket after t is a call, an index or a list of
// parameters.
func isOperand(t lexer.Token) bool {
	switch t.Type {
	case tokIdent:
		return !loose[t.Value]
	case tokWord, tokString, tokInt, tokFloat:
		return true
	case tokKeyword:
		return t.Value == "true" || t.Value == "false" || t.Value == "inf"
	}
	return is(t, ")") || is(t, "]")
}

// tokenText is a token as it is written: only the line ends in a comment may
// differ from the source.
func tokenText(t lexer.Token) string { return strings.ReplaceAll(t.Value, "\r\n", "\n") }
