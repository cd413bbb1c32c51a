package lang

import (
	"math"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// expr evaluates an expression. It never gives nil.
func (f *frame) expr(x syntax.Expr) value {
	if !f.in.tick(f, x) {
		return unknown{}
	}
	switch x := x.(type) {
	case *syntax.Name:
		return f.read(x, f.lookup(x, x.Name))
	case *syntax.Int:
		return number{v: float64(x.Value), whole: x.Value >= -1<<53 && x.Value <= 1<<53}
	case *syntax.Float:
		return number{v: x.Value}
	case *syntax.String:
		return text(x.Value)
	case *syntax.Bool:
		return truth(x.Value)
	case *syntax.Quantity:
		return number{v: x.Bytes(), whole: x.Bytes() == math.Trunc(x.Bytes())}
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
			return unknown{}
		case c:
			return f.expr(x.Then)
		}
		return f.expr(x.Else)
	case *syntax.Dot:
		return f.dot(x)
	case *syntax.Call:
		return f.call(x)
	case *syntax.Index:
		return f.index(x)
	}
	return f.errorf("E0209", x, "this has no value by itself")
}

func (f *frame) elems(xs []syntax.Expr) value {
	t := make(tuple, len(xs))
	for i, x := range xs {
		t[i] = f.expr(x)
	}
	return t
}

// read turns a parameter into its tensor.
func (f *frame) read(n syntax.Node, v value) value {
	p, ok := v.(paramRef)
	switch {
	case !ok:
		return v
	case p.bad:
		return unknown{}
	case p.absent != nil:
		e := at("E0511", n, "there is no parameter `%s`: its condition is false", p.path)
		e.Note = []diag.Note{{Pos: p.absent.At(), Msg: "the condition"}}
		e.Hint = "read it under the same condition: `… if condition else …`"
		f.report(e)
		return unknown{}
	case f.in.fb == nil:
		return f.wants("E0219", n, "a value known at compile time", "", "`%s` is a parameter", p.path)
	}
	w := f.in.fb.param(p.param)
	f.saw(w.Type)
	return tensor{w}
}

// dot is `x.name`: a declaration of an import, a member of an instance, or a
// built-in function with x as its first argument.
func (f *frame) dot(x *syntax.Dot) value {
	switch v := f.expr(x.X).(type) {
	case unknown:
		return v
	case namespace:
		return f.selectName(v, x.Sel)
	case *instance:
		if m, ok := v.member(x.Sel.Name); ok {
			return f.read(x.Sel, m)
		}
		return f.wants("E0201", x.Sel, diag.OneOf(v.names()), diag.DidYouMean(x.Sel.Name, v.names()), "%s has no `%s`", v.what(), x.Sel.Name)
	case word:
		return f.undefined(v)
	case tensor, number:
		if b := builtins[x.Sel.Name]; b != nil {
			return primitive{b, v}
		}
		return f.wants("E0201", x.Sel, "", f.instead(x.Sel.Name, builtinNames()), "there is no function `%s`", x.Sel.Name)
	default:
		return f.errorf("E0209", x.Sel, "%s has no members", v.what())
	}
}

// index is `x[…]`: a slice or gather of a tensor, an element of a tuple or of
// a repeated module, or a type.
func (f *frame) index(x *syntax.Index) value {
	switch v := f.expr(x.X).(type) {
	case unknown:
		return v
	case tensor:
		return f.indexTensor(x, v)
	case dtype:
		return f.shapeExpr(x, ir.DType(v))
	case instances:
		if i, ok := f.element(x, len(v)); ok {
			return v[i]
		}
		return unknown{}
	case tuple:
		if i, ok := f.element(x, len(v)); ok {
			return v[i]
		}
		return unknown{}
	case word:
		return f.undefined(v)
	case moduleRef:
		return f.wants("E0221", x, "a member of a module: `name : "+v.decl.Name.Name+"[…]`", "", "%s is repeated inside of an expression", v.what())
	default:
		return f.errorf("E0209", x.X, "%s cannot be indexed", v.what())
	}
}

