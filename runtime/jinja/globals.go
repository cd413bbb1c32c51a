package jinja

import (
	"fmt"
	"strings"
)

// globals are functions that every template has.
var globals map[string]Value

func init() {
	globals = map[string]Value{}
	for name, f := range map[string]func(c *call) Value{
		"range": rangeOf, "dict": dictOf, "namespace": namespaceOf,
		"raise_exception": raise, "strftime_now": strftimeNow,
	} {
		globals[name] = &function{name, f}
	}
	for _, name := range []string{"lipsum", "cycler", "joiner"} {
		globals[name] = &function{name, func(c *call) Value {
			fail(c.line, "the function %s is not known here", name)
			return nil
		}}
	}
}

func rangeOf(c *call) Value {
	if len(c.args) < 1 || len(c.args) > 3 || len(c.names) > 0 {
		fail(c.line, "range takes from 1 to 3 arguments, and %d are given", len(c.args)+len(c.names))
	}
	n := []int64{}
	for _, a := range c.args {
		n = append(n, c.integer(a, "range"))
	}
	from, to, step := int64(0), n[0], int64(1)
	label := fmt.Sprintf("range(0, %d)", to)
	if len(n) > 1 {
		from, to = n[0], n[1]
		label = fmt.Sprintf("range(%d, %d)", from, to)
	}
	if len(n) > 2 {
		if step = n[2]; step == 0 {
			fail(c.line, "the step of range is 0")
		}
		if step != 1 {
			label = fmt.Sprintf("range(%d, %d, %d)", from, to, step)
		}
	}
	// The sandbox of Jinja2 allows 100000 elements.
	const most = 100000
	l := &List{shape: ranged, label: label}
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(l.items) == most {
			fail(c.line, "range has more than %d elements", most)
		}
		l.items = append(l.items, i)
		if step > 0 && i > to-step || step < 0 && i < to-step {
			break // the next one might not fit
		}
	}
	c.s.payItems(len(l.items), c.line)
	return l
}

// pairs adds what dict and namespace are given: a dictionary or pairs, and names.
func (c *call) pairs(what string, d *Dict) *Dict {
	if len(c.args) > 1 {
		fail(c.line, "%s takes one dictionary, and %d arguments are given", what, len(c.args))
	}
	if len(c.args) == 1 {
		if from, ok := c.args[0].(*Dict); ok {
			for i, k := range from.keys {
				d.set(k, from.vals[i], c.line)
			}
		} else {
			for _, p := range c.s.iterate(c.args[0], c.line) {
				two := c.s.iterate(p, c.line)
				if len(two) != 2 {
					fail(c.line, "%s is given %d values where a key and a value are expected", what, len(two))
				}
				d.set(two[0], two[1], c.line)
			}
		}
	}
	for i, n := range c.names {
		d.set(n, c.vals[i], c.line)
	}
	return d
}

func dictOf(c *call) Value { return c.pairs("dict", NewDict()) }

func namespaceOf(c *call) Value {
	d := c.pairs("namespace", NewDict())
	for _, k := range d.keys {
		if n, ok := k.(string); ok && strings.HasPrefix(n, "_") {
			fail(c.line, "the attribute %s of a namespace begins with an underscore", n)
		}
	}
	return &namespace{d}
}

// raise is how a template refuses its messages.
func raise(c *call) Value {
	c.only("raise_exception", "message")
	panic(&Error{Line: c.line, Raised: true, Msg: c.s.show(c.arg(0, "message", ""), c.line)})
}

func strftimeNow(c *call) Value {
	c.only("strftime_now", "format")
	if c.s.now.IsZero() {
		fail(c.line, "the template asks for the date of today, with which the same messages are other text tomorrow; name a date")
	}
	return strftime(c.s.now, c.text(c.arg(0, "format", nil), "strftime_now"), c.line)
}
