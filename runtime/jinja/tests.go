package jinja

import (
	"math"
	"strings"
	"unicode"
)

// tests are what may stand behind is; the first argument is what is tested.
var tests map[string]func(c *call) bool

func init() {
	tests = map[string]func(c *call) bool{
		"defined":   plain(func(v Value) bool { _, u := v.(undefined); return !u }),
		"undefined": plain(func(v Value) bool { _, u := v.(undefined); return u }),
		"none":      plain(func(v Value) bool { return v == nil }),
		"boolean":   plain(func(v Value) bool { _, ok := v.(bool); return ok }),
		"true":      plain(func(v Value) bool { return v == true }),
		"false":     plain(func(v Value) bool { return v == false }),
		"integer":   plain(func(v Value) bool { return typeName(v) == "int" }),
		"float":     plain(func(v Value) bool { _, ok := v.(float64); return ok }),
		"number":    plain(func(v Value) bool { _, _, _, ok := number(v); return ok || typeName(v) == "int" }),
		"string":    plain(func(v Value) bool { _, ok := v.(string); return ok }),
		"mapping":   plain(func(v Value) bool { _, ok := v.(*Dict); return ok }),
		"callable":  plain(isCallable),
		"iterable":  plain(isIterable),
		"sequence":  plain(isSequence),
		"lower":     func(c *call) bool { return isCase(c, unicode.IsLower, unicode.IsUpper) },
		"upper":     func(c *call) bool { return isCase(c, unicode.IsUpper, unicode.IsLower) },
		"odd":       func(c *call) bool { return remainder(c, 2, c.one("odd")) == 1 },
		"even":      func(c *call) bool { return remainder(c, 2, c.one("even")) == 0 },
		"divisibleby": func(c *call) bool {
			c.only("divisibleby", "value", "num")
			return remainder(c, c.integer(c.arg(1, "num", nil), "divisibleby"), c.args[0]) == 0
		},
		"in": func(c *call) bool {
			c.only("in", "value", "seq")
			return c.s.contains(c.arg(1, "seq", undefined{"in has nothing to look in"}), c.args[0], c.line)
		},
		"sameas": func(c *call) bool {
			c.only("sameas", "value", "other")
			other := c.arg(1, "other", undefined{})
			return typeName(c.args[0]) == typeName(other) && c.s.equal(c.args[0], other, c.line, 0)
		},
		"filter": func(c *call) bool { return filters[c.text(c.one("filter"), "filter")] != nil },
		"test":   func(c *call) bool { return tests[c.text(c.one("test"), "test")] != nil },
	}
	for op, names := range map[string][]string{"==": {"eq", "equalto"}, "!=": {"ne"}, "<": {"lt", "lessthan"}, "<=": {"le"}, ">": {"gt", "greaterthan"}, ">=": {"ge"}} {
		for _, n := range append(names, op) {
			tests[n] = func(c *call) bool {
				if len(c.args) != 2 || len(c.names) > 0 {
					fail(c.line, "the test %s takes one argument, and %d are given", n, len(c.args)-1+len(c.names))
				}
				return c.s.compare(op, c.args[0], c.args[1], c.line)
			}
		}
	}
}

func plain(is func(v Value) bool) func(c *call) bool {
	return func(c *call) bool { return is(c.one("the test")) }
}

func isCallable(v Value) bool {
	_, ok := v.(*function)
	if l, is := v.(*loop); is {
		ok = l.of.recursive
	}
	return ok
}

func isIterable(v Value) bool {
	switch v.(type) {
	case string, *List, *Dict, undefined:
		return true
	}
	return false
}

// isSequence is whether there are a length and subscripts.
func isSequence(v Value) bool {
	switch v := v.(type) {
	case string, *Dict:
		return true
	case *List:
		return v.shape != generator && v.shape != view
	}
	return false
}

// isCase is Python's islower or isupper: there is a letter, and none of the other case.
func isCase(c *call, is, other func(rune) bool) bool {
	t := c.s.show(c.one("the test"), c.line)
	return strings.ContainsFunc(t, is) && !strings.ContainsFunc(t, func(r rune) bool { return other(r) || unicode.IsTitle(r) })
}

func remainder(c *call, by int64, v Value) int64 {
	if by == 0 {
		fail(c.line, "a division by 0")
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<62 {
		v = int64(f)
	}
	m := c.integer(v, "the test") % by
	if m != 0 && (m < 0) != (by < 0) {
		m += by
	}
	return m
}
