package eval

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	dtypes "ptc/internal/dtype"
	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// axisRef is an axis as a type names it; size is 0 where it does not say.
type axisRef struct {
	name string
	size int
	node syntax.Node
}

// typeAxes resolves the axes of a written type in f: parameters of kind `axis`
// stand for what they were given, and a number for an axis of that size.
func (f *Frame) typeAxes(axes []*syntax.Axis) ([]axisRef, bool) {
	var out []axisRef
	ok := true
	for _, a := range axes {
		names := f.AxisName(a.Name.Name)
		size := 0
		if a.Size != nil {
			c, isNumber := f.count(a.Size)
			if !isNumber {
				ok = false
				continue
			}
			if size, isNumber = f.Size(a.Size, c, a.Name.Name); !isNumber {
				ok = false
				continue
			}
		} else if c, isNumber := f.plain(a, f.local(a.Name.Name), shapes).(value.Number); isNumber {
			if size, isNumber = f.Size(a, c, a.Name.Name); !isNumber {
				ok = false
				continue
			}
		}
		for _, n := range names {
			for _, o := range out {
				if o.name == n {
					f.Errorf("E0211", a, "axis `%s` is named twice", n)
					return nil, false
				}
			}
			out = append(out, axisRef{n, size, a})
		}
	}
	return out, ok
}

// local is a variable or an argument of the module, not a global name.
func (f *Frame) local(name string) value.Value {
	if v, ok := f.Vars[name]; ok {
		return v
	}
	if f.inst != nil {
		if v, ok := f.inst.Args[name]; ok {
			return v
		}
		return f.inst.Lets[name]
	}
	return nil
}

// sized is a written type with the size of every axis.
func (f *Frame) sized(axes []*syntax.Axis, d ir.DType) (ir.Type, bool) {
	refs, ok := f.typeAxes(axes)
	if !ok {
		return ir.Type{}, false
	}
	t := ir.Type{DType: d}
	for _, r := range refs {
		if r.size == 0 {
			if r.size, ok = f.axisSize(r.node, r.name); !ok {
				return t, false
			}
		}
		t.Axes = append(t.Axes, ir.Axis{Name: r.name, Size: r.size})
	}
	return t, true
}

// DTypeOf reads the name of a dtype.
func (f *Frame) DTypeOf(id *syntax.Ident, def ir.DType) (ir.DType, bool) {
	if id == nil {
		return def, true
	}
	d, ok := ir.ParseDType(id.Name)
	if !ok {
		f.Wants("E0201", id, diag.OneOf(dtypeNames), diag.DidYouMean(id.Name, dtypeNames), "unknown dtype `%s`", id.Name)
	}
	return d, ok
}

var dtypeNames = dtypes.Names(dtypes.Tensors())

// DTypes are the names of the dtypes that tensors have.
func DTypes() []string { return slices.Clone(dtypeNames) }

// Missing is an axis of want that t lacks, or empty.
func Missing(t, want ir.Type) string {
	for _, a := range want.Axes {
		if !t.Has(a.Name) {
			return a.Name
		}
	}
	return ""
}

func writtenType(t *syntax.TensorType, refs []axisRef) string {
	s := make([]string, len(refs))
	for i, r := range refs {
		s[i] = r.name
		if r.size != 0 {
			s[i] += "=" + value.FormatNumber(value.Whole(r.size))
		}
	}
	d := ""
	if t.DType != nil {
		d = t.DType.Name
	}
	return d + "[" + strings.Join(s, ", ") + "]"
}

// shapeExpr is `i32[batch, seq]` as an expression.
func (f *Frame) shapeExpr(x *syntax.Index, d ir.DType) value.Value {
	t := ir.Type{DType: d}
	for _, a := range x.Args {
		var names []string
		size := 0
		if a.Name != nil {
			c, ok := f.Number(a.Value)
			if !ok {
				return value.Unknown{}
			}
			if size, ok = f.Size(a.Value, c, a.Name.Name); !ok {
				return value.Unknown{}
			}
			names = f.AxisName(a.Name.Name)
		} else {
			var ok bool
			if names, ok = f.Axes(a.Value); !ok {
				return value.Unknown{}
			}
		}
		for _, n := range names {
			s := size
			if s == 0 {
				var ok bool
				if s, ok = f.axisSize(a, n); !ok {
					return value.Unknown{}
				}
			}
			if t.Has(n) {
				return f.Errorf("E0211", a, "axis `%s` is named twice", n)
			}
			t.Axes = append(t.Axes, ir.Axis{Name: n, Size: s})
		}
	}
	return value.Shape{Type: t}
}

// typed evaluates x, in f, for a variable of callee, and checks its type, if it
// has one: names of axes are taken as they stand.
func (f *Frame) typed(callee *Frame, name string, typ syntax.Type, x syntax.Expr) value.Value {
	if t, ok := typ.(*syntax.NamedType); ok && t.Name == "axis" {
		names, ok := f.Axes(x)
		if !ok {
			return value.Unknown{}
		}
		v := make(value.Tuple, len(names))
		for i, n := range names {
			v[i] = value.Word{Name: n, At: x}
		}
		if len(v) == 1 {
			return v[0]
		}
		return v
	}
	v := f.Symbolic(x)
	if t, ok := v.(value.Tensor); ok {
		callee.Saw(t.V.Type)
	}
	if typ != nil && !(typeCheck{callee, f, x, name}).has(v, typ) {
		return value.Unknown{}
	}
	return v
}
