package jinja

// iteration is for.
type iteration struct {
	line        int
	to          []place
	over, test  expr
	recursive   bool
	body, empty block
}

// loop is the variable of that name in the body.
type loop struct {
	of       *iteration
	items    []Value
	index    int // from 0
	depth    int // from 0
	around   *scope
	last     Value // of changed
	compared bool
}

func (x *iteration) exec(s *state) flow {
	items := s.iterate(x.over.eval(s), x.line)
	x.run(s, items, s.vars, 0)
	return onward
}

// run goes through the elements that the test lets pass; each has variables of its own.
func (x *iteration) run(s *state, items []Value, around *scope, depth int) {
	if x.test != nil {
		var kept []Value
		for _, v := range items {
			s.within(around, func() {
				s.step(x.line)
				s.assign(x.to, v, x.line)
				if truth(x.test.eval(s)) {
					kept = append(kept, v)
				}
			})
		}
		items = kept
	}
	l := &loop{of: x, items: items, depth: depth, around: around}
	for i, v := range items {
		f := onward
		l.index = i
		s.within(around, func() {
			s.step(x.line)
			s.vars.set("loop", l)
			s.assign(x.to, v, x.line)
			f = x.body.exec(s)
		})
		if f == stopped {
			break
		}
	}
	if len(items) == 0 {
		s.within(around, func() { x.empty.exec(s) })
	}
}

// attribute is what a template may ask of a loop.
func (l *loop) attribute(name string) (Value, bool) {
	i, n := int64(l.index), int64(len(l.items))
	neighbour := func(at int) Value {
		if at < 0 || at >= len(l.items) {
			return undefined{"there is no " + name + " at this end of the loop"}
		}
		return l.items[at]
	}
	switch name {
	case "index":
		return i + 1, true
	case "index0":
		return i, true
	case "revindex":
		return n - i, true
	case "revindex0":
		return n - i - 1, true
	case "first":
		return i == 0, true
	case "last":
		return i == n-1, true
	case "length":
		return n, true
	case "depth":
		return int64(l.depth) + 1, true
	case "depth0":
		return int64(l.depth), true
	case "previtem":
		return neighbour(l.index - 1), true
	case "nextitem":
		return neighbour(l.index + 1), true
	case "cycle":
		return &function{name, func(c *call) Value {
			if len(c.args) == 0 {
				fail(c.line, "loop.cycle has nothing to choose from")
			}
			return c.args[l.index%len(c.args)]
		}}, true
	case "changed":
		return &function{name, func(c *call) Value {
			v := &List{items: c.args, shape: tuple}
			changed := !l.compared || !c.s.equal(v, l.last, c.line, 0)
			l.last, l.compared = v, true
			return changed
		}}, true
	}
	return nil, false
}

// again is loop(items) in a recursive loop.
func (l *loop) again(s *state, c *call) Value {
	if !l.of.recursive {
		fail(c.line, "loop is called, and for is not recursive")
	}
	defer s.enter(c.line)()
	items := s.iterate(c.one("loop"), c.line)
	return s.capture(func() { l.of.run(s, items, l.around, l.depth+1) })
}

// iterate gives the elements of a value. A generator has them once.
func (s *state) iterate(v Value, line int) []Value {
	switch v := v.(type) {
	case undefined:
		return nil
	case string:
		s.payItems(len(v), line)
		out := make([]Value, 0, len(v))
		for _, r := range v {
			out = append(out, string(r))
		}
		return out
	case *List:
		items := v.items
		if v.shape == generator {
			v.items = nil
		}
		return items
	case *Dict:
		return v.keys
	}
	fail(line, "a %s cannot be gone through", typeName(v))
	return nil
}
