package query

import (
	"slices"
	"strings"

	"ptc/editor/names"
	"ptc/editor/protocol"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// callee is what is called before a `(`: by the tokens before it.
type callee struct {
	builtin *eval.Signature
	params  []*syntax.Param
	name    string
	result  syntax.Type
	doc     string
}

// Signature is that of the call whose arguments are being written.
func (v *View) Signature(p protocol.Position) *protocol.SignatureHelp {
	c := cursorAt(v.Now.String, v.Now.Offset(p))
	sign, at, _ := c.bracket()
	if c.silent || sign != "(" {
		return nil
	}
	f := v.calleeBefore(&c, at, p)
	if f == nil {
		return nil
	}
	parts := params(f.params)
	label := signature(f.name, f.params, f.result)
	if f.builtin != nil {
		parts, label = f.builtin.Params, f.builtin.Text()
	}
	sig := protocol.Signature{Label: label, Parameters: []protocol.Parameter{}}
	for _, s := range parts {
		sig.Parameters = append(sig.Parameters, protocol.Parameter{Label: s})
	}
	if f.doc != "" {
		sig.Documentation = protocol.Markdown(f.doc)
	}
	return &protocol.SignatureHelp{Signatures: []protocol.Signature{sig}, ActiveParameter: active(&c, at, f)}
}

// active is the argument at the cursor: by its name, or by the commas before it.
func active(c *cursor, open int, f *callee) int {
	n, depth, name := 0, 0, ""
	for i := open + 1; i < len(c.prev); i++ {
		switch t := c.prev[i]; t.Text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			depth--
		case ",":
			if depth == 0 {
				n, name = n+1, ""
			}
		case "=":
			if depth == 0 && i > open+1 {
				name = c.prev[i-1].Text
			}
		}
	}
	for i, s := range f.names() {
		if s == name && name != "" {
			return i
		}
	}
	return n
}

func (f *callee) names() (out []string) {
	if f.builtin != nil {
		for _, p := range f.builtin.Params {
			out = append(out, strings.TrimSuffix(strings.TrimSuffix(p, ": axis"), "?"))
		}
		return out
	}
	for _, p := range f.params {
		out = append(out, p.Name.Name)
	}
	return out
}

// calleeBefore is what the tokens before the bracket at an index of c.prev name.
func (v *View) calleeBefore(c *cursor, open int, p protocol.Position) *callee {
	if open == 0 || c.prev[open-1].Class != syntax.ClassName {
		return nil
	}
	name := c.prev[open-1].Text
	if open >= 3 && c.prev[open-2].Text == "." {
		if c.prev[open-3].Class == syntax.ClassName && v.File != nil {
			if f := v.File.Imports[c.prev[open-3].Text]; f != nil {
				return v.declared(v.Names.Top(f, name))
			}
		}
		return builtin(name)
	}
	if open >= 2 && c.prev[open-2].Text == "~" {
		for _, g := range eval.Initializers() {
			if g.Name == name {
				return &callee{builtin: &g, name: name, doc: g.Doc}
			}
		}
	}
	if s := v.visible(name, p); s != nil {
		if d := v.declared(s); d != nil {
			return d
		}
	}
	return builtin(name)
}

func builtin(name string) *callee {
	for _, g := range eval.Signatures() {
		if g.Name == name {
			return &callee{builtin: &g, name: name, doc: g.Doc}
		}
	}
	return nil
}

// declared is what a call of a symbol takes.
func (v *View) declared(s *names.Symbol) *callee {
	if s == nil {
		return nil
	}
	switch d := s.Decl.(type) {
	case *syntax.Fn:
		return &callee{params: d.Params, name: d.Name.Name, result: d.Result, doc: d.Doc}
	case *syntax.Module:
		if d.Kind != "model" {
			return &callee{params: d.Params, name: d.Name.Name, doc: d.Doc}
		}
		return apply(d)
	}
	if s.At == nil {
		return nil
	}
	for _, seen := range v.Seen[s.At] {
		switch x := seen.Value.(type) {
		case *value.Instance:
			return apply(x.Decl)
		case value.Instances:
			if len(x) > 0 {
				return apply(x[0].Decl)
			}
		case value.Function:
			return &callee{params: x.Decl.Params, name: x.Decl.Name.Name, result: x.Decl.Result, doc: x.Decl.Doc}
		}
	}
	return nil
}

// apply is the function that an instance of a module is.
func apply(m *syntax.Module) *callee {
	if f := m.Fn("apply"); f != nil {
		return &callee{params: f.Params, name: m.Name.Name, result: f.Result, doc: m.Doc}
	}
	return nil
}

// visible is the symbol that a name stands for at a position, or nil.
func (v *View) visible(name string, p protocol.Position) *names.Symbol {
	for _, s := range v.inScope(p) {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// inScope are the symbols that a position sees, the nearest first.
func (v *View) inScope(p protocol.Position) (out []*names.Symbol) {
	if v.File == nil || v.Names == nil {
		return nil
	}
	at := v.nearest(p)
	fn, m, _ := v.Within(v.File, at)
	for _, place := range v.File.Places() {
		switch place {
		case source.Variables:
			out = append(out, v.variables(fn, at)...)
		case source.Members:
			if m == nil {
				continue
			}
			for id := range m.Declared() {
				out = append(out, v.Names.Declared(id))
			}
		case source.Top:
			out = append(out, v.Names.Tops(v.File)...)
		case source.Config:
			for _, s := range v.Names.Axes() {
				if s.At != nil {
					out = append(out, s)
				}
			}
		case source.Implicit:
			for _, f := range v.Program.Program.Implicit() {
				out = append(out, v.Names.Tops(f)...)
			}
		}
	}
	return slices.DeleteFunc(out, func(s *names.Symbol) bool { return s == nil })
}

// variables are those of a function that are set before an offset, and its parameters.
func (v *View) variables(fn *syntax.Fn, at int) (out []*names.Symbol) {
	if fn == nil {
		return nil
	}
	syntax.Inspect(fn.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.EndPos.Offset <= at {
				for _, id := range n.Names {
					out = append(out, v.Names.Declared(id))
				}
			}
		case *syntax.For:
			if n.Body.Pos.Offset <= at && at <= n.Body.EndPos.Offset {
				out = append(out, v.Names.Declared(n.Var))
			}
		case syntax.Expr:
			return false
		}
		return true
	})
	for _, q := range fn.Params {
		out = append(out, v.Names.Declared(q.Name))
	}
	return out
}
