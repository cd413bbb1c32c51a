package query

import (
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/ir/auto"
	"ptc/ir/layout"
	"ptc/lang/directive"
	"ptc/lang/syntax"
)

// layout is what may stand in a layout.
func (c *completion) layout(depth int, sign string) {
	form, word := c.directive()
	prev := c.before(1).Text
	switch {
	case depth == 1 && c.starts(c.Now.String) && prev != "=":
		c.directives()
	case form == nil, form.Word == "mesh" && (prev == "mesh" || prev == ","): // a new name
	case sign == "{" && depth > 1:
		c.option(form)
	case prev == "over" || word == "over" && (prev == "(" || prev == ","):
		c.meshAxes()
	case form.Word == "shard" && (word == "" || word == "over" && prev == ","):
		c.axes()
		if prev != "," && prev != "(" && prev != "shard" { // behind a name
			c.words(form.Clauses...)
		}
	case len(form.Choices) > 0 && word == "":
		c.leaveOut()
		c.choices(form.Choices)
		c.words(form.Clauses...)
	case word == "to":
		c.choices(layout.Memories)
	case form.Word == "device" && prev != "=":
		c.keys(form)
	case prev == ",":
		c.leaveOut()
		c.paths()
	default:
		c.paths()
		c.words("over", "between", "of", "on", "to", "auto")
	}
}

func (c *completion) choices(words []string) {
	for _, w := range words {
		c.add(protocol.CompleteEnum, w, "", "")
	}
}

func (c *completion) keys(form *directive.Form) {
	for _, k := range form.Keys {
		c.add(protocol.CompleteProperty, k.Name, strings.Join(k.Words, ", "), "")
	}
}

// option is an option of a directive, or its value.
func (c *completion) option(form *directive.Form) {
	if c.before(1).Text != "=" {
		c.keys(form)
		return
	}
	if k := form.Key(c.before(2).Text); k != nil {
		c.choices(k.Words)
		if len(k.Words) == 0 {
			c.symbols(func(s *names.Symbol) bool { return s.Kind == names.Axis })
		}
	}
}

// meshAxes offers those that the layout at the position declares.
func (c *completion) meshAxes() {
	if c.File == nil {
		return
	}
	_, _, d := c.Within(c.File, c.nearest(c.at))
	y, ok := d.(*syntax.Layout)
	if !ok {
		return
	}
	c.leaveOut()
	if c.isAuto() {
		c.choices(auto.Mesh)
	}
	for _, x := range y.Directives {
		if m, ok := x.(*directive.Mesh); ok {
			for _, e := range m.Axes {
				c.add(protocol.CompleteEnum, e.Key.Name, strings.Join(c.values(e.Value), ""), "")
			}
		}
	}
}

// paths offers modules, and what the model has at its top.
func (c *completion) paths() {
	for _, f := range c.Files {
		for _, s := range c.Names.Tops(f) {
			if d, ok := s.Decl.(*syntax.Module); ok && d.Kind == "module" {
				c.symbol(s)
			}
			if d, ok := s.Decl.(*syntax.Module); ok && d.Kind == "model" {
				for id, x := range d.Declared() {
					switch x.(type) {
					case *syntax.ParamDecl, *syntax.SubModule:
						c.symbol(c.Names.Declared(id))
					}
				}
			}
		}
	}
}
