package eval

import (
	"math"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Expr evaluates an expression. It never gives nil, nor a traced number: what asks for a
// value needs it now.
func (f *Frame) Expr(x syntax.Expr) value.Value { return f.Static(x, f.Symbolic(x)) }

// Symbolic is Expr for what can do with a traced number; see [Ports].
func (f *Frame) Symbolic(x syntax.Expr) value.Value {
	v := f.expr(x)
	f.watch(x, v, nil)
	return v
}

func (f *Frame) expr(x syntax.Expr) value.Value {
	if !f.Interp.tick(f, x) {
		return value.Unknown{}
	}
	switch x := x.(type) {
	case *syntax.Name:
		return f.read(x, f.Lookup(x, x.Name))
	case *syntax.Int:
		return value.Number{V: float64(x.Value), Whole: x.Value >= -1<<53 && x.Value <= 1<<53}
	case *syntax.Float:
		return value.Number{V: x.Value}
	case *syntax.String:
		return value.Text(x.Value)
	case *syntax.Bool:
		return value.Truth(x.Value)
	case *syntax.Quantity:
		return value.Number{V: x.Bytes(), Whole: x.Bytes() == math.Trunc(x.Bytes())}
	case *syntax.Tuple:
		return f.elems(x.Elems)
	case *syntax.List:
		return f.elems(x.Elems)
	case *syntax.Unary:
		return f.unary(x)
	case *syntax.Binary:
		return f.binary(x)
	case *syntax.Cond:
		c, ok := f.condition(x.Cond)
		switch {
		case !ok:
			return value.Unknown{}
		case c:
			return f.Symbolic(x.Then)
		}
		return f.Symbolic(x.Else)
	case *syntax.Dot:
		return f.dot(x)
	case *syntax.Call:
		return f.call(x)
	case *syntax.Index:
		return f.index(x)
	}
	return f.Errorf("E0209", x, "this has no value by itself")
}

func (f *Frame) elems(xs []syntax.Expr) value.Value {
	t := make(value.Tuple, len(xs))
	for i, x := range xs {
		t[i] = f.Expr(x)
	}
	return t
}

// read turns a parameter into its tensor.
func (f *Frame) read(n syntax.Node, v value.Value) value.Value {
	p, ok := v.(value.ParamRef)
	switch {
	case !ok:
		return v
	case p.Bad:
		return value.Unknown{}
	case p.Absent != nil:
		f.Report(source.Conflict("E0511", n, p.Absent.At(), "the condition", "", "read it under the same condition: `… if condition else …`", "there is no parameter `%s`: its condition is false", p.Path))
		return value.Unknown{}
	case f.Interp.Builder == nil:
		return f.Wants("E0219", n, "a value known at compile time", "", "`%s` is a parameter", p.Path)
	}
	w := f.Interp.Builder.Param(p.Param)
	f.Saw(w.Type)
	if p.Adapter != nil {
		return f.adapted(n, p.Param, value.Tensor{V: w})
	}
	if f.Interp.Lora.Products != nil && f.Interp.Lora.of(p.Path) != nil {
		f.Interp.Builder.adaptable[w] = p.Param
	}
	return value.Tensor{V: w}
}

// dot is `x.name`: a declaration of an import, a member of an instance, or a
// built-in function with x as its first argument.
func (f *Frame) dot(x *syntax.Dot) value.Value {
	switch v := f.Symbolic(x.X).(type) {
	case value.Unknown:
		return v
	case value.Namespace:
		return f.selectName(v, x.Sel)
	case *value.Instance:
		if m, ok := v.Member(x.Sel.Name); ok {
			return f.read(x.Sel, m)
		}
		return f.Wants("E0201", x.Sel, diag.OneOf(v.Names()), diag.DidYouMean(x.Sel.Name, v.Names()), "%s has no `%s`", v.What(), x.Sel.Name)
	case value.Word:
		return f.Undefined(v)
	case value.Tensor, value.Number, value.Traced:
		if b := builtins[x.Sel.Name]; b != nil {
			return Primitive{b, v}
		}
		return f.Wants("E0201", x.Sel, "", instead(x.Sel.Name, builtinNames()), "there is no function `%s`", x.Sel.Name)
	default:
		return f.Errorf("E0209", x.Sel, "%s has no members", v.What())
	}
}

// index is `x[…]`: a slice or gather of a tensor, an element of a tuple or of
// a repeated module, or a type.
func (f *Frame) index(x *syntax.Index) value.Value {
	switch v := f.Symbolic(x.X).(type) {
	case value.Unknown:
		return v
	case value.Tensor:
		return f.indexTensor(x, v)
	case value.DType:
		return f.shapeExpr(x, ir.DType(v))
	case value.Instances:
		if list, _, omitted := f.Interp.gap(v); omitted {
			f.Interp.Irregularly(list)
			return value.Unknown{}
		}
		if i, ok := f.element(x, len(v)); ok {
			return v[i]
		}
		return value.Unknown{}
	case value.Tuple:
		if i, ok := f.element(x, len(v)); ok {
			return v[i]
		}
		return value.Unknown{}
	case value.Word:
		return f.Undefined(v)
	case value.ModuleRef:
		return f.Wants("E0221", x, "a member of a module: `name : "+v.Decl.Name.Name+"[…]`", "", "%s is repeated inside of an expression", v.What())
	default:
		return f.Errorf("E0209", x.X, "%s cannot be indexed", v.What())
	}
}

// element is the number in `x[i]`, counted from the end where it is negative.
func (f *Frame) element(x *syntax.Index, n int) (int, bool) {
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		f.Wants("E0206", x, "one number", "", "%d elements are chosen from by %d arguments", n, len(x.Args))
		return 0, false
	}
	a := x.Args[0]
	c, ok := f.Number(a.Value)
	if !ok {
		return 0, false
	}
	i, ok := c.Int()
	if i < 0 {
		i += n
	}
	if !ok || i < 0 || i >= n {
		f.Errorf("E0216", a, "element %s of %d", value.FormatNumber(c), n)
		return 0, false
	}
	return i, true
}

