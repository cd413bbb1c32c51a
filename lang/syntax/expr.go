package syntax

import (
	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
)

const (
	// maxDepth is how deep brackets, and operators without brackets, may nest:
	// no program comes near, and no input can exhaust the stack.
	maxDepth = 200
	// maxChain is how many operators of one precedence may follow each other.
	maxChain = 1000
)

// binding is the precedence of the binary operators; a higher one binds more
// tightly. `not` sits between `and` and the comparisons, unary minus between
// `*` and `**`.
var binding = map[string]int{
	"or": 1, "and": 2,
	"==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
	"+": 5, "-": 5, "*": 6, "/": 6, "%": 6, "**": 8,
}

const (
	bindNot        = 3
	bindComparison = 4
	bindUnary      = 7
	bindPower      = 8
)

// exprParser parses expressions and types by precedence climbing.
type exprParser struct {
	lex   *lexer.PeekingLexer
	end   Pos // just after the last token taken
	depth int
}

// parseExpr and parseType are the productions Expr and Type of the grammar.
func parseExpr(lex *lexer.PeekingLexer) (Expr, error) { return (&exprParser{lex: lex}).expr() }
func parseType(lex *lexer.PeekingLexer) (Type, error) { return (&exprParser{lex: lex}).typ() }

func (p *exprParser) peek() *lexer.Token { return p.lex.Peek() }

func (p *exprParser) next() *lexer.Token {
	t := p.lex.Next()
	p.end = tokenEnd(*t)
	return t
}

func (p *exprParser) at(value string) bool { return is(*p.peek(), value) }

// accept takes the next token if it is value.
func (p *exprParser) accept(value string) bool {
	if !p.at(value) {
		return false
	}
	p.next()
	return true
}

func (p *exprParser) span(from Pos) Span { return Span{Pos: from, EndPos: p.end} }

// mark and back try a parse and return from it.
type mark struct {
	at  lexer.Checkpoint
	end Pos
}

func (p *exprParser) mark() mark  { return mark{p.lex.MakeCheckpoint(), p.end} }
func (p *exprParser) back(m mark) { p.lex.LoadCheckpoint(m.at); p.end = m.end }

// enter counts a level of recursion; every call is paired with leave.
func (p *exprParser) enter() error {
	if p.depth++; p.depth > 2*maxDepth {
		return tooDeep(*p.peek())
	}
	return nil
}

func (p *exprParser) leave() { p.depth-- }

func tooDeep(t lexer.Token) error {
	return &diag.Error{Code: "E0105", Pos: Pos(t.Pos).Diag(), Len: len(t.Value),
		Msg: "this expression is nested too deeply", Hint: "name its parts with `name = expression`"}
}

// expr parses a whole expression, `a if cond else b` included. `x = a` may be
// followed by the statement `if cond { … }`; what follows the condition tells
// the two apart.
func (p *exprParser) expr() (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	from := Pos(p.peek().Pos)
	then, err := p.binary(1)
	if err != nil || !p.at("if") {
		return then, err
	}
	m := p.mark()
	p.next()
	cond, err := p.binary(1)
	if err != nil {
		return nil, err
	}
	if p.at("{") {
		p.back(m)
		return then, nil
	}
	if !p.accept("else") {
		e := unexpected(*p.peek(), "`else` and the other value")
		if p.at("=") {
			e.Hint = "`==` compares"
		}
		return nil, e
	}
	els, err := p.expr()
	if err != nil {
		return nil, err
	}
	return &Cond{Span: p.span(from), Then: then, Cond: cond, Else: els}, nil
}

// binary parses operators that bind at least as tightly as min.
func (p *exprParser) binary(min int) (Expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	from := Pos(p.peek().Pos)
	x, err := p.unary()
	for n, compared := 0, false; err == nil; n++ {
		t := *p.peek()
		bind := binding[t.Value]
		if t.EOF() || t.Type == tokString || bind < min || bind == 0 {
			return x, nil
		}
		if compared && bind == bindComparison {
			return nil, &diag.Error{Code: "E0114", Pos: Pos(t.Pos).Diag(), Len: len(t.Value),
				Msg: "comparisons cannot be chained", Hint: "write `a < b and b < c`"}
		}
		if n == maxChain {
			return nil, tooDeep(t)
		}
		compared = bind == bindComparison
		p.next()
		right := bind + 1
		if bind == bindPower {
			right = bindUnary // right-associative, and 2 ** -1
		}
		var y Expr
		if y, err = p.binary(right); err == nil {
			x = &Binary{Span: p.span(from), Op: t.Value, OpPos: Pos(t.Pos), X: x, Y: y}
		}
	}
	return nil, err
}

func (p *exprParser) unary() (Expr, error) {
	t := *p.peek()
	from := Pos(t.Pos)
	bind := 0
	switch {
	case is(t, "not"):
		bind = bindNot
	case is(t, "-"):
		bind = bindUnary
	default:
		return p.postfix()
	}
	p.next()
	x, err := p.binary(bind)
	if err != nil {
		return nil, err
	}
	return &Unary{Span: p.span(from), Op: t.Value, X: x}, nil
}

