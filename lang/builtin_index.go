package lang

import (
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// indexTensor is x[axis = tokens], x[axis = lo..hi] or x[axis = 3]; several
// are applied from left to right.
func (f *frame) indexTensor(x *syntax.Index, t tensor) value {
	for _, a := range x.Args {
		if a.Name == nil {
			return f.wants("E0206", a, "`x[axis = …]`", "", "an index without the name of its axis")
		}
		names := f.axisName(a.Name.Name)
		if len(names) != 1 || !t.v.Type.Has(names[0]) {
			return f.noAxis(a.Name, t, names[0])
		}
		var ok bool
		if t, ok = f.indexAxis(x, a, t, names[0]).(tensor); !ok {
			return unknown{}
		}
	}
	return t
}

func (f *frame) indexAxis(x *syntax.Index, a *syntax.Arg, t tensor, axis string) value {
	size := t.v.Type.Size(axis)
	if r, ok := a.Value.(*syntax.Range); ok {
		lo, okLo := f.bound(r.Lo, 0, size)
		hi, okHi := f.bound(r.Hi, size, size)
		if !okLo || !okHi {
			return unknown{}
		}
		return f.emit(x, "slice", ir.A("axis", ir.Name(axis), "start", ir.Int(lo), "limit", ir.Int(hi)), t)
	}
	switch v := f.expr(a.Value).(type) {
	case tensor:
		return f.emit(x, "gather", ir.A("axis", ir.Name(axis)), t, v)
	case number:
		i, ok := v.int()
		if i < 0 {
			i += size
		}
		if !ok || i < 0 || i >= size {
			return f.errorf("E0216", a.Value, "element %s of axis `%s`, which is %d", formatNumber(v), axis, size)
		}
		return f.emit(x, "gather", ir.A("axis", ir.Name(axis)), t, f.constTensor(a.Value, whole(i), ir.I32))
	default:
		return f.notA(a.Value, v, "a range, a number or a tensor of i32")
	}
}

// bound is one end of a range; negative ones count from the end.
func (f *frame) bound(x syntax.Expr, def, size int) (int, bool) {
	if x == nil {
		return def, true
	}
	c, ok := f.number(x)
	if !ok {
		return 0, false
	}
	n, ok := c.int()
	if !ok {
		f.wants("E0216", x, "a whole number", "", "a slice at %s", formatNumber(c))
		return 0, false
	}
	if n < 0 {
		n += size
	}
	return n, true
}

func (f *frame) emitIndex(n syntax.Node, axis string, size int) value {
	return f.emit(n, "index", ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
}

// callIndex is index(axis), whose argument is a name and not a value.
func (f *frame) callIndex(x *syntax.Call) (value, bool) {
	if len(x.Args) != 1 || x.Args[0].Name != nil && x.Args[0].Name.Name != "axis" {
		return nil, false
	}
	a, ok := f.oneAxis(x.Args[0].Value)
	if !ok {
		return unknown{}, true
	}
	size, ok := f.axisSize(x.Args[0].Value, a)
	if !ok {
		return unknown{}, true
	}
	return f.emitIndex(x, a, size), true
}

// noAxis reports an axis that a tensor lacks.
func (f *frame) noAxis(n syntax.Node, x tensor, name string) value {
	return f.noAxisIn(n, x.v.Type, name)
}

func (f *frame) noAxisIn(n syntax.Node, t ir.Type, name string) value {
	e := at("E0203", n, "unknown axis `%s`: the tensor is %s", name, t)
	e.Want, e.Hint = diag.OneOf(t.Names()), diag.DidYouMean(name, t.Names())
	f.reportNamed(e, name)
	return unknown{}
}