// Number evaluates what must be a compile-time number.
func (f *Frame) Number(x syntax.Expr) (value.Number, bool) {
	v := f.Expr(x)
	c, ok := v.(value.Number)
	if !ok {
		f.NotA(x, v, "a number")
	}
	return c, ok
}

// count is Number for what shapes depend on.
func (f *Frame) count(x syntax.Expr) (value.Number, bool) {
	v := f.plain(x, f.Symbolic(x), shapes)
	c, ok := v.(value.Number)
	if !ok {
		f.NotA(x, v, "a number")
	}
	return c, ok
}

// Axes evaluates what names an axis or several. A name that is bound to
// something else, such as a tensor that is called like its axis, still names
// the axis.
func (f *Frame) Axes(x syntax.Expr) ([]string, bool) {
	if !f.Interp.tick(f, x) {
		return nil, false
	}
	if t, ok := x.(*syntax.Tuple); ok {
		return f.axisList(t.Elems)
	}
	if t, ok := x.(*syntax.List); ok {
		return f.axisList(t.Elems)
	}
	if n, ok := x.(*syntax.Name); ok {
		names, ok := axesOf(f.Lookup(n, n.Name))
		if !ok {
			names = []string{n.Name}
		}
		f.watch(n, nil, names)
		return names, true
	}
	v := f.Symbolic(x)
	if names, ok := axesOf(v); ok {
		return names, true
	}
	f.NotA(x, v, "the name of an axis")
	return nil, false
}

func (f *Frame) axisList(xs []syntax.Expr) (names []string, ok bool) {
	for _, e := range xs {
		n, ok := f.Axes(e)
		if !ok {
			return nil, false
		}
		names = append(names, n...)
	}
	return names, true
}

// axesOf is the axes that a value names.
func axesOf(v value.Value) ([]string, bool) {
	switch v := v.(type) {
	case value.Word:
		return []string{v.Name}, true
	case value.Number:
		if v.Name != "" {
			return []string{v.Name}, true
		}
	case value.Traced: // its name is the same whatever it is
		return axesOf(v.Number)
	case value.Tuple:
		var names []string
		for _, e := range v {
			n, ok := axesOf(e)
			if !ok || len(names)+len(n) > source.MaxNames { // tuples of tuples can be huge
				return nil, false
			}
			names = append(names, n...)
		}
		return names, len(names) > 0
	}
	return nil, false
}

// OneAxis is axes for exactly one.
func (f *Frame) OneAxis(x syntax.Expr) (string, bool) {
	names, ok := f.Axes(x)
	if ok && len(names) != 1 {
		f.Wants("E0206", x, "one axis", "", "%d axes are named", len(names))
		return "", false
	}
	return strings.Join(names, ""), ok
}

// AxisName is the axis that a bare name in the place of an axis stands for. A
// parameter or variable that holds the name of an axis, or a config entry, gives
// that one.
func (f *Frame) AxisName(name string) []string {
	var v value.Value
	if w, ok := f.Vars[name]; ok {
		v = w
	} else if f.inst != nil {
		v = f.inst.Args[name]
	}
	if names, ok := axesOf(v); ok {
		return names
	}
	return []string{name}
}

// condition evaluates what must be true or false at compile time.
func (f *Frame) condition(x syntax.Expr) (c, ok bool) {
	switch v := f.Expr(x).(type) {
	case value.Truth:
		return bool(v), true
	case value.Unknown:
		return false, false
	case value.Word:
		f.Undefined(v)
		return false, false
	case value.Tensor:
		f.Report(&diag.Error{Code: "E0219", Pos: x.At(), Len: x.Len(), Msg: "the condition is " + v.What() + ", which is known only when the program runs",
			Want: "a condition known at compile time", Hint: "`where(condition, a, b)` chooses element by element"})
		return false, false
	default:
		f.Wants("E0219", x, "true or false", "", "the condition is %s", v.What())
		return false, false
	}
}
