package jinja

import (
	"math"
	"slices"
	"strings"
)

// expr is an expression.
type expr interface{ eval(s *state) Value }

type constant struct{ v Value }

func (x *constant) eval(*state) Value { return x.v }

type variable struct {
	line int
	name string
}

func (x *variable) eval(s *state) Value {
	s.step(x.line)
	if v, ok := s.vars.get(x.name); ok {
		return v
	}
	return undefined{"there is no variable " + x.name}
}

// choice is yes if when else no.
type choice struct {
	line          int
	when, yes, no expr
}

func (x *choice) eval(s *state) Value {
	switch {
	case truth(x.when.eval(s)):
		return x.yes.eval(s)
	case x.no != nil:
		return x.no.eval(s)
	}
	return undefined{"the condition of an if without else is false"}
}

// logic is and, or: one of its operands.
type logic struct {
	left, right expr
	or          bool
}

func (x *logic) eval(s *state) Value {
	if v := x.left.eval(s); truth(v) == x.or {
		return v
	}
	return x.right.eval(s)
}

type negation struct{ of expr }

func (x *negation) eval(s *state) Value { return !truth(x.of.eval(s)) }

type sign struct {
	line  int
	minus bool
	of    expr
}

func (x *sign) eval(s *state) Value {
	v := x.of.eval(s)
	i, f, isFloat, ok := number(v)
	switch {
	case !ok:
		refuseUndefined(v, x.line)
		fail(x.line, "a %s has no sign", typeName(v))
	case isFloat && x.minus:
		return -f
	case isFloat:
		return f
	case x.minus && i == math.MinInt64:
		fail(x.line, "an integer needs more than 64 bits")
	case x.minus:
		return -i
	}
	return i
}

// comparison is a chain: a < b < c is a < b and b < c.
type comparison struct {
	line  int
	first expr
	ops   []string
	rest  []expr
}

func (x *comparison) eval(s *state) Value {
	a := x.first.eval(s)
	for i, op := range x.ops {
		b := x.rest[i].eval(s)
		if !s.compare(op, a, b, x.line) {
			return false
		}
		a = b
	}
	return true
}

func (s *state) compare(op string, a, b Value, line int) bool {
	s.step(line)
	switch op {
	case "==", "!=":
		return s.equal(a, b, line, 0) == (op == "==")
	case "<":
		return s.less(a, b, line)
	case ">":
		return s.less(b, a, line)
	case "<=":
		return s.less(a, b, line) || !s.less(b, a, line) && (s.equal(a, b, line, 0) || isOrdered(a, b))
	case ">=":
		return s.less(b, a, line) || !s.less(a, b, line) && (s.equal(a, b, line, 0) || isOrdered(a, b))
	case "in":
		return s.contains(b, a, line)
	}
	return !s.contains(b, a, line)
}

// isOrdered is whether neither being less means that both are equal: all but NaN.
func isOrdered(a, b Value) bool {
	_, x, _, okA := number(a)
	_, y, _, okB := number(b)
	return !okA || !okB || x == x && y == y
}

// contains is v in group.
func (s *state) contains(group, v Value, line int) bool {
	switch g := group.(type) {
	case string:
		part, ok := v.(string)
		if !ok {
			refuseUndefined(v, line)
			fail(line, "a %s is looked for in a text", typeName(v))
		}
		s.pay(len(g), line)
		return strings.Contains(g, part)
	case *Dict:
		if _, ok := keyOf(v); !ok {
			fail(line, "a %s cannot be a key", typeName(v))
		}
		_, ok := g.get(v)
		return ok
	}
	items := s.iterate(group, line)
	s.payItems(len(items), line)
	return slices.ContainsFunc(items, func(x Value) bool { return s.equal(x, v, line, 0) })
}

// display is [a, b] or (a, b).
type display struct {
	line  int
	items []expr
	shape shape
}

func (x *display) eval(s *state) Value {
	s.step(x.line)
	out := &List{shape: x.shape, items: make([]Value, len(x.items))}
	for i, v := range x.items {
		out.items[i] = v.eval(s)
	}
	return out
}

// dictDisplay is {a: b}.
type dictDisplay struct {
	line       int
	keys, vals []expr
}