// element is the number in `x[i]`, counted from the end where it is negative.
func (f *frame) element(x *syntax.Index, n int) (int, bool) {
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		f.wants("E0206", x, "one number", "", "%d elements are chosen from by %d arguments", n, len(x.Args))
		return 0, false
	}
	a := x.Args[0]
	c, ok := f.number(a.Value)
	if !ok {
		return 0, false
	}
	i, ok := c.int()
	if i < 0 {
		i += n
	}
	if !ok || i < 0 || i >= n {
		f.errorf("E0216", a, "element %s of %d", formatNumber(c), n)
		return 0, false
	}
	return i, true
}

// number evaluates what must be a compile-time number.
func (f *frame) number(x syntax.Expr) (number, bool) {
	v := f.expr(x)
	c, ok := v.(number)
	if !ok {
		f.notA(x, v, "a number")
	}
	return c, ok
}

// notA reports a value of the wrong kind, unless it is unknown already.
func (f *frame) notA(n syntax.Node, v value, want string) value {
	switch v := v.(type) {
	case unknown:
		return v
	case word:
		return f.undefined(v)
	case tensor:
		if strings.Contains(want, "number") && !strings.Contains(want, "tensor") {
			return f.wants("E0219", n, want+" known at compile time", "", "found %s", v.what())
		}
	}
	return f.wants("E0209", n, want, "", "found %s", v.what())
}

// axes evaluates what names an axis or several. A name that is bound to
// something else, such as a tensor that is called like its axis, still names
// the axis.
func (f *frame) axes(x syntax.Expr) ([]string, bool) {
	if !f.in.tick(f, x) {
		return nil, false
	}
	if t, ok := x.(*syntax.Tuple); ok {
		return f.axisList(t.Elems)
	}
	if t, ok := x.(*syntax.List); ok {
		return f.axisList(t.Elems)
	}
	if n, ok := x.(*syntax.Name); ok {
		if names, ok := axesOf(f.lookup(n, n.Name)); ok {
			return names, true
		}
		return []string{n.Name}, true
	}
	v := f.expr(x)
	if names, ok := axesOf(v); ok {
		return names, true
	}
	f.notA(x, v, "the name of an axis")
	return nil, false
}

func (f *frame) axisList(xs []syntax.Expr) (names []string, ok bool) {
	for _, e := range xs {
		n, ok := f.axes(e)
		if !ok {
			return nil, false
		}
		names = append(names, n...)
	}
	return names, true
}

// axesOf is the axes that a value names.
func axesOf(v value) ([]string, bool) {
	switch v := v.(type) {
	case word:
		return []string{v.name}, true
	case number:
		if v.name != "" {
			return []string{v.name}, true
		}
	case tuple:
		var names []string
		for _, e := range v {
			n, ok := axesOf(e)
			if !ok || len(names)+len(n) > maxNames { // tuples of tuples can be huge
				return nil, false
			}
			names = append(names, n...)
		}
		return names, len(names) > 0
	}
	return nil, false
}

// oneAxis is axes for exactly one.
func (f *frame) oneAxis(x syntax.Expr) (string, bool) {
	names, ok := f.axes(x)
	if ok && len(names) != 1 {
		f.wants("E0206", x, "one axis", "", "%d axes are named", len(names))
		return "", false
	}
	return strings.Join(names, ""), ok
}

// axisName is the axis that a bare name in the place of an axis stands for. A
// parameter or variable that holds the name of an axis, or a config entry, gives
// that one.
func (f *frame) axisName(name string) []string {
	var v value
	if w, ok := f.vars[name]; ok {
		v = w
	} else if f.inst != nil {
		v = f.inst.args[name]
	}
	if names, ok := axesOf(v); ok {
		return names
	}
	return []string{name}
}
