package formula

import (
	"fmt"
	"math"
	"strconv"
)

// Parse reads an expression and nothing else.
func Parse(text string) (*Expr, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("an expression of %d bytes, but the limit is %d", len(text), MaxText)
	}
	p := &parser{text: text}
	p.next()
	x := p.expr(1, 0)
	if p.err == nil && p.kind != end {
		p.fail("`%s` after the expression", p.token)
	}
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

type kind int

const (
	end kind = iota
	number
	word
	sign
)

// parser reads an expression by how tightly operators bind.
type parser struct {
	text  string
	at    int // behind the token
	kind  kind
	token string
	err   error
}

func (p *parser) fail(format string, args ...any) *Expr {
	if p.err == nil {
		p.err = fmt.Errorf("it is not arithmetic of numbers: "+format, args...)
	}
	p.kind, p.token = end, "" // nothing more is read
	p.at = len(p.text)
	return nil
}

// next reads a token.
func (p *parser) next() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
	from := p.at
	p.kind, p.token = end, ""
	if from == len(p.text) {
		return
	}
	switch c := p.text[from]; {
	case digit(c) || c == '.':
		p.kind = number
		p.number()
	case letter(c):
		p.kind = word
		for p.at < len(p.text) && (letter(p.text[p.at]) || digit(p.text[p.at])) {
			p.at++
		}
	default:
		p.kind = sign
		p.at++
		if p.at < len(p.text) && binary[p.text[from:p.at+1]].f != nil {
			p.at++
		}
	}
	p.token = p.text[from:p.at]
}

// number reads digits, a point, and an exponent.
func (p *parser) number() {
	digits := func() {
		for p.at < len(p.text) && (digit(p.text[p.at]) || p.text[p.at] == '.') {
			p.at++
		}
	}
	digits()
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '-' || p.text[p.at] == '+') {
			p.at++
		}
		digits()
	}
}

func digit(c byte) bool  { return '0' <= c && c <= '9' }
func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }

// expr reads operators that bind at least as tightly as level.
func (p *parser) expr(level, depth int) *Expr {
	if depth > MaxDepth {
		return p.fail("more than %d parentheses or signs", MaxDepth)
	}
	x, most := p.operand(depth), atom
	for p.err == nil && p.kind == sign {
		op, ok := binary[p.token]
		if !ok || op.level < level || op.level > most {
			break
		}
		name := p.token
		p.next()
		y := p.expr(op.level+1, depth+1)
		if x = Apply(name, x, y); x == nil {
			return p.fail("more than %d parts, or too deep", MaxSize)
		}
		if op.level == 1 || name == "**" { // neither is a chain
			most = op.level - 1
		}
	}
	return x
}

func (p *parser) operand(depth int) *Expr {
	token := p.token
	switch {
	case p.kind == number:
		v, err := strconv.ParseFloat(token, 64)
		if err != nil || math.IsInf(v, 0) {
			return p.fail("`%s` is no number", token)
		}
		p.next()
		return Number(v)
	case p.kind == word:
		p.next()
		if p.token == "(" {
			return p.call(token, depth)
		}
		return Name(token)
	case token == "-":
		p.next()
		x := p.expr(negLevel+1, depth+1)
		if x = Apply(Neg, x); x == nil {
			return p.fail("a sign of nothing, or too deep")
		}
		return x
	case token == "(":
		p.next()
		x := p.expr(1, depth+1)
		p.expect(")")
		return x
	case p.kind == end:
		return p.fail("a number or a name is missing at its end")
	}
	return p.fail("`%s` where a number or a name should be", token)
}

// call reads the arguments of a function.
func (p *parser) call(name string, depth int) *Expr {
	n := arity(name)
	if _, operator := binary[name]; n == 0 || operator || name == Neg {
		return p.fail("there is no function `%s`", name)
	}
	var args []*Expr
	for i := range n {
		p.next()
		args = append(args, p.expr(1, depth+1))
		if i < n-1 && p.token != "," {
			return p.fail("`%s` takes %d numbers", name, n)
		}
	}
	p.expect(")")
	x := Apply(name, args...)
	if x == nil {
		return p.fail("more than %d parts, or too deep", MaxSize)
	}
	return x
}

func (p *parser) expect(token string) {
	if p.err == nil && p.token != token {
		p.fail("`%s` is missing", token)
		return
	}
	p.next()
}
