package jinja

import "slices"

func first(c *call) Value {
	items := c.s.iterate(c.one("first"), c.line)
	if len(items) == 0 {
		return undefined{"there is no first element of what is empty"}
	}
	return items[0]
}

func last(c *call) Value {
	if l, ok := c.one("last").(*List); ok && l.shape == generator {
		fail(c.line, "a generator has no last element; the filter list makes a list of it")
	}
	items := c.s.iterate(c.args[0], c.line)
	if len(items) == 0 {
		return undefined{"there is no last element of what is empty"}
	}
	return items[len(items)-1]
}

func reverse(c *call) Value {
	v := c.one("reverse")
	if s, ok := v.(string); ok {
		c.s.pay(len(s), c.line)
		return string(reversed([]rune(s)))
	}
	items := c.s.iterate(v, c.line)
	c.s.payItems(len(items), c.line)
	out := reversed(items)
	if l, ok := v.(*List); ok && l.shape == generator {
		return &List{items: out} // Jinja2 makes a list of what cannot be reversed
	}
	return &List{items: out, shape: generator}
}

func join(c *call) Value {
	c.only("join", "value", "d", "attribute")
	get := func(v Value) Value { return v }
	if a := c.arg(2, "attribute", nil); a != nil {
		get = c.attributePath(a)
	}
	var parts []string
	for _, v := range c.s.iterate(c.args[0], c.line) {
		parts = append(parts, c.s.show(get(v), c.line))
	}
	return c.joined(parts, c.s.show(c.arg(1, "d", ""), c.line))
}

// listFilters are those that take functions or attributes.
func listFilters() {
	for name, how := range map[string]struct{ keep, attribute bool }{
		"select": {true, false}, "reject": {false, false}, "selectattr": {true, true}, "rejectattr": {false, true},
	} {
		filters[name] = func(c *call) Value { return choose(c, how.keep, how.attribute) }
	}
	filters["map"] = mapFilter
	filters["sort"] = sortFilter
	filters["dictsort"] = dictsort
	filters["unique"] = unique
	filters["sum"] = sum
	filters["min"] = func(c *call) Value { return extreme(c, "min", func(a, b Value) bool { return c.s.less(a, b, c.line) }) }
	filters["max"] = func(c *call) Value { return extreme(c, "max", func(a, b Value) bool { return c.s.less(b, a, c.line) }) }
	filters["batch"] = batch
}

// choose is select and its kin: a test, or the truth, of elements or of an attribute.
func choose(c *call, keep, attribute bool) Value {
	get, rest := func(v Value) Value { return v }, c.args[1:]
	if attribute {
		if len(rest) == 0 {
			fail(c.line, "the name of an attribute is missing")
		}
		get, rest = c.attributePath(rest[0]), rest[1:]
	}
	is := truth
	if len(rest) > 0 {
		name := c.text(rest[0], "the name of a test")
		test := tests[name]
		if test == nil {
			fail(c.line, "the test %s is not known here", name)
		}
		is = func(v Value) bool {
			return test(&call{s: c.s, line: c.line, args: append([]Value{v}, rest[1:]...), names: c.names, vals: c.vals})
		}
	} else if len(c.names) > 0 {
		fail(c.line, "there is no test that takes %s", c.names[0])
	}
	out := &List{shape: generator}
	for _, v := range c.s.iterate(c.args[0], c.line) {
		c.s.step(c.line)
		if is(get(v)) == keep {
			out.items = append(out.items, v)
		}
	}
	return out
}

func mapFilter(c *call) Value {
	var apply func(v Value) Value
	if attr, ok := c.named("attribute"); ok && len(c.args) == 1 {
		none, given := c.named("default")
		if len(c.names) > 2 || len(c.names) == 2 && !given {
			fail(c.line, "map takes attribute and default, or a filter")
		}
		get := c.attributePath(attr)
		apply = func(v Value) Value {
			out := get(v)
			if _, missing := out.(undefined); missing && none != nil {
				return none
			}
			return out
		}
	} else {
		if len(c.args) < 2 {
			fail(c.line, "map takes the name of a filter, or attribute")
		}
		name := c.text(c.args[1], "the name of a filter")
		f := filters[name]
		if f == nil {
			fail(c.line, "the filter %s is not known here", name)
		}
		apply = func(v Value) Value {
			return f(&call{s: c.s, line: c.line, args: append([]Value{v}, c.args[2:]...), names: c.names, vals: c.vals})
		}
	}
	out := &List{shape: generator}
	for _, v := range c.s.iterate(c.args[0], c.line) {
		c.s.step(c.line)
		out.items = append(out.items, apply(v))
	}
	return out
}