// postfix parses calls, indices and `.name` after an operand.
func (p *exprParser) postfix() (Expr, error) {
	from := Pos(p.peek().Pos)
	x, err := p.operand()
	for n := 0; err == nil; n++ {
		if n == maxChain {
			return nil, tooDeep(*p.peek())
		}
		switch {
		case p.accept("."):
			var sel *Ident
			if sel, err = p.ident("a name after `.`"); err == nil {
				x = &Dot{Span: p.span(from), X: x, Sel: sel}
			}
		case p.accept("("):
			var args []*Arg
			if args, err = p.args(")", false); err == nil {
				x = &Call{Span: p.span(from), Fun: x, Args: args}
			}
		case p.at("["):
			open := *p.next()
			var args []*Arg
			if args, err = p.args("]", true); err == nil {
				if len(args) == 0 {
					return nil, unexpectedAt(open, "an empty index", "an index, such as `x[seq = 0]`")
				}
				x = &Index{Span: p.span(from), X: x, Args: args}
			}
		default:
			return x, nil
		}
	}
	return nil, err
}

// args parses arguments up to the closing bracket; ranges only in an index.
func (p *exprParser) args(closer string, ranges bool) (args []*Arg, err error) {
	for !p.accept(closer) {
		arg, err := p.arg(ranges)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !p.accept(",") && !p.at(closer) {
			e := unexpected(*p.peek(), "`,` or `"+closer+"`")
			if ranges && p.at(":") {
				e.Hint = rangeHint
			}
			return nil, e
		}
	}
	return args, nil
}

// rangeHint is for the colons by which other languages write parts of tensors.
const rangeHint = "a part of a tensor names its axis: `x[seq = 0..4]`"

func (p *exprParser) arg(ranges bool) (*Arg, error) {
	from := Pos(p.peek().Pos)
	var name *Ident
	if p.peek().Type == tokIdent {
		m := p.mark()
		id, _ := p.ident("")
		if p.accept("=") {
			name = id
		} else {
			p.back(m)
		}
	}
	value, err := p.argValue(ranges)
	if err != nil {
		return nil, err
	}
	return &Arg{Span: p.span(from), Name: name, Value: value}, nil
}

// argValue is an expression, or in an index also lo..hi with optional ends.
func (p *exprParser) argValue(ranges bool) (lo Expr, err error) {
	from := Pos(p.peek().Pos)
	if !p.at("..") {
		if lo, err = p.expr(); err != nil {
			return nil, err
		}
	}
	if !ranges || !p.accept("..") {
		return lo, nil
	}
	var hi Expr
	if !p.at(",") && !p.at("]") {
		if hi, err = p.expr(); err != nil {
			return nil, err
		}
	}
	return &Range{Span: p.span(from), Lo: lo, Hi: hi}, nil
}

// operand parses a literal, a name, or something in brackets.
func (p *exprParser) operand() (Expr, error) {
	t := *p.peek()
	switch t.Type {
	case tokIdent, tokWord:
		p.next()
		return &Name{Span: p.span(Pos(t.Pos)), Name: t.Value}, nil
	case tokInt, tokFloat:
		return p.number()
	case tokString:
		p.next()
		s, err := unquote(t.Value)
		if err != nil { // the lexer has reported it
			return nil, unexpected(t, "a string")
		}
		return &String{Span: p.span(Pos(t.Pos)), Value: s}, nil
	}
	switch {
	case is(t, "("):
		return p.tuple()
	case is(t, "["):
		p.next()
		elems, _, err := p.elems("]")
		if err != nil {
			return nil, err
		}
		return &List{Span: p.span(Pos(t.Pos)), Elems: elems}, nil
	case is(t, "true"), is(t, "false"):
		p.next()
		return &Bool{Span: p.span(Pos(t.Pos)), Value: t.Value == "true"}, nil
	case is(t, "inf"):
		p.next()
		return infinity(p.span(Pos(t.Pos))), nil
	}
	e := unexpected(t, "an expression")
	switch {
	case is(t, "."):
		e.Hint = "a number begins with a digit: `0.5`"
	case is(t, ":"):
		e.Hint = rangeHint
	}
	return nil, e
}

// tuple parses what `(` opens: a tuple, or a grouped expression.
func (p *exprParser) tuple() (Expr, error) {
	open := *p.next()
	elems, comma, err := p.elems(")")
	if err != nil {
		return nil, err
	}
	switch {
	case len(elems) == 0:
		return nil, unexpectedAt(open, "empty parentheses", "an expression")
	case len(elems) == 1 && !comma:
		return elems[0], nil
	}
	return &Tuple{Span: p.span(Pos(open.Pos)), Elems: elems}, nil
}

// elems parses expressions up to the closing bracket, and tells whether the
// last one had a comma.
func (p *exprParser) elems(closer string) (elems []Expr, comma bool, err error) {
	for !p.accept(closer) {
		e, err := p.expr()
		if err != nil {
			return nil, false, err
		}
		elems = append(elems, e)
		if comma = p.accept(","); !comma && !p.at(closer) {
			return nil, false, unexpected(*p.peek(), "`,` or `"+closer+"`")
		}
	}
	return elems, comma, nil
}

// ident takes a name.
func (p *exprParser) ident(want string) (*Ident, error) {
	t := *p.peek()
	if t.Type != tokIdent {
		return nil, unexpected(t, want)
	}
	p.next()
	return &Ident{Span: p.span(Pos(t.Pos)), Name: t.Value}, nil
}
