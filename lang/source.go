package lang

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

func init() {
	define("source", "kind, **", newSource)
	define("one_of", "x, *", oneOf)
}

// oneOf is one_of(x, a, b, …): x as a word, which must be one of those that
// follow.
func oneOf(f *frame, c *builtinCall) value {
	s, ok := plainWord(c.vals[0])
	if !ok {
		return f.notA(c.nodes[0], c.vals[0], "a word")
	}
	var names []string
	for _, v := range c.rest {
		n, _ := plainWord(v)
		if n == s {
			return word{s, c.nodes[0]}
		}
		names = append(names, n)
	}
	e := at("E0206", c.site, "found `%s`", clip(s))
	e.Want, e.Hint = diag.OneOf(names), diag.DidYouMean(s, names)
	blamed := s
	if n, ok := c.nodes[0].(*syntax.Name); ok {
		e.Msg, blamed = "`"+n.Name+"` is `"+clip(s)+"`", n.Name
	}
	f.reportNamed(e, blamed)
	return unknown{}
}

// plainWord is a word or string; a name that happens to be that of a config
// entry or function counts as the word.
func plainWord(v value) (string, bool) {
	switch v := v.(type) {
	case text:
		return string(v), true
	case word:
		return v.name, true
	case number:
		return v.name, v.name != ""
	case function:
		return v.decl.Name.Name, true
	case primitive:
		return v.name, true
	}
	return "", false
}

// SourceKinds are the kinds of readers of data that a plan may ask for: those
// that the runtime has.
var SourceKinds = []string{"synthetic", "text"}

// newSource is source(kind, …): types are fields, all else options. Empty
// strings are options not given.
func newSource(f *frame, c *builtinCall) value {
	kind, ok := plainWord(c.vals[0])
	if !ok {
		return f.notA(c.nodes[0], c.vals[0], "the name of a kind of source")
	}
	if !slices.Contains(SourceKinds, kind) {
		return f.wants("E0509", c.nodes[0], diag.OneOf(SourceKinds), diag.DidYouMean(kind, SourceKinds), "there is no source of kind `%s`", clip(kind))
	}
	d := &dataSource{term: ir.Term{Head: "data", Args: ir.A("kind", ir.Str(kind))}}
	for _, a := range c.extra {
		v := f.expr(a.Value)
		switch v := v.(type) {
		case unknown:
			return v
		case shape:
			if v.Rank() == 0 || v.DType != ir.I32 && v.DType != ir.F32 {
				return f.wants("E0509", a.Value, "i32 or f32, with the batch as first axis", "", "the field `%s` is %s", a.Name.Name, v.Type)
			}
			if bad := tooLarge(v.Type); bad != "" {
				return f.errorf("E0216", a.Value, "the field %s %s", v.Type, bad)
			}
			d.fields = append(d.fields, field{a.Name.Name, v.Type})
			continue
		case text:
			if v == "" {
				continue
			}
		}
		w := attr(v)
		if w == nil || a.Name.Name == "kind" {
			return f.wants("E0509", a.Value, "a number, a string or a name", "", "the option `%s` of the source is %s", a.Name.Name, v.what())
		}
		d.term.Args = d.term.Args.With(a.Name.Name, w)
	}
	if len(d.fields) == 0 {
		return f.errorf("E0509", c.site, "a source without fields")
	}
	for _, o := range d.fields[1:] {
		if a, b := d.fields[0].typ.Axes[0], o.typ.Axes[0]; a.Name != b.Name || a.Size != b.Size {
			return f.errorf("E0509", c.site, "the fields `%s` and `%s` have different batches", d.fields[0].name, o.name)
		}
	}
	return d
}
