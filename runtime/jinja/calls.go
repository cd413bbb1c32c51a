package jinja

import (
	"slices"
	"strings"
)

// call is a call of a function, a filter, a test or a method, with its arguments.
type call struct {
	s     *state
	line  int
	args  []Value
	names []string
	vals  []Value
}

// named is the argument of a name.
func (c *call) named(name string) (Value, bool) {
	for i, n := range c.names {
		if n == name {
			return c.vals[i], true
		}
	}
	return nil, false
}

// only fails where there is an argument beyond those that are named, in order.
func (c *call) only(what string, params ...string) {
	if len(c.args) > len(params) {
		fail(c.line, "%s takes %d arguments, and %d are given", what, len(params), len(c.args))
	}
	for _, n := range c.names {
		at := slices.Index(params, n)
		if at < 0 {
			fail(c.line, "%s has no parameter %s", what, n)
		}
		if at < len(c.args) {
			fail(c.line, "%s is given twice to %s", n, what)
		}
	}
}

// arg is the argument of a place and a name, or what it is if it is not given.
func (c *call) arg(i int, name string, none Value) Value {
	if i < len(c.args) {
		return c.args[i]
	}
	if v, ok := c.named(name); ok {
		return v
	}
	return none
}

// one is the only argument.
func (c *call) one(what string) Value {
	if len(c.args) != 1 || len(c.names) > 0 {
		fail(c.line, "%s takes one argument, and %d are given", what, len(c.args)+len(c.names))
	}
	return c.args[0]
}

// text is an argument that has to be a text.
func (c *call) text(v Value, what string) string {
	t, ok := v.(string)
	if !ok {
		refuseUndefined(v, c.line)
		fail(c.line, "%s takes a text, and is given a %s", what, typeName(v))
	}
	return t
}

// integer is an argument that has to be a whole number.
func (c *call) integer(v Value, what string) int64 {
	i, _, isFloat, ok := number(v)
	if !ok || isFloat {
		refuseUndefined(v, c.line)
		fail(c.line, "%s takes an integer, and is given a %s", what, typeName(v))
	}
	return i
}

// calling is of(args).
type calling struct {
	line int
	of   expr
	args arguments
}

func (x *calling) eval(s *state) Value {
	f := x.callee(s)
	return f.call(x.arguments(s))
}

func (x *calling) callee(s *state) *function {
	v := x.of.eval(s)
	switch f := v.(type) {
	case *function:
		return f
	case *loop:
		return &function{"loop", func(c *call) Value { return f.again(s, c) }}
	}
	refuseUndefined(v, x.line)
	fail(x.line, "a %s cannot be called", typeName(v))
	return nil
}

func (x *calling) arguments(s *state) *call {
	s.step(x.line)
	return x.args.eval(s, x.line, nil)
}

// eval evaluates arguments; those of first come before them.
func (a *arguments) eval(s *state, line int, first []Value) *call {
	c := &call{s: s, line: line, args: first, names: a.names}
	for _, x := range a.list {
		c.args = append(c.args, x.eval(s))
	}
	for _, x := range a.named {
		c.vals = append(c.vals, x.eval(s))
	}
	if a.rest != nil {
		c.args = append(c.args, s.iterate(a.rest.eval(s), line)...)
	}
	if a.more != nil {
		a.spread(s, c)
	}
	return c
}

// spread adds the arguments of **more.
func (a *arguments) spread(s *state, c *call) {
	v := a.more.eval(s)
	d, ok := v.(*Dict)
	if !ok {
		refuseUndefined(v, c.line)
		fail(c.line, "a %s is spread where a dictionary is expected", typeName(v))
	}
	c.names = slices.Clone(c.names)
	for i, k := range d.keys {
		n := c.text(k, "the name of an argument")
		if slices.Contains(c.names, n) {
			fail(c.line, "%s is given twice", n)
		}
		c.names, c.vals = append(c.names, n), append(c.vals, d.vals[i])
	}
}

// filtering is of | name(args).
type filtering struct {
	line int
	of   expr
	name string
	args arguments
}

func (x *filtering) eval(s *state) Value { return x.apply(s, x.of.eval(s)) }

func (x *filtering) apply(s *state, v Value) Value {
	s.step(x.line)
	return filters[x.name](x.args.eval(s, x.line, []Value{v}))
}

// trial is of is name(args).
type trial struct {
	line int
	of   expr
	name string
	not  bool
	args arguments
}

func (x *trial) eval(s *state) Value {
	s.step(x.line)
	return tests[x.name](x.args.eval(s, x.line, []Value{x.of.eval(s)})) != x.not
}

// attributePath is a.b.0, as filters take it.
func (c *call) attributePath(v Value) func(Value) Value {
	if i, ok := v.(int64); ok {
		return func(x Value) Value { return c.s.item(x, i, c.line) }
	}
	parts := strings.Split(c.text(v, "an attribute"), ".")
	return func(x Value) Value {
		for _, p := range parts {
			var at Value = p
			if p != "" && strings.Trim(p, "0123456789") == "" {
				at = numberOf(token{integer, p, c.line})
			}
			x = c.s.item(x, at, c.line)
		}
		return x
	}
}
