package query

import (
	"slices"

	"ptc/editor/analysis"
	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// axes offers the axes of the program that the tuple does not have: those of the config,
// then others.
func (c *completion) axes() {
	c.leaveOut()
	c.symbols(func(s *names.Symbol) bool { return s.OfAxis })
	for _, ok := range []func(*names.Symbol) bool{
		func(s *names.Symbol) bool { return s.Own && s.At != nil },
		func(s *names.Symbol) bool { return s.Own },
		c.whole,
	} {
		for _, s := range c.Names.Axes() {
			if ok(s) {
				c.symbol(s)
			}
		}
	}
}

// leaveOut offers no element of the tuple a second time.
func (c *completion) leaveOut() {
	for _, n := range c.listed() {
		c.seen[n] = true
	}
}

// whole is whether an entry of the config may be the size of an axis.
func (c *completion) whole(s *names.Symbol) bool {
	return s.At != nil && slices.ContainsFunc(c.Seen[s.At], func(seen eval.Seen) bool {
		n, ok := seen.Value.(value.Number)
		return ok && n.Whole
	})
}

// bracketed is what may stand in brackets behind a token: axes of a type, or else the
// axes of the tensor that is indexed, or the index of a list.
func (c *completion) bracketed(before syntax.Token) {
	if before.Class != syntax.ClassName || before.Text == "as" || slices.Contains(eval.DTypes(), before.Text) {
		c.axes()
		return
	}
	if own := c.axesOf(before.Text); len(own) > 0 {
		c.leaveOut()
		c.named(own)
		return
	}
	c.axes()
	c.expressions()
}

// axesOf are the axes of the tensor that a name stands for, in all of its types.
func (c *completion) axesOf(name string) (out []string) {
	s := c.visible(name, c.at)
	if s == nil || s.At == nil {
		return nil
	}
	for _, seen := range c.Seen[s.At] {
		if t, ok := analysis.TypeOf(seen.Value); ok {
			for _, a := range t.Names() {
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
		}
	}
	return out
}

// named offers axes by their names, in this order.
func (c *completion) named(axes []string) {
	all := c.Names.Axes()
	for _, a := range axes {
		if i := slices.IndexFunc(all, func(s *names.Symbol) bool { return s.Name == a }); i >= 0 {
			c.symbol(all[i])
		} else {
			c.add(protocol.CompleteProperty, a, "", "")
		}
	}
}

// operands offers the axes of the tensors that the call around the word names.
func (c *completion) operands() {
	at, _ := c.call()
	if at < 0 {
		return
	}
	c.leaveOut()
	if at >= 3 && c.prev[at-2].Text == "." { // x.sum(
		c.named(c.axesOf(c.prev[at-3].Text))
	}
	for i, t := range c.prev[at+1:] {
		next := syntax.Token{}
		if k := at + i + 2; k < len(c.prev) {
			next = c.prev[k]
		}
		if begins := c.prev[at+i].Text; t.Class == syntax.ClassName && next.Text == "," && (begins == "(" || begins == ",") && c.around(at+i+1) == at {
			c.named(c.axesOf(t.Text))
		}
	}
}

// around is the bracket that is open before a token.
func (c *completion) around(i int) int {
	at := -1
	for _, o := range c.open {
		if o < i {
			at = o
		}
	}
	return at
}

// call is the bracket of the call that the word is a named argument of, and the name of
// the argument, which may be a tuple: over = (heads, …
func (c *completion) call() (at int, argument string) {
	sign, at, before := c.bracket()
	i := len(c.prev) - 1
	if sign == "(" && before.Text == "=" {
		for ; i > at; i-- {
			if t := c.prev[i]; t.Class == syntax.ClassSign && t.Text != "," {
				return -1, ""
			}
		}
		i, at = at-1, c.around(at)
	}
	if sign != "(" || at < 0 || c.prev[at].Text != "(" || c.prev[i].Text != "=" || i < at+2 {
		return -1, ""
	}
	return at, c.prev[i-1].Text
}

// ofAxis is whether the word is the value of an argument that takes axes.
func (c *completion) ofAxis() bool {
	at, name := c.call()
	if at < 0 {
		return false
	}
	f := c.calleeBefore(&c.cursor, at, c.at)
	if f == nil {
		return false
	}
	if f.builtin != nil {
		k := slices.Index(f.builtin.Names, name)
		return k < 0 && f.builtin.Any && f.name != "source" || k >= 0 && k < len(f.builtin.Axes) && f.builtin.Axes[k]
	}
	for _, p := range f.params {
		if t, ok := p.Type.(*syntax.NamedType); ok && p.Name.Name == name {
			return t.Name == "axis"
		}
	}
	return false
}
