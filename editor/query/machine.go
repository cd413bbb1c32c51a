package query

import (
	"strings"

	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/foresight/machine"
	"ptc/lang/syntax"
)

// hoverMachine is about a section of a machine, or an entry of one.
func (v *View) hoverMachine(path []syntax.Node, at int) *protocol.Hover {
	section := ""
	for _, n := range path {
		switch n := n.(type) {
		case *syntax.Section:
			section = n.Kind
			if from := n.Pos.Offset; at <= from+len(section) {
				return v.about(section, from, sectionHelp(section))
			}
		case *syntax.Fact:
			return v.hoverFact(section, n)
		}
	}
	return nil
}

// hoverFact is about an entry: what it means and what its value is.
func (v *View) hoverFact(section string, f *syntax.Fact) *protocol.Hover {
	if f.Key == nil {
		return nil
	}
	of := ""
	if f.Of != nil {
		of = f.Of.Name
	}
	e := machine.Find(section, f.Key.Name, of)
	if e == nil {
		return nil
	}
	return v.about(strings.TrimSpace(f.Key.Name+" "+of), f.Key.Pos.Offset, e.Help+"\n\n"+e.What())
}

// about is a hover over words that begin at an offset.
func (v *View) about(words string, from int, help string) *protocol.Hover {
	r, ok := v.span(v.File, from, from+len(words))
	if !ok {
		return nil
	}
	return &protocol.Hover{Contents: protocol.Markdown("**" + words + "**\n\n" + help), Range: r}
}

func sectionHelp(word string) string {
	for _, s := range machine.Sections() {
		if s.Word == word {
			return s.Help
		}
	}
	return ""
}

// machine offers what may stand in a machine.
func (c *completion) machine() {
	section := c.section()
	prev := c.before(1)
	switch {
	case c.starts(c.Now.String):
		for _, e := range machine.Entries(section) {
			key, _, _ := strings.Cut(e.Key, " ")
			c.add(protocol.CompleteProperty, key, e.Unit, e.Help)
		}
		for _, s := range machine.Sections() {
			if section == "" {
				c.add(protocol.CompleteKeyword, s.Word, "", s.Help)
			}
		}
	case prev.Text == "=":
		if e := c.row(section, 1); e != nil && e.Kind() == machine.Flag {
			c.words("true", "false")
		}
	case prev.Class == syntax.ClassInt || prev.Class == syntax.ClassFloat:
		if e := c.row(section, 2); e != nil {
			c.choices(e.Units())
		}
		c.words("from")
	case prev.Class == syntax.ClassName && c.onLine() == 1:
		c.second(section, prev.Text)
	case prev.Class == syntax.ClassName:
		c.words("from")
	}
}

// section is the word of the section around the cursor; empty directly in the machine.
func (c *completion) section() string {
	if len(c.open) < 2 {
		return ""
	}
	at := c.open[1]
	for n := 1; n <= 2 && at >= n; n++ {
		if w := c.prev[at-n].Text; sectionHelp(w) != "" {
			return w
		}
	}
	return ""
}

// onLine is how many tokens stand before the cursor on the line of the last one.
func (c *completion) onLine() int {
	n := 1
	for c.before(n+1).Pos.Line == c.before(1).Pos.Line && c.before(n+1).Text != "{" && c.before(n+1).Text != "" {
		n++
	}
	return n
}

// row is the row of the entry whose `=` is the n-th token before the cursor.
func (c *completion) row(section string, n int) *machine.Entry {
	last := c.before(n + 1)
	if c.before(n).Text != "=" {
		return nil
	}
	if before := c.before(n + 2); before.Class == syntax.ClassName && before.Pos.Line == last.Pos.Line {
		if e := machine.Find(section, before.Text, last.Text); e != nil {
			return e
		}
	}
	return machine.Find(section, last.Text, "")
}

// second offers the second word of an entry.
func (c *completion) second(section, key string) {
	for _, e := range machine.Entries(section) {
		first, word, _ := strings.Cut(e.Key, " ")
		if first == key {
			c.choices(append(e.Words(), word))
		}
	}
}

// machineSymbol is a machine in the outline.
func machineSymbol(t *text.Text, d *syntax.Machine) protocol.DocumentSymbol {
	out := symbol(t, d, d.Name, protocol.SymbolObject, "machine")
	for _, item := range d.Items {
		switch x := item.(type) {
		case *syntax.Section:
			s := protocol.DocumentSymbol{Name: x.Kind, Kind: protocol.SymbolObject, Range: rangeOf(t, x), SelectionRange: rangeOf(t, x)}
			if x.Name != nil {
				s.Name += " " + x.Name.Name
			}
			for _, f := range x.Facts {
				s.Children = append(s.Children, factSymbol(t, f))
			}
			out.Children = append(out.Children, s)
		case *syntax.Fact:
			out.Children = append(out.Children, factSymbol(t, x))
		}
	}
	return out
}

func factSymbol(t *text.Text, f *syntax.Fact) protocol.DocumentSymbol {
	at := f.Value.Extent()
	s := protocol.DocumentSymbol{Kind: protocol.SymbolProperty, Range: rangeOf(t, f), SelectionRange: rangeOf(t, f), Detail: t.String[at.Pos.Offset:at.EndPos.Offset]}
	switch {
	case f.Kernel != nil:
		s.Name = string(f.Kernel.Text)
	case f.Of != nil:
		s.Name = f.Key.Name + " " + f.Of.Name
	default:
		s.Name = f.Key.Name
	}
	return s
}
