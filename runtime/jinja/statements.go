package jinja

import "slices"

// block is statements, one after another.
type block []statement

// parse makes a tree of a template's source.
func parse(src string) (b block, marked, dated bool) {
	p := &parser{tokens: lex(src)}
	b = p.block()
	if t := p.now(); t.kind != end {
		fail(t.line, "%s is unexpected here", p.look().describe())
	}
	return b, p.marked, p.dated
}

// block parses up to a tag that begins with one of the words, or to the end of the
// template where there are none. The tag {% is taken, the word is not.
func (p *parser) block(until ...string) block {
	defer p.deeper()()
	var b block
	for {
		switch t := p.next(); t.kind {
		case end:
			if len(until) > 0 {
				fail(t.line, "%s is missing", until[len(until)-1])
			}
			return b
		case text:
			b = append(b, &literal{t.text})
		case open:
			b = append(b, &output{line: t.line, of: p.tuple(true, false)})
			p.wantKind(closed, "}}")
		case tagOpen:
			w := p.now()
			if w.kind == name && slices.Contains(until, w.text) {
				return b
			}
			parse := statements[w.text]
			if w.kind != name || parse == nil {
				fail(w.line, "the statement %s is not known here, or not at this place", w.describe())
			}
			p.next()
			b = append(b, parse(p, w.line))
			p.wantKind(tagClosed, "%}")
		}
	}
}

// inner is a block within a statement, whose last word is taken.
func (p *parser) inner(until ...string) (block, string) {
	p.wantKind(tagClosed, "%}")
	b := p.block(until...)
	return b, p.next().text
}

// statements are parsed behind their first word.
var statements map[string]func(p *parser, line int) statement

func init() {
	statements = map[string]func(p *parser, line int) statement{
		"if": parseIf, "for": parseFor, "set": parseSet, "macro": parseMacro, "call": parseCall,
		"filter": parseFilter, "with": parseWith, "generation": parseGeneration,
		"break":    func(p *parser, line int) statement { return p.leave(line, true) },
		"continue": func(p *parser, line int) statement { return p.leave(line, false) },
	}
}

func parseIf(p *parser, line int) statement {
	s := &conditional{}
	for word := "if"; ; {
		switch word {
		case "if", "elif":
			s.when = append(s.when, p.tuple(false, false))
		}
		b, next := p.inner("elif", "else", "endif")
		if word == "else" {
			s.otherwise = b
			if next != "endif" {
				fail(line, "%s is behind else", next)
			}
			return s
		}
		s.then = append(s.then, b)
		if word = next; word == "endif" {
			return s
		}
	}
}

func parseFor(p *parser, line int) statement {
	s := &iteration{line: line, to: p.target(false)}
	if !p.skipWord("in") {
		fail(line, "in is expected, and there is %s", p.now().describe())
	}
	s.over = p.tuple(false, false)
	if p.skipWord("if") {
		s.test = p.expression(true)
	}
	s.recursive = p.skipWord("recursive")
	p.loops++
	b, word := p.inner("endfor", "else")
	p.loops--
	if s.body = b; word == "else" {
		s.empty, _ = p.inner("endfor")
	}
	return s
}

// target is what is assigned to: names, or an attribute of a namespace.
func (p *parser) target(attributes bool) []place {
	var out []place
	brackets := p.skip("(")
	for {
		t := p.wantKind(name, "the name of a variable")
		if _, ok := constants[t.text]; ok {
			fail(t.line, "%s cannot be assigned to", t.text)
		}
		to := place{line: t.line, name: t.text}
		if attributes && p.skip(".") {
			to.attribute = p.wantKind(name, "the name of an attribute").text
		}
		out = append(out, to)
		if !p.skip(",") {
			break
		}
		if out[0].tuple = true; brackets && p.now().is(")") {
			break
		}
	}
	if brackets {
		p.want(")")
	}
	return out
}

func parseSet(p *parser, line int) statement {
	s := &assignment{line: line, to: p.target(true)}
	if p.skip("=") {
		s.value = p.tuple(true, false)
		return s
	}
	if len(s.to) > 1 {
		fail(line, "a block is assigned to one variable")
	}
	for p.skip("|") {
		s.filter = p.filter(s.filter)
	}
	p.separate(func() { s.body, _ = p.inner("endset") })
	return s
}

// separate parses what is a function of its own, where no loop around is left.
func (p *parser) separate(parse func()) {
	loops := p.loops
	p.loops = 0
	parse()
	p.loops = loops
}

func (p *parser) leave(line int, stop bool) statement {
	if p.loops == 0 {
		fail(line, "break and continue are within for alone")
	}
	return &leaving{stop}
}

// parameters are those of a macro.
func (p *parser) parameters() (names []string, defaults []expr) {
	p.want("(")
	for range p.list(")") {
		t := p.wantKind(name, "the name of a parameter")
		names = append(names, t.text)
		if p.skip("=") {
			defaults = append(defaults, p.expression(true))
		} else if len(defaults) > 0 {
			fail(t.line, "a parameter without a default is behind one with a default")
		}
	}
	return names, defaults
}

func parseMacro(p *parser, line int) statement {
	m := &macro{line: line, name: p.wantKind(name, "the name of a macro").text}
	m.params, m.defaults = p.parameters()
	p.macros++
	p.separate(func() { m.body, _ = p.inner("endmacro") })
	p.macros--
	return m
}

func parseCall(p *parser, line int) statement {
	m := &macro{line: line, name: "caller"}
	if p.now().is("(") {
		m.params, m.defaults = p.parameters()
	}
	x, ok := p.expression(true).(*calling)
	if !ok {
		fail(line, "a call is expected")
	}
	p.separate(func() { m.body, _ = p.inner("endcall") })
	return &callBlock{line: line, call: x, caller: m}
}

func parseFilter(p *parser, line int) statement {
	s := &assignment{line: line}
	s.filter = p.filter(nil)
	for p.skip("|") {
		s.filter = p.filter(s.filter)
	}
	p.separate(func() { s.body, _ = p.inner("endfilter") })
	return s
}

func parseWith(p *parser, _ int) statement {
	s := &scoped{}
	for p.now().kind != tagClosed {
		if len(s.to) > 0 {
			p.want(",")
		}
		to := p.target(false)
		p.want("=")
		s.to, s.values = append(s.to, to), append(s.values, p.expression(true))
	}
	s.body, _ = p.inner("endwith")
	return s
}

// parseGeneration is what transformers adds: the text within is the assistant's.
func parseGeneration(p *parser, line int) statement {
	if p.inside {
		fail(line, "generation is within generation")
	}
	p.marked, p.inside = true, true
	s := &generation{line: line}
	p.separate(func() { s.body, _ = p.inner("endgeneration") })
	p.inside = false
	return s
}
