package query

import (
	"fmt"
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/foresight/machine"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/train"
	"ptc/lang/value"
	"ptc/stdlib"
)

// completion gathers what is offered, each name once: the first one counts.
type completion struct {
	*View
	cursor
	at    protocol.Position
	items []protocol.CompletionItem
	seen  map[string]bool
}

// Complete is what may be written at a position.
func (v *View) Complete(p protocol.Position) *protocol.CompletionList {
	offset := v.Now.Offset(p)
	c := &completion{View: v, cursor: cursorAt(v.Now.String, offset), at: p, items: []protocol.CompletionItem{}, seen: map[string]bool{}}
	if !c.silent && v.Names != nil {
		c.offer()
	}
	r := v.Now.Range(c.from, offset)
	for i := range c.items {
		c.items[i].TextEdit = &protocol.TextEdit{Range: r, NewText: c.items[i].Label}
		c.items[i].SortText = fmt.Sprintf("%04d", i)
	}
	return &protocol.CompletionList{Items: c.items}
}

func (c *completion) add(kind int, label, detail, doc string) {
	if c.seen[label] || label == "" {
		return
	}
	c.seen[label] = true
	item := protocol.CompletionItem{Label: label, Kind: kind, Detail: detail}
	if doc != "" {
		item.Documentation = protocol.Markdown(doc)
	}
	c.items = append(c.items, item)
}

func (c *completion) words(words ...string) {
	for _, w := range words {
		c.add(protocol.CompleteKeyword, w, "", "")
	}
}

// offer chooses by what the word stands in.
func (c *completion) offer() {
	words := syntax.Words()
	sign, _, before := c.bracket()
	switch prev := c.before(1); {
	case prev.Text == "." && prev.Class == syntax.ClassSign:
		c.members()
	case c.decl == "import" && prev.Text == "import":
		c.add(protocol.CompleteModule, "std", "the standard library", "")
	case c.decl == "" || len(c.open) == 0 && c.starts(c.Now.String):
		c.declarations(words)
	case c.decl == "machine":
		c.machine()
	case len(c.open) == 0:
		if c.decl == "train" {
			c.symbols(func(s *names.Symbol) bool { return isModel(s) })
		}
	case c.decl == "layout" && c.isAuto():
		c.auto(len(c.open), sign)
	case c.decl == "layout":
		c.layout(len(c.open), sign)
	case c.decl == "train" && len(c.open) == 1 && c.starts(c.Now.String):
		for _, k := range train.Entries() {
			c.add(protocol.CompleteProperty, k, "", "")
		}
		c.words("lora", "metrics", "stop")
	case c.adapted():
		c.paths()
	case c.decl == "train" && sign == "{" && len(c.open) == 2 && c.starts(c.Now.String):
		if entries := blockEntries[before.Text]; entries != nil {
			for _, k := range entries() {
				c.add(protocol.CompleteProperty, k, "", "")
			}
		}
	case c.decl == "config" && len(c.open) == 1 && c.starts(c.Now.String):
	case isModuleWord(c.decl) && len(c.open) == 1:
		c.module(words)
	case sign == "[" && (before.Text == ":" || before.Text == "->" || before.Text == "as" || prev.Text == "[" || prev.Text == "," && before.Class == syntax.ClassName):
		c.bracketed(before)
	case c.ofAxis():
		c.operands()
		c.axes()
	case sign == "(" && prev.Text == ":":
		c.words("axis", "number", "string")
		c.words(eval.DTypes()...)
	default:
		if sign == "{" && c.starts(c.Now.String) {
			c.words(words.Statements...)
		}
		if sign == "(" && (prev.Text == "(" || prev.Text == ",") {
			c.arguments()
		}
		c.expressions()
	}
}

// declarations are those of a file of its kind.
func (c *completion) declarations(words syntax.Vocabulary) {
	for _, w := range words.Declarations {
		if (w == "machine") == machine.IsFile(c.Input.Name) {
			c.words(w)
		}
	}
}

// blockEntries are the entries of the blocks in a train block; metrics have names of the
// user's.
var blockEntries = map[string]func() []string{"lora": eval.AdapterEntries, "stop": train.StopEntries, "metrics": func() []string { return nil }}

// adapted is whether the word is part of a path behind `on =` of adapters.
func (c *completion) adapted() bool {
	if c.decl != "train" || len(c.open) != 2 {
		return false
	}
	for n := 1; ; n++ {
		switch t := c.before(n); {
		case t.Text == "=":
			return c.before(n+1).Text == "on"
		case t.Text == "", t.Class != syntax.ClassName && t.Text != "." && t.Text != "," && t.Text != "*" && t.Text != "**":
			return false
		}
	}
}

