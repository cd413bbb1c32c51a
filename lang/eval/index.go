package eval

import (
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// indexTensor is x[axis = tokens], x[axis = lo..hi] or x[axis = 3]; several
// are applied from left to right.
func (f *Frame) indexTensor(x *syntax.Index, t value.Tensor) value.Value {
	for _, a := range x.Args {
		if a.Name == nil {
			return f.Wants("E0206", a, "`x[axis = …]`", "", "an index without the name of its axis")
		}
		names := f.AxisName(a.Name.Name)
		if len(names) != 1 || !t.V.Type.Has(names[0]) {
			return f.NoAxis(a.Name, t, names[0])
		}
		var ok bool
		if t, ok = f.indexAxis(x, a, t, names[0]).(value.Tensor); !ok {
			return value.Unknown{}
		}
	}
	return t
}

func (f *Frame) indexAxis(x *syntax.Index, a *syntax.Arg, t value.Tensor, axis string) value.Value {
	size := t.V.Type.Size(axis)
	if r, ok := a.Value.(*syntax.Range); ok {
		lo, okLo := f.bound(r.Lo, 0, size)
		hi, okHi := f.bound(r.Hi, size, size)
		if !okLo || !okHi {
			return value.Unknown{}
		}
		return f.Emit(x, "slice", ir.A("axis", ir.Name(axis), "start", ir.Int(lo), "limit", ir.Int(hi)), t)
	}
	switch v := f.Expr(a.Value).(type) {
	case value.Tensor:
		return f.Emit(x, "gather", ir.A("axis", ir.Name(axis)), t, v)
	case value.Number:
		i, ok := v.Int()
		if i < 0 {
			i += size
		}
		if !ok || i < 0 || i >= size {
			return f.Errorf("E0216", a.Value, "element %s of axis `%s`, which is %d", value.FormatNumber(v), axis, size)
		}
		return f.Emit(x, "gather", ir.A("axis", ir.Name(axis)), t, f.ConstTensor(a.Value, value.Whole(i), ir.I32))
	default:
		return f.NotA(a.Value, v, "a range, a number or a tensor of i32")
	}
}

// bound is one end of a range; negative ones count from the end.
func (f *Frame) bound(x syntax.Expr, def, size int) (int, bool) {
	if x == nil {
		return def, true
	}
	c, ok := f.Number(x)
	if !ok {
		return 0, false
	}
	n, ok := c.Int()
	if !ok {
		f.Wants("E0216", x, "a whole number", "", "a slice at %s", value.FormatNumber(c))
		return 0, false
	}
	if n < 0 {
		n += size
	}
	return n, true
}

func (f *Frame) EmitIndex(n syntax.Node, axis string, size int) value.Value {
	return f.Emit(n, "index", ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
}

// callIndex is index(axis), whose argument is a name and not a value.
func (f *Frame) callIndex(x *syntax.Call) (value.Value, bool) {
	if len(x.Args) != 1 || x.Args[0].Name != nil && x.Args[0].Name.Name != "axis" {
		return nil, false
	}
	a, ok := f.OneAxis(x.Args[0].Value)
	if !ok {
		return value.Unknown{}, true
	}
	size, ok := f.axisSize(x.Args[0].Value, a)
	if !ok {
		return value.Unknown{}, true
	}
	return f.EmitIndex(x, a, size), true
}

// NoAxis reports an axis that a tensor lacks.
func (f *Frame) NoAxis(n syntax.Node, x value.Tensor, name string) value.Value {
	return f.NoAxisIn(n, x.V.Type, name)
}

func (f *Frame) NoAxisIn(n syntax.Node, t ir.Type, name string) value.Value {
	f.ReportNamed(source.Wanted("E0203", n, diag.OneOf(t.Names()), diag.DidYouMean(name, t.Names()), "unknown axis `%s`: the tensor is %s", name, t), name)
	return value.Unknown{}
}
