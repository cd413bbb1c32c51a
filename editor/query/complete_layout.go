package query

import (
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/ir/layout"
	"ptc/lang/syntax"
)

// layout is what may stand in a layout.
func (c *completion) layout(depth int, sign string) {
	row, word := c.directive()
	prev := c.before(1).Text
	switch {
	case depth == 1 && c.starts(c.Now.String) && prev != "=":
		for _, r := range layout.Table {
			doc, _ := directive(r.Word)
			c.add(protocol.CompleteKeyword, r.Word, "", doc)
		}
	case row == nil, row.Word == "mesh" && (prev == "mesh" || prev == ","): // a new name
	case sign == "{" && depth > 1:
		c.option(row)
	case prev == "over" || word == "over" && (prev == "(" || prev == ","):
		c.meshAxes()
	case row.Word == "shard" && (word == "" || word == "over" && prev == ","):
		c.axes()
		if prev != "," && prev != "(" && prev != "shard" { // behind a name
			c.words("of", "over")
		}
	case row.Word == "forbid" && word == "", row.Word == "overlap":
		c.leaveOut()
		c.choices(layout.Collectives)
		c.words("on", "none")
	case row.Word == "offload" && word == "":
		c.choices(layout.Offloaded)
		c.words("of", "to")
	case word == "to":
		c.choices(layout.Memories)
	case row.Word == "device" && prev != "=":
		c.keys(row)
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

func (c *completion) keys(row *layout.Row) {
	for _, k := range row.Keys {
		c.add(protocol.CompleteProperty, k.Name, strings.Join(k.Words, ", "), "")
	}
}

// option is an option of a directive, or its value.
func (c *completion) option(row *layout.Row) {
	if c.before(1).Text != "=" {
		c.keys(row)
		return
	}
	for _, k := range row.Keys {
		if k.Name == c.before(2).Text {
			c.choices(k.Words)
			if len(k.Words) == 0 {
				c.symbols(func(s *names.Symbol) bool { return s.Kind == names.Axis })
			}
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
	for _, x := range y.Directives {
		if m, ok := x.(*syntax.Mesh); ok {
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
				for _, x := range d.Members {
					switch x := x.(type) {
					case *syntax.ParamDecl:
						for _, id := range x.Names {
							c.symbol(c.Names.Declared(id))
						}
					case *syntax.SubModule:
						for _, id := range x.Names {
							c.symbol(c.Names.Declared(id))
						}
					}
				}
			}
		}
	}
}
