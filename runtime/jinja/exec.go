package jinja

import "strings"

// literal is text between tags.
type literal struct{ text string }

func (x *literal) exec(s *state) flow {
	s.write(x.text, 0)
	return onward
}

// output is {{ of }}.
type output struct {
	line int
	of   expr
}

func (x *output) exec(s *state) flow {
	s.write(s.show(x.of.eval(s), x.line), x.line)
	return onward
}

// conditional is if, elif, else.
type conditional struct {
	when      []expr
	then      []block
	otherwise block
}

func (x *conditional) exec(s *state) flow {
	for i, w := range x.when {
		if truth(w.eval(s)) {
			return x.then[i].exec(s)
		}
	}
	return x.otherwise.exec(s)
}

// place is what a value is assigned to.
type place struct {
	line            int
	name, attribute string
	tuple           bool // there is a comma behind the first place
}

// assign gives the value to a place, or its elements to several.
func (s *state) assign(to []place, v Value, line int) {
	if !to[0].tuple {
		s.assignOne(to[0], v)
		return
	}
	items := s.iterate(v, line)
	if len(items) != len(to) {
		fail(line, "%d values are assigned to %d variables", len(items), len(to))
	}
	for i, p := range to {
		s.assignOne(p, items[i])
	}
}

func (s *state) assignOne(to place, v Value) {
	if to.attribute == "" {
		s.vars.set(to.name, v)
		return
	}
	held, _ := s.vars.get(to.name)
	n, ok := held.(*namespace)
	switch {
	case !ok:
		fail(to.line, "%s is no namespace, and only attributes of these can be set", to.name)
	case strings.HasPrefix(to.attribute, "_"):
		fail(to.line, "the attribute %s of a namespace begins with an underscore", to.attribute)
	}
	n.vars.set(to.attribute, v, to.line)
}

// assignment is {% set to = value %}, {% set to | filter %} body {% endset %}, and
// without a place {% filter f %} body {% endfilter %}.
type assignment struct {
	line   int
	to     []place
	value  expr
	filter expr // its innermost operand is nil
	body   block
}

func (x *assignment) exec(s *state) flow {
	if s.step(x.line); x.value != nil {
		s.assign(x.to, x.value.eval(s), x.line)
		return onward
	}
	var v Value = s.capture(func() { s.within(s.vars, func() { x.body.exec(s) }) })
	if x.filter != nil {
		v = s.filterBlock(x.filter.(*filtering), v)
	}
	if x.to == nil {
		s.write(s.show(v, x.line), x.line)
	} else {
		s.assign(x.to, v, x.line)
	}
	return onward
}

func (s *state) filterBlock(f *filtering, v Value) Value {
	if f.of != nil {
		v = s.filterBlock(f.of.(*filtering), v)
	}
	return f.apply(s, v)
}

// scoped is {% with %}.
type scoped struct {
	to     [][]place
	values []expr
	body   block
}

func (x *scoped) exec(s *state) (f flow) {
	values := make([]Value, len(x.values))
	for i, v := range x.values {
		values[i] = v.eval(s)
	}
	s.within(s.vars, func() {
		for i, to := range x.to {
			s.assign(to, values[i], to[0].line)
		}
		f = x.body.exec(s)
	})
	return f
}

// leaving is break or continue.
type leaving struct{ stop bool }

func (x *leaving) exec(*state) flow {
	if x.stop {
		return stopped
	}
	return continued
}

// generation is text of the assistant's. Where it is in the rendered text is known
// only if it is written there at once.
type generation struct {
	line int
	body block
}

func (x *generation) exec(s *state) flow {
	if s.out != s.top {
		fail(x.line, "generation is within a macro, a call, a filter or a set, where its place in the text is not known")
	}
	from := s.top.Len()
	text := s.capture(func() { s.within(s.vars, func() { x.body.exec(s) }) })
	s.write(text, x.line)
	s.spans = append(s.spans, [2]int{from, s.top.Len()})
	return onward
}

// macro is text with parameters.
type macro struct {
	line     int
	name     string
	params   []string
	defaults []expr // of the last parameters
	body     block
}

func (x *macro) exec(s *state) flow {
	s.vars.set(x.name, x.function(s, s.vars))
	return onward
}

// function makes a value of the macro that sees the variables around it.
func (x *macro) function(s *state, around *scope) *function {
	return &function{x.name, func(c *call) Value {
		defer s.enter(c.line)()
		var out string
		s.within(around, func() {
			x.bind(s, c)
			out = s.capture(func() { x.body.exec(s) })
		})
		return out
	}}
}

// bind gives arguments to parameters. As in Jinja2, one that is missing is undefined.
func (x *macro) bind(s *state, c *call) {
	used := map[string]bool{}
	for i, p := range x.params {
		v, ok := c.named(p)
		switch {
		case i < len(c.args) && ok:
			fail(c.line, "%s is given twice to the macro %s", p, x.name)
		case i < len(c.args):
			v = c.args[i]
		case ok:
			used[p] = true
		case i >= len(x.params)-len(x.defaults):
			v = x.defaults[i-len(x.params)+len(x.defaults)].eval(s)
		default:
			v = undefined{"the parameter " + p + " of the macro " + x.name + " was not given"}
		}
		s.vars.set(p, v)
	}
	for i, n := range c.names {
		switch {
		case n == "caller":
			s.vars.set(n, c.vals[i])
		case !used[n]:
			fail(c.line, "the macro %s has no parameter %s", x.name, n)
		}
	}
	if len(c.args) > len(x.params) {
		fail(c.line, "the macro %s takes %d arguments, and %d are given", x.name, len(x.params), len(c.args))
	}
}

// callBlock is {% call f(x) %} body {% endcall %}.
type callBlock struct {
	line   int
	call   *calling
	caller *macro
}

func (x *callBlock) exec(s *state) flow {
	f, c := x.call.callee(s), x.call.arguments(s)
	c.names, c.vals = append(c.names, "caller"), append(c.vals, x.caller.function(s, s.vars))
	s.write(s.show(f.call(c), x.line), x.line)
	return onward
}