func (x *dictDisplay) eval(s *state) Value {
	s.step(x.line)
	d := NewDict()
	for i, k := range x.keys {
		d.set(k.eval(s), x.vals[i].eval(s), x.line)
	}
	return d
}

// attribute is of.name: a method or what the type has, else the element of that key.
type attribute struct {
	line int
	of   expr
	name string
}

func (x *attribute) eval(s *state) Value {
	s.step(x.line)
	v := x.of.eval(s)
	refuseUndefined(v, x.line)
	if m, ok := s.member(v, x.name, x.line); ok {
		return m
	}
	return s.element(v, x.name, x.line)
}

// subscript is of[at]: an element, else a method of that name.
type subscript struct {
	line   int
	of, at expr
}

func (x *subscript) eval(s *state) Value {
	s.step(x.line)
	v, at := x.of.eval(s), x.at.eval(s)
	return s.item(v, at, x.line)
}

func (s *state) item(v, at Value, line int) Value {
	refuseUndefined(v, line)
	out := s.element(v, at, line)
	if name, ok := at.(string); ok {
		if _, missing := out.(undefined); missing {
			if m, ok := s.member(v, name, line); ok {
				return m
			}
		}
	}
	return out
}

// element is one of a dictionary, a sequence or a text; undefined where there is none.
func (s *state) element(v, at Value, line int) Value {
	switch g := v.(type) {
	case *Dict:
		if out, ok := g.get(at); ok {
			return out
		}
	case *List:
		if i, _, isFloat, ok := number(at); ok && !isFloat && g.shape != generator && g.shape != view {
			if i < 0 {
				i += int64(len(g.items))
			}
			if i >= 0 && i < int64(len(g.items)) {
				return g.items[i]
			}
		}
	case string:
		if i, _, isFloat, ok := number(at); ok && !isFloat {
			s.pay(len(g), line)
			r := []rune(g)
			if i < 0 {
				i += int64(len(r))
			}
			if i >= 0 && i < int64(len(r)) {
				return string(r[i])
			}
		}
	}
	name, ok := at.(string)
	if !ok {
		name = s.show(at, line)
	}
	return undefined{"a " + typeName(v) + " has no " + name}
}

// slicing is of[from:to:step].
type slicing struct {
	line           int
	of             expr
	from, to, step expr
}

func (x *slicing) eval(s *state) Value {
	v := x.of.eval(s)
	refuseUndefined(v, x.line)
	switch g := v.(type) {
	case string:
		s.pay(len(g), x.line)
		r := []rune(g)
		var b strings.Builder
		x.each(s, len(r), func(i int) { b.WriteRune(r[i]) })
		return b.String()
	case *List:
		if g.shape == list || g.shape == tuple {
			out := &List{shape: g.shape}
			s.payItems(len(g.items), x.line)
			x.each(s, len(g.items), func(i int) { out.items = append(out.items, g.items[i]) })
			return out
		}
	}
	return undefined{"a " + typeName(v) + " has no slices"}
}

// each calls take for the places that Python's slice has.
func (x *slicing) each(s *state, n int, take func(i int)) {
	part := func(e expr, none int) int {
		if e == nil {
			return none
		}
		v := e.eval(s)
		if v == nil {
			return none
		}
		i, _, isFloat, ok := number(v)
		if !ok || isFloat {
			refuseUndefined(v, x.line)
			fail(x.line, "a slice has a %s, and takes integers", typeName(v))
		}
		return int(max(min(i, maxNumber>>1), -maxNumber>>1))
	}
	step := part(x.step, 1)
	if step == 0 {
		fail(x.line, "the step of a slice is 0")
	}
	lo, hi := 0, n // what places are limited to
	from, to := 0, n
	if step < 0 {
		lo, hi, from, to = -1, n-1, n-1, -1
	}
	bound := func(e expr, none int) int {
		i := part(e, math.MaxInt)
		if i == math.MaxInt {
			return none
		}
		if i < 0 {
			i += n
		}
		return max(lo, min(hi, i))
	}
	from, to = bound(x.from, from), bound(x.to, to)
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		take(i)
	}
}