// caseless is what is compared where case does not count.
func caseless(v Value) Value {
	if s, ok := v.(string); ok {
		return lower(s)
	}
	return v
}

// sorted orders values by their keys; it is stable, also backwards.
func (c *call) sorted(values []Value, key func(Value) Value, backwards bool) []Value {
	type keyed struct{ k, v Value }
	all := make([]keyed, len(values))
	for i, v := range values {
		all[i] = keyed{key(v), v}
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		c.s.step(c.line)
		if backwards {
			a, b = b, a
		}
		switch {
		case c.s.less(a.k, b.k, c.line):
			return -1
		case c.s.less(b.k, a.k, c.line):
			return 1
		}
		return 0
	})
	out := make([]Value, len(all))
	for i, k := range all {
		out[i] = k.v
	}
	return out
}

// keyFunc is the attribute of elements that counts, and whether case does.
func (c *call) keyFunc(attribute, caseSensitive Value) func(Value) Value {
	get := func(v Value) Value { return v }
	if attribute != nil {
		get = c.attributePath(attribute)
	}
	if truth(caseSensitive) {
		return get
	}
	return func(v Value) Value { return caseless(get(v)) }
}

func sortFilter(c *call) Value {
	c.only("sort", "value", "reverse", "case_sensitive", "attribute")
	key := c.keyFunc(c.arg(3, "attribute", nil), c.arg(2, "case_sensitive", false))
	items := c.s.iterate(c.args[0], c.line)
	c.s.payItems(len(items), c.line)
	return &List{items: c.sorted(items, key, truth(c.arg(1, "reverse", false)))}
}

func dictsort(c *call) Value {
	c.only("dictsort", "value", "case_sensitive", "by", "reverse")
	d, ok := c.args[0].(*Dict)
	if !ok {
		refuseUndefined(c.args[0], c.line)
		fail(c.line, "dictsort of a %s", typeName(c.args[0]))
	}
	at := slices.Index([]string{"key", "value"}, c.text(c.arg(2, "by", "key"), "dictsort"))
	if at < 0 {
		fail(c.line, "dictsort is by key or by value")
	}
	get := c.keyFunc(nil, c.arg(1, "case_sensitive", false))
	key := func(v Value) Value { return get(v.(*List).items[at]) }
	return &List{items: c.sorted(itemsOf(c, d, list).items, key, truth(c.arg(3, "reverse", false)))}
}

func unique(c *call) Value {
	c.only("unique", "value", "case_sensitive", "attribute")
	key := c.keyFunc(c.arg(2, "attribute", nil), c.arg(1, "case_sensitive", false))
	seen, out := NewDict(), &List{shape: generator}
	for _, v := range c.s.iterate(c.args[0], c.line) {
		c.s.step(c.line)
		k := key(v)
		if _, ok := seen.get(k); !ok {
			seen.set(k, true, c.line)
			out.items = append(out.items, v)
		}
	}
	return out
}

func sum(c *call) Value {
	c.only("sum", "iterable", "attribute", "start")
	get := func(v Value) Value { return v }
	if a := c.arg(1, "attribute", nil); a != nil {
		get = c.attributePath(a)
	}
	total := c.arg(2, "start", int64(0))
	for _, v := range c.s.iterate(c.args[0], c.line) {
		total = (&binary{line: c.line, op: "+", left: &constant{total}, right: &constant{get(v)}}).eval(c.s)
	}
	return total
}

// extreme is the first element that is before all others.
func extreme(c *call, name string, before func(a, b Value) bool) Value {
	c.only(name, "value", "case_sensitive", "attribute")
	key := c.keyFunc(c.arg(2, "attribute", nil), c.arg(1, "case_sensitive", false))
	items := c.s.iterate(c.args[0], c.line)
	if len(items) == 0 {
		return undefined{"there is no " + name + " of what is empty"}
	}
	best := items[0]
	for _, v := range items[1:] {
		c.s.step(c.line)
		if before(key(v), key(best)) {
			best = v
		}
	}
	return best
}

func batch(c *call) Value {
	c.only("batch", "value", "linecount", "fill_with")
	n := int(min(c.integer(c.arg(1, "linecount", nil), "batch"), maxItems))
	if n < 1 {
		fail(c.line, "batch has %d elements", n)
	}
	out := &List{shape: generator}
	items := c.s.iterate(c.args[0], c.line)
	c.s.payItems(len(items), c.line)
	for len(items) > 0 {
		k := min(n, len(items))
		row := slices.Clone(items[:k])
		if fill := c.arg(2, "fill_with", nil); fill != nil {
			c.s.payItems(n-k, c.line)
			for len(row) < n {
				row = append(row, fill)
			}
		}
		out.items, items = append(out.items, &List{items: row}), items[k:]
	}
	return out
}
