package jinja

// postfix parses attributes, subscripts and calls behind a value.
func (p *parser) postfix(x expr) expr {
	for {
		t := p.now()
		switch {
		case t.is("."):
			p.next()
			switch n := p.next(); n.kind {
			case name:
				x = &attribute{line: n.line, of: x, name: n.text}
			case integer:
				x = &subscript{line: n.line, of: x, at: &constant{numberOf(n)}}
			default:
				fail(n.line, "the name of an attribute is expected, and there is %s", n.describe())
			}
		case t.is("["):
			p.next()
			x = p.subscript(x, t.line)
			p.want("]")
		case t.is("("):
			x = &calling{line: t.line, of: x, args: p.arguments()}
		default:
			return x
		}
	}
}

// subscript is x[y] or a slice x[from:to:step].
func (p *parser) subscript(x expr, line int) expr {
	s := &slicing{line: line, of: x}
	part := func() expr {
		if p.now().is(":") || p.now().is("]") {
			return nil
		}
		return p.expression(true)
	}
	first := part()
	if !p.now().is(":") {
		if first == nil {
			fail(line, "a subscript is expected")
		}
		if p.now().is(",") {
			fail(line, "several subscripts are not known here")
		}
		return &subscript{line: line, of: x, at: first}
	}
	p.next()
	s.from, s.to = first, part()
	if p.skip(":") {
		s.step = part()
	}
	return s
}

// arguments are those of a call, by place and by name.
type arguments struct {
	list  []expr
	names []string
	named []expr
	// rest and more are spread: *rest and **more.
	rest, more expr
}

func (p *parser) arguments() (a arguments) {
	p.want("(")
	for range p.list(")") {
		t := p.now()
		switch {
		case t.is("*") && a.rest == nil && a.more == nil:
			p.next()
			a.rest = p.expression(true)
		case t.is("**") && a.more == nil:
			p.next()
			a.more = p.expression(true)
		case a.more != nil:
			fail(t.line, "an argument is behind those that are spread")
		case t.kind == name && p.look().is("="):
			p.at += 2
			a.names, a.named = append(a.names, t.text), append(a.named, p.expression(true))
		case len(a.named) > 0 || a.rest != nil:
			fail(t.line, "an argument without a name is behind one with a name")
		default:
			a.list = append(a.list, p.expression(true))
		}
	}
	return a
}

// filters parses filters, tests and calls of what they give.
func (p *parser) filters(x expr) expr {
	for {
		t := p.now()
		switch {
		case t.is("|"):
			p.next()
			x = p.filter(x)
		case t.word("is"):
			p.next()
			x = p.test(x)
		case t.is("("):
			x = &calling{line: t.line, of: x, args: p.arguments()}
		default:
			return x
		}
	}
}

// filter is the one whose name comes; x is nil where a block is what it is applied to.
func (p *parser) filter(x expr) expr {
	t := p.wantKind(name, "the name of a filter")
	f := &filtering{line: t.line, of: x, name: t.text}
	if filters[t.text] == nil {
		fail(t.line, "the filter %s is not known here", t.text)
	}
	if p.now().is("(") {
		f.args = p.arguments()
	}
	return f
}

func (p *parser) test(x expr) expr {
	not := p.skipWord("not")
	t := p.wantKind(name, "the name of a test")
	if tests[t.text] == nil {
		fail(t.line, "the test %s is not known here", t.text)
	}
	q := &trial{line: t.line, of: x, name: t.text, not: not}
	switch n := p.now(); {
	case n.is("("):
		q.args = p.arguments()
	case n.word("is"):
		fail(n.line, "a test of a test's result needs brackets")
	case n.kind == name && !n.word("else") && !n.word("or") && !n.word("and"),
		n.kind == str, n.kind == integer, n.kind == float, n.is("["), n.is("{"):
		q.args.list = []expr{p.postfix(p.primary())}
	}
	return q
}
