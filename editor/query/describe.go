package query

import (
	"fmt"
	"strings"

	"ptc/editor/analysis"
	"ptc/editor/names"
	"ptc/internal/units"
	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// short is a value in a few words: its type, or what it is.
func short(v value.Value) string {
	if t, ok := analysis.TypeOf(v); ok {
		return t.String()
	}
	switch v := v.(type) {
	case nil, value.Unknown:
		return ""
	case value.Number:
		return value.FormatNumber(v)
	case value.Text:
		return fmt.Sprintf("%q", value.Clip(string(v)))
	case value.Truth:
		return fmt.Sprint(bool(v))
	case value.Word:
		return v.Name
	case value.Tuple:
		var parts []string
		for _, e := range v {
			parts = append(parts, short(e))
		}
		if len(parts) > 8 {
			parts = append(parts[:8], "…")
		}
		return "(" + strings.Join(parts, ", ") + ")"
	case *value.Instance:
		return v.Decl.Name.Name
	case value.Instances:
		if len(v) > 0 {
			return fmt.Sprintf("%s[%d]", v[0].Decl.Name.Name, len(v))
		}
	}
	return v.What()
}

// values are what a node evaluated to, each once.
func (v *View) values(n syntax.Node) (out []string) {
	seen := map[string]bool{}
	for _, s := range v.Seen[n] {
		if t := short(s.Value); t != "" && !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// sharding says how a value is laid out: `f32[batch=16@dp, seq=128]`, and what a device
// has of it.
func (v *View) sharding(n syntax.Node, sym *names.Symbol) string {
	if v.Structure == nil {
		return ""
	}
	seen := v.Seen[n]
	if sym != nil && sym.Kind == names.Parameter && sym.At != nil {
		seen = v.Seen[sym.At]
	}
	for _, s := range seen {
		t, ok := v.sharded(s.Value)
		if !ok {
			continue
		}
		return fmt.Sprintf("Under the layout `%s`: `%s`, %s per device", v.layoutName(), t, units.Bytes(v.local(t)))
	}
	return ""
}

func (v *View) layoutName() string {
	if v.Layout == "" {
		return "single"
	}
	return v.Layout
}

// sharded is the type of a value with its sharding.
func (v *View) sharded(x value.Value) (ir.Type, bool) {
	switch x := x.(type) {
	case value.ParamRef:
		t, ok := v.Structure.Params[analysis.Starred(x.Path)]
		return t, ok
	case value.Tensor:
		if x.V.Def != nil {
			return v.Structure.Sharded(x.V.Def.Pos, x.V.Type)
		}
	}
	return ir.Type{}, false
}

// local is how many bytes of a type a device has.
func (v *View) local(t ir.Type) int64 {
	mesh := map[string]int{}
	if v.Structure.Plan != nil {
		for _, m := range v.Structure.Plan.Mesh {
			mesh[m.Name] = m.Size
		}
	}
	n := int64(t.Bytes())
	for _, a := range t.Axes {
		for _, m := range a.Mesh {
			n /= int64(max(mesh[m], 1))
		}
	}
	return n
}

// heading is what a symbol is, as a line of source.
func (v *View) heading(s *names.Symbol) string {
	switch d := s.Decl.(type) {
	case *syntax.Fn:
		return "fn " + signature(d.Name.Name, d.Params, d.Result)
	case *syntax.Module:
		return d.Kind + " " + signature(d.Name.Name, d.Params, nil)
	}
	switch s.Kind {
	case names.Builtin:
		if b := builtin(s.Name); b != nil {
			return b.builtin.Text()
		}
	case names.Import:
		if s.Target != nil {
			return "import " + s.Target.Name
		}
		return "import " + s.Name
	case names.Layout:
		return "layout " + s.Name
	case names.Parameter:
		if d, ok := s.Decl.(*syntax.ParamDecl); ok {
			return d.Kind + " " + s.Name
		}
	case names.Constant:
		return "let " + s.Name
	}
	return s.Name
}

// signature writes a declaration as the source has it.
func signature(name string, ps []*syntax.Param, result syntax.Type) string {
	s := name
	if parts := params(ps); len(parts) > 0 || result != nil {
		s += "(" + strings.Join(parts, ", ") + ")"
	}
	if result != nil {
		s += " -> " + typeText(result)
	}
	return s
}

func params(ps []*syntax.Param) (out []string) {
	for _, p := range ps {
		s := p.Name.Name
		if p.Type != nil {
			s += ": " + typeText(p.Type)
		}
		if p.Default != nil {
			s += " = " + exprText(p.Default)
		}
		out = append(out, s)
	}
	return out
}

func typeText(t syntax.Type) string {
	switch t := t.(type) {
	case *syntax.NamedType:
		return t.Name
	case *syntax.TensorType:
		var axes []string
		for _, a := range t.Axes {
			s := a.Name.Name
			if a.Size != nil {
				s += " = " + exprText(a.Size)
			}
			axes = append(axes, s)
		}
		d := ""
		if t.DType != nil {
			d = t.DType.Name
		}
		return d + "[" + strings.Join(axes, ", ") + "]"
	case *syntax.LikeType:
		if t.DType != nil {
			return t.DType.Name + " like " + t.Of.Name
		}
		return "like " + t.Of.Name
	case *syntax.TupleType:
		var parts []string
		for _, e := range t.Elems {
			parts = append(parts, typeText(e))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return ""
}

// exprText is a short expression as text, and `…` for a longer one.
func exprText(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Name:
		return x.Name
	case *syntax.Int:
		return fmt.Sprint(x.Value)
	case *syntax.Float:
		return ir.Float(x.Value).String()
	case *syntax.String:
		return fmt.Sprintf("%q", value.Clip(x.Value))
	case *syntax.Bool:
		return fmt.Sprint(x.Value)
	case *syntax.Unary:
		return x.Op + exprText(x.X)
	}
	return "…"
}
