package random

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"ptc/bench/matrix"
)

// simpler are cases with a little less each.
func (c *Case) simpler() (out []*Case) {
	try := func(change func(x *Case) bool) {
		x := *c
		x.l.directives, x.l.mesh = slices.Clone(c.l.directives), slices.Clone(c.l.mesh)
		x.m.stacks, x.sizes = slices.Clone(c.m.stacks), maps.Clone(c.sizes)
		if change(&x) {
			out = append(out, &x)
		}
	}
	c.simplerLayout(try)
	c.simplerModel(try)
	for _, n := range slices.Sorted(maps.Keys(c.sizes)) {
		if v := c.sizes[n]; v > 1 {
			try(func(x *Case) bool { x.sizes[n] = v / 2; return true })
		}
	}
	return out
}

// simplerLayout drops directives and devices.
func (c *Case) simplerLayout(try func(change func(x *Case) bool)) {
	for i := range c.l.directives {
		try(func(x *Case) bool { x.l.directives = slices.Delete(x.l.directives, i, i+1); return true })
	}
	for i, a := range c.l.mesh {
		if !strings.Contains(strings.Join(c.l.directives, " "), a.name) {
			try(func(x *Case) bool { x.l.mesh = slices.Delete(x.l.mesh, i, i+1); return len(x.l.mesh) > 0 })
		} else if a.size > 2 {
			try(func(x *Case) bool { x.l.mesh[i].size = 2; return true })
		}
	}
}

// simplerModel drops parts of the model.
func (c *Case) simplerModel(try func(change func(x *Case) bool)) {
	if len(c.m.stacks) > 1 {
		try(func(x *Case) bool { x.m.stacks = x.m.stacks[:1]; delete(x.sizes, "more"); return true })
	}
	for i := range c.m.stacks {
		s := c.m.stacks[i]
		set := func(f func(s *stack)) { try(func(x *Case) bool { f(&x.m.stacks[i]); return x.m.stacks[i] != s }) }
		set(func(s *stack) {
			if s.ffn != "swiglu" {
				s.norm = "none"
			}
		})
		set(func(s *stack) { s.drop = 0 })
		set(func(s *stack) { s.extra = "" })
		set(func(s *stack) { s.post = false })
		set(func(s *stack) { s.bias = false })
		set(func(s *stack) { s.act = "tanh" })
		if s.mixer != "" {
			set(func(s *stack) { s.ffn = "" })
		}
		if s.ffn != "" {
			set(func(s *stack) { s.mixer = "" })
		}
	}
	set := func(f func(m *model)) {
		try(func(x *Case) bool { f(&x.m); return x.m.text(nil) != c.m.text(nil) })
	}
	set(func(m *model) { m.norm = "none" })
	set(func(m *model) { m.positions = false })
	set(func(m *model) { m.bias = false })
	set(func(m *model) { m.pool = "" })
	set(func(m *model) { m.tied = false })
	set(func(m *model) { m.freeze = "" })
	set(func(m *model) { m.rows = "" })
	set(func(m *model) { m.optimizer = "optim.SGD(lr = 0.1, momentum = 0)" })
	if !c.m.numbers {
		set(func(m *model) { m.loss = "cross_entropy" })
	}
}

// Minimize is the smallest case found that fails as c does: with an error, or
// with a difference.
func (c *Case) Minimize(t matrix.Target) *Case {
	return c.minimize(func(x *Case) Result { return x.Run(t) })
}

// minimize is [Case.Minimize] of what any comparison finds.
func (c *Case) minimize(run func(*Case) Result) *Case {
	failed := run(c)
	for tries := 0; tries < 400; {
		smaller := (*Case)(nil)
		for _, x := range c.simpler() {
			tries++
			if r := run(x); !r.OK() && r.Refused == "" && same(r.Err, failed.Err) {
				smaller = x
				break
			}
		}
		if smaller == nil {
			return c
		}
		c = smaller
	}
	return c
}

// same says whether two errors are alike: neither is one, or they start alike.
func same(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	start := func(err error) string { return numbers.ReplaceAllString(strings.SplitN(err.Error(), "\n", 2)[0], "") }
	return start(a) == start(b)
}

var numbers = regexp.MustCompile(`\d+|%\d+`)
