package query

import (
	"slices"
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/foresight/machine"
	"ptc/ir/auto"
	"ptc/lang/directive"
	"ptc/lang/syntax"
)

// isAuto is whether the layout around the word is `layout NAME auto { … }`.
func (c *cursor) isAuto() bool {
	if len(c.open) == 0 {
		return false
	}
	at := c.open[0]
	return at > 2 && c.prev[at-1].Text == "auto" && c.prev[at-3].Text == "layout"
}

// autoItem is the word that begins the item of an auto layout that the word belongs to, and
// how many tokens follow it before the word.
func (c *cursor) autoItem() (item string, n int) {
	for i := len(c.prev) - 1; i > c.open[0]; i-- {
		t, before := c.prev[i], c.prev[i-1]
		if slices.Contains(syntax.Words().Autos, t.Text) && (before.Pos.Line != t.Pos.Line || before.Text == "{" || before.Text == ";") {
			return t.Text, len(c.prev) - 1 - i
		}
	}
	return "", 0
}

// auto is what may stand in an auto layout.
func (c *completion) auto(depth int, sign string) {
	prev := c.before(1).Text
	item, n := c.autoItem()
	if depth == 1 && c.starts(c.Now.String) && prev != "=" && prev != "keep" {
		for _, w := range syntax.Words().Autos {
			c.add(protocol.CompleteKeyword, w, "", autoHelp[w])
		}
		return
	}
	switch item {
	case "keep":
		if n == 0 {
			c.directives()
		} else {
			c.layout(depth, sign)
		}
	case "mesh":
		switch prev {
		case "mesh":
			c.words("on")
		case "on":
			c.choices(machine.Names())
		}
	case "allow":
		c.allowed(depth)
	case "limit":
		if n == 0 {
			c.words("memory")
		}
	case "minimize":
		if n == 0 || prev == "," {
			for _, o := range auto.Objectives {
				c.add(protocol.CompleteEnum, o.Name, o.What, "")
			}
		}
	}
}

// allowed is a word of `allow`, or a value of one.
func (c *completion) allowed(depth int) {
	prev := c.before(1).Text
	if depth == 1 {
		switch {
		case prev == "allow" || prev == ",":
			for _, w := range auto.Words {
				c.add(protocol.CompleteProperty, w.Name, w.What, "")
			}
		case auto.WordOf(prev) != nil:
			c.words("in")
		case prev == "<=" || prev == ">=" || prev == "=":
			c.symbols(func(s *names.Symbol) bool { return s.Kind == names.Axis && s.At != nil })
		}
		return
	}
	in := c.open[1] // behind `word in`
	if in < 2 {
		return
	}
	switch w := auto.WordOf(c.prev[in-2].Text); {
	case w == nil:
	case w.Kind == auto.Choice:
		c.leaveOut()
		c.choices(w.From)
	case w.Kind == auto.Orders && depth > 2:
		c.leaveOut()
		c.choices(auto.Mesh)
	case w.Kind == auto.Sets && depth > 2:
		c.leaveOut()
		c.axes()
	}
}

// autoHelp says what the items of an auto layout are.
var autoHelp = map[string]string{
	"mesh":     "The machine, and the size of each of its levels, outermost first: `mesh on h100 : 16 x 8`.",
	"keep":     "A directive that every layout has: `keep shard batch over dp`.",
	"allow":    "What a search may choose: `allow tp <= 8, zero in (1, 3)`. Words that are not named are free.",
	"limit":    "How much memory of a device a plan may use: `limit memory 70 GiB`.",
	"minimize": "What is to be small, the most important first: `minimize step_time, cost`.",
}

// hoverAuto is about the first word of an item of an auto layout, a word of `allow`, or an
// objective.
func (v *View) hoverAuto(path []syntax.Node, at int) *protocol.Hover {
	for _, n := range path {
		from := n.Extent().Pos.Offset
		switch x := n.(type) {
		case *syntax.Allowed:
			if w := auto.WordOf(x.Word.Name); w != nil && at <= from+len(w.Name) {
				return v.about(w.Name, from, allowHelp(w))
			}
		case *syntax.Ident:
			if o := auto.ObjectiveOf(x.Name); o != nil && slices.ContainsFunc(path, func(p syntax.Node) bool { _, is := p.(*syntax.Minimize); return is }) {
				return v.about(o.Name, from, "An objective: "+o.What+".")
			}
		case syntax.AutoItem:
			for w, help := range autoHelp {
				if strings.HasPrefix(v.TextOf(v.File).String[from:], w) && at <= from+len(w) {
					return v.about(w, from, help)
				}
			}
		case syntax.Directive:
			return nil
		}
	}
	return nil
}

// allowHelp says in Markdown what a word of `allow` is, and which values it takes.
func allowHelp(w *auto.Word) string {
	form := map[auto.Kind]string{
		auto.Sizes: "`" + w.Name + " <= 8`, `>= 2`, `= 4`, or `in (2, 4)`", auto.Choice: "`in (" + strings.Join(w.From, ", ") + ")`, or some of these",
		auto.Sets: "`in ((heads, ffn), (heads, ffn, vocab))`: sets of axes of tensors", auto.Orders: "`in ((dp, pp, tp), (pp, dp, tp))`: the first mesh axis is outermost",
	}[w.Kind]
	return "What a search may choose: " + w.What + ".\n\n" + form
}

// directives offers all of them, with options of the layout.
func (c *completion) directives() {
	for _, f := range directive.Forms() {
		if c.isAuto() && f.Word == "mesh" {
			continue
		}
		c.add(protocol.CompleteKeyword, f.Word, "", f.Help())
	}
}
