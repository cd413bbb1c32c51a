package builtin

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func init() {
	eval.Define("source", "kind, **",
		"A source of data of one kind: arguments that are types are fields, all else options. The functions of "+
			"`std.data` call it.",
		newSource)
	eval.Define("mixture", "*",
		"One source of several with the same fields, each with the number that it is multiplied by as its weight;"+
			" `none` is left out.",
		newMixture)
	eval.Define("one_of", "x, *",
		"`x` as a word, if it is one of those that follow; else an error where it was given.",
		oneOf)
	eval.Define("file_or", "x, *",
		"`x` as the path of a file if it is a string, else as a word that is one of those that follow.",
		fileOr)
}

// oneOf is one_of(x, a, b, …): x as a word, which must be one of those that
// follow.
func oneOf(f *eval.Frame, c *eval.Call) value.Value {
	s, ok := plainWord(c.Vals[0])
	if !ok {
		return f.NotA(c.Nodes[0], c.Vals[0], "a word")
	}
	var names []string
	for _, v := range c.Rest {
		n, _ := plainWord(v)
		if n == s {
			return value.Word{Name: s, At: c.Nodes[0]}
		}
		names = append(names, n)
	}
	e := source.ErrorAt("E0206", c.Site, "found `%s`", value.Clip(s))
	e.Want, e.Hint = diag.OneOf(names), diag.DidYouMean(s, names)
	blamed := s
	if n, ok := c.Nodes[0].(*syntax.Name); ok {
		e.Msg, blamed = "`"+n.Name+"` is `"+value.Clip(s)+"`", n.Name
	}
	f.ReportNamed(e, blamed)
	return value.Unknown{}
}

// fileOr is file_or(x, a, b, …): x as the path of a file if it is a string, else
// as one_of has it.
func fileOr(f *eval.Frame, c *eval.Call) value.Value {
	if s, ok := c.Vals[0].(value.Text); ok && s != "" {
		return s
	}
	return oneOf(f, c)
}

// plainWord is a word or string; a name that happens to be that of a config
// entry or function counts as the word.
func plainWord(v value.Value) (string, bool) {
	switch v := v.(type) {
	case value.Text:
		return string(v), true
	case value.Word:
		return v.Name, true
	case value.Number:
		return v.Name, v.Name != ""
	case value.Function:
		return v.Decl.Name.Name, true
	case eval.Primitive:
		return v.Name, true
	}
	return "", false
}

// SourceKinds are the kinds of readers of data that a plan may ask for: those
// that the runtime has.
var SourceKinds = []string{"arrays", "chat", "mix", "preferences", "stream", "synthetic", "text", "tokens"}

// newSource is source(kind, …): types are fields, all else options. Empty
// strings are options not given.
func newSource(f *eval.Frame, c *eval.Call) value.Value {
	kind, ok := plainWord(c.Vals[0])
	if !ok {
		return f.NotA(c.Nodes[0], c.Vals[0], "the name of a kind of source")
	}
	if !slices.Contains(SourceKinds, kind) {
		return f.Wants("E0509", c.Nodes[0], diag.OneOf(SourceKinds), diag.DidYouMean(kind, SourceKinds), "there is no source of kind `%s`", value.Clip(kind))
	}
	d := &value.Data{Term: ir.Term{Head: "data", Args: ir.A("kind", ir.Str(kind))}}
	for _, a := range c.Extra {
		v := f.Expr(a.Value)
		switch v := v.(type) {
		case value.Unknown:
			return v
		case value.Shape:
			if v.Rank() == 0 || v.DType != ir.I32 && v.DType != ir.F32 {
				return f.Wants("E0509", a.Value, "i32 or f32, with the batch as first axis", "", "the field `%s` is %s", a.Name.Name, v.Type)
			}
			if bad := eval.TooLarge(v.Type); bad != "" {
				return f.Errorf("E0216", a.Value, "the field %s %s", v.Type, bad)
			}
			d.Fields = append(d.Fields, value.Field{Name: a.Name.Name, Type: v.Type})
			continue
		case value.Text:
			if v == "" {
				continue
			}
		}
		w := eval.Attr(v)
		if w == nil || a.Name.Name == "kind" {
			return f.Wants("E0509", a.Value, "a number, a string or a name", "", "the option `%s` of the source is %s", a.Name.Name, v.What())
		}
		d.Term.Args = d.Term.Args.With(a.Name.Name, w)
	}
	if len(d.Fields) == 0 {
		return f.Errorf("E0509", c.Site, "a source without fields")
	}
	for _, o := range d.Fields[1:] {
		if a, b := d.Fields[0].Type.Axes[0], o.Type.Axes[0]; a.Name != b.Name || a.Size != b.Size {
			return f.Errorf("E0509", c.Site, "the fields `%s` and `%s` have different batches", d.Fields[0].Name, o.Name)
		}
	}
	return d
}

// newMixture is mixture(a, b, …): one source of several with the same fields, each
// with its weight. The name `none` is no source.
func newMixture(f *eval.Frame, c *eval.Call) value.Value {
	var first *value.Data
	var sources ir.Terms
	for i, v := range c.Rest {
		node := c.Site
		if w, ok := plainWord(v); ok && w == "none" {
			continue
		}
		d, ok := v.(*value.Data)
		if !ok {
			return f.NotA(node, v, "a source of data")
		}
		if d.Term.Args.Text("kind") == "stream" {
			return f.Wants("E0509", node, "sources of files in a mixture", "let the program of the stream mix", "the source %d is a stream, of which examples are read in their order alone", i+1)
		}
		if d.Term.Args.Text("kind") == "mix" {
			return f.Wants("E0509", node, "all sources in one mixture", "", "the source %d is a mixture", i+1)
		}
		if first == nil {
			first = d
		}
		if have := fieldsOf(d); have != fieldsOf(first) {
			return f.Wants("E0706", node, "sources with the same fields", "", "source 1 has %s, and source %d has %s", fieldsOf(first), i+1, have)
		}
		weight := d.Weight
		if weight == 0 {
			weight = 1
		}
		sources = append(sources, ir.Term{Head: "source", Args: d.Term.Args.With("weight", ir.Float(weight))})
	}
	if first == nil {
		return f.Errorf("E0509", c.Site, "a mixture without sources")
	}
	return &value.Data{Fields: first.Fields, Term: ir.Term{Head: "data", Args: ir.A("kind", ir.Str("mix"), "sources", sources)}}
}

// fieldsOf are the fields of a source as text.
func fieldsOf(d *value.Data) string {
	var b strings.Builder
	for i, x := range d.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(x.Name + ": " + x.Type.String())
	}
	return b.String()
}