func isModuleWord(w string) bool { return w == "module" || w == "model" || w == "optimizer" }

func isModel(s *names.Symbol) bool {
	d, ok := s.Decl.(*syntax.Module)
	return ok && d.Kind == "model"
}

// module is what may stand directly in a module.
func (c *completion) module(words syntax.Vocabulary) {
	prev := c.before(1).Text
	switch {
	case c.starts(c.Now.String):
		c.words(words.Members...)
	case prev == "~":
		for _, g := range eval.Initializers() {
			c.add(protocol.CompleteFunction, g.Name, g.Text(), g.Doc)
		}
	case prev == ":":
		c.symbols(func(s *names.Symbol) bool { return s.Kind == names.Module && !isModel(s) || s.Kind == names.Import })
	default:
		c.words("decay", "no_decay", "when")
		c.expressions()
	}
}

// symbols offers those in scope that ok takes.
func (c *completion) symbols(ok func(*names.Symbol) bool) {
	for _, s := range c.inScope(c.at) {
		if ok(s) {
			c.symbol(s)
		}
	}
}

var completionKinds = map[names.Kind]int{names.Module: protocol.CompleteClass, names.Function: protocol.CompleteFunction,
	names.Formal: protocol.CompleteVariable, names.Parameter: protocol.CompleteField, names.SubModule: protocol.CompleteField,
	names.Constant: protocol.CompleteConstant, names.Local: protocol.CompleteVariable, names.Import: protocol.CompleteModule,
	names.Axis: protocol.CompleteProperty, names.MeshAxis: protocol.CompleteEnum}

func (c *completion) symbol(s *names.Symbol) {
	detail := ""
	if s.At != nil {
		detail = strings.Join(c.values(s.At), " or ")
	}
	if _, ok := s.Decl.(*syntax.Fn); ok || s.Kind == names.Module {
		detail = c.heading(s)
	}
	c.add(completionKinds[s.Kind], s.Name, detail, s.Doc())
}

// expressions is what may begin an expression.
func (c *completion) expressions() {
	c.symbols(func(s *names.Symbol) bool { return s.Kind != names.Layout })
	for _, g := range eval.Signatures() {
		c.add(protocol.CompleteFunction, g.Name, g.Text(), g.Doc)
	}
	c.words(eval.DTypes()...)
	c.words("if", "else", "and", "or", "not", "true", "false", "inf")
}

// arguments offers the names of the parameters of the call.
func (c *completion) arguments() {
	_, at, _ := c.bracket()
	f := c.calleeBefore(&c.cursor, at, c.at)
	if f == nil {
		return
	}
	for i, n := range f.names() {
		if n == "*" || n == "**" {
			continue
		}
		detail := ""
		if f.builtin == nil {
			detail = params(f.params)[i]
		}
		c.add(protocol.CompleteProperty, n, detail, "")
	}
}

// members is what may follow a point.
func (c *completion) members() {
	owner := c.before(2)
	if c.decl == "import" && owner.Text == "std" {
		for _, n := range source.Importable() {
			c.add(protocol.CompleteModule, n, "import std."+n, "")
		}
		for _, n := range stdlib.Implicit {
			c.add(protocol.CompleteModule, n, "in scope without an import", "")
		}
		return
	}
	if c.decl == "layout" || c.adapted() {
		return
	}
	if owner.Class == syntax.ClassName && c.before(3).Text != "." {
		if c.File != nil && c.File.Imports[owner.Text] != nil {
			for _, s := range c.Names.Tops(c.File.Imports[owner.Text]) {
				if s.Kind != names.Import {
					c.symbol(s)
				}
			}
			return
		}
		if m := c.instance(owner.Text); m != nil {
			for _, n := range m.Names() {
				if s := c.Names.Member(m.Decl, n); s != nil {
					c.symbol(s)
				}
			}
			return
		}
	}
	for _, g := range eval.Signatures() {
		if len(g.Names) > 0 && g.Name != "source" && g.Name != "one_of" && g.Name != "require" && g.Name != "byte_size" {
			c.add(protocol.CompleteFunction, g.Name, g.Text(), g.Doc)
		}
	}
}

// instance is what a name stands for, where that is an instance of a module.
func (c *completion) instance(name string) *value.Instance {
	s := c.visible(name, c.at)
	if s == nil || s.At == nil {
		return nil
	}
	for _, seen := range c.Seen[s.At] {
		if i, ok := seen.Value.(*value.Instance); ok {
			return i
		}
	}
	return nil
}
