package jinja

import "slices"

// parser makes a tree of tokens, by the grammar of jinja2/parser.py.
type parser struct {
	tokens []token
	at     int
	depth  int
	loops  int  // for statements around this place, in the same function
	macros int  // macros around this place
	dated  bool // strftime_now was found
	marked bool // a {% generation %} was found
	inside bool // a {% generation %} is around this place
}

func (p *parser) now() token { return p.tokens[p.at] }

func (p *parser) look() token { return p.tokens[min(p.at+1, len(p.tokens)-1)] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != end {
		p.at++
	}
	return t
}

// skip takes an operator or a bracket if it is there.
func (p *parser) skip(m string) bool {
	if p.now().is(m) {
		p.at++
		return true
	}
	return false
}

// skipWord takes a word if it is there.
func (p *parser) skipWord(w string) bool {
	if p.now().word(w) {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(m string) {
	if !p.skip(m) {
		fail(p.now().line, "%s is expected, and there is %s", m, p.now().describe())
	}
}

func (p *parser) wantKind(k kind, what string) token {
	if p.now().kind != k {
		fail(p.now().line, "%s is expected, and there is %s", what, p.now().describe())
	}
	return p.next()
}

// deeper counts what is within each other; the result ends it.
func (p *parser) deeper() func() {
	if p.depth++; p.depth > maxNested {
		fail(p.now().line, "more than %d expressions or statements are within each other", maxNested)
	}
	return func() { p.depth-- }
}

// expression is one with or without "x if y else z".
func (p *parser) expression(conditional bool) expr {
	defer p.deeper()()
	x := p.or()
	for conditional && p.now().word("if") {
		line := p.next().line
		c := &choice{line: line, yes: x, when: p.or()}
		if p.skipWord("else") {
			c.no = p.expression(true)
		}
		x = c
	}
	return x
}

func (p *parser) or() expr {
	x := p.and()
	for p.now().word("or") {
		p.next()
		x = &logic{left: x, right: p.and(), or: true}
	}
	return x
}

func (p *parser) and() expr {
	x := p.not()
	for p.now().word("and") {
		p.next()
		x = &logic{left: x, right: p.not()}
	}
	return x
}

func (p *parser) not() expr {
	if p.now().word("not") {
		defer p.deeper()()
		p.next()
		return &negation{p.not()}
	}
	return p.compare()
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) compare() expr {
	x := p.sum()
	var c *comparison
	for {
		op, t := "", p.now()
		switch {
		case t.kind == mark && slices.Contains(comparisons, t.text):
			op = t.text
			p.next()
		case t.word("in"):
			op = "in"
			p.next()
		case t.word("not") && p.look().word("in"):
			op = "not in"
			p.at += 2
		default:
			if c == nil {
				return x
			}
			return c
		}
		if c == nil {
			c = &comparison{line: t.line, first: x}
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, p.sum())
	}
}

// binaries parses operators of one rank, from the left.
func (p *parser) binaries(operand func() expr, ops ...string) expr {
	x := operand()
	for p.now().kind == mark && slices.Contains(ops, p.now().text) {
		t := p.next()
		x = &binary{line: t.line, op: t.text, left: x, right: operand()}
	}
	return x
}

func (p *parser) sum() expr     { return p.binaries(p.joined, "+", "-") }
func (p *parser) joined() expr  { return p.binaries(p.product, "~") }
func (p *parser) product() expr { return p.binaries(p.power, "*", "/", "//", "%") }
func (p *parser) power() expr   { return p.binaries(func() expr { return p.unary(true) }, "**") }

func (p *parser) unary(filters bool) expr {
	var x expr
	if t := p.now(); t.is("-") || t.is("+") {
		leave := p.deeper()
		p.next()
		x = &sign{line: t.line, minus: t.text == "-", of: p.unary(false)}
		leave()
	} else {
		x = p.primary()
	}
	x = p.postfix(x)
	if filters {
		x = p.filters(x)
	}
	return x
}

// constants are names that are no variables.
var constants = map[string]Value{"true": true, "True": true, "false": false, "False": false, "none": nil, "None": nil}

func (p *parser) primary() expr {
	t := p.next()
	switch t.kind {
	case name:
		if v, ok := constants[t.text]; ok {
			return &constant{v}
		}
		if p.macros > 0 && (t.text == "varargs" || t.text == "kwargs") {
			fail(t.line, "%s of a macro is not known here", t.text)
		}
		p.dated = p.dated || t.text == "strftime_now"
		return &variable{line: t.line, name: t.text}
	case str:
		s := t.text
		for p.now().kind == str {
			s += p.next().text
		}
		return &constant{s}
	case integer, float:
		return &constant{numberOf(t)}
	}
	switch {
	case t.is("("):
		x := p.tuple(true, true)
		p.want(")")
		return x
	case t.is("["):
		l := &display{line: t.line}
		for range p.list("]") {
			l.items = append(l.items, p.expression(true))
		}
		return l
	case t.is("{"):
		return p.dict(t.line)
	}
	p.at = max(0, p.at-1)
	fail(t.line, "a value is expected, and there is %s", t.describe())
	return nil
}

// list stops in front of each element of a list, up to the bracket that closes it. A comma may follow the last
// element.
func (p *parser) list(closing string) func(yield func() bool) {
	return func(yield func() bool) {
		for first := true; !p.skip(closing); first = false {
			if !first {
				p.want(",")
				if p.skip(closing) {
					return
				}
			}
			if !yield() {
				return
			}
		}
	}
}

func (p *parser) dict(line int) expr {
	d := &dictDisplay{line: line}
	for range p.list("}") {
		d.keys = append(d.keys, p.expression(true))
		p.want(":")
		d.vals = append(d.vals, p.expression(true))
	}
	return d
}

// tuple is one expression, or several with commas between them.
func (p *parser) tuple(conditional, parentheses bool) expr {
	line := p.now().line
	var items []expr
	commas := false
	for {
		t := p.now()
		if t.is(")") || t.kind == closed || t.kind == tagClosed || t.word("recursive") {
			break
		}
		items = append(items, p.expression(conditional))
		if !p.skip(",") {
			break
		}
		commas = true
	}
	if commas || len(items) == 0 && parentheses {
		return &display{line: line, items: items, shape: tuple}
	}
	if len(items) == 0 {
		fail(line, "a value is expected, and there is %s", p.now().describe())
	}
	return items[0]
}
