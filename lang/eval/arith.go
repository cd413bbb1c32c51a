package eval

import (
	"math"

	"ptc/internal/formula"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func (f *Frame) unary(x *syntax.Unary) value.Value {
	switch v := f.Symbolic(x.X).(type) {
	case value.Traced:
		if x.Op == "-" {
			return f.Formula(x, formula.Neg, value.Number{V: -v.V, Whole: v.Whole}, v)
		}
		return f.NotA(x.X, v, "true or false")
	case value.Number:
		if x.Op == "-" {
			return value.Number{V: -v.V, Whole: v.Whole}
		}
		return f.NotA(x.X, v, "true or false")
	case value.Truth:
		if x.Op == "not" {
			return !v
		}
		return f.NotA(x.X, v, "a number or a tensor")
	case value.Tensor:
		if x.Op == "-" {
			return f.Emit(x, "neg", nil, v)
		}
		return f.Emit(x, "not", nil, v)
	default:
		return f.NotA(x.X, v, "a number or a tensor")
	}
}

// opNames are the operations of the operators on tensors.
var opNames = func() map[string]string {
	names := map[string]string{}
	for _, d := range op.All() {
		if d.Class == op.Elementwise && d.MinArgs == 2 && d.MaxArgs == 2 {
			names[d.Word] = d.Name
		}
	}
	return names
}()

func (f *Frame) binary(x *syntax.Binary) value.Value {
	a, b := f.Symbolic(x.X), f.Symbolic(x.Y)
	if value.IsUnknown(a, b) {
		return value.Unknown{}
	}
	if given, ok := leftOut(x, a, b); ok {
		return given
	}
	_, tensorA := a.(value.Tensor)
	_, tensorB := b.(value.Tensor)
	if tensorA || tensorB {
		return f.binaryTensor(x, a, b)
	}
	if traced(a) || traced(b) {
		u, okA := value.NumberOf(a)
		w, okB := value.NumberOf(b)
		if okA && okB {
			return f.arithTraced(x, f.arith(x, u, w), a, b)
		}
		a, b = f.Static(x.X, a), f.Static(x.Y, b)
	}
	if x.Op == "==" || x.Op == "!=" {
		if same, ok := equal(a, b); ok {
			return value.Truth(same == (x.Op == "=="))
		}
	}
	switch u := a.(type) {
	case value.Number:
		switch w := b.(type) {
		case value.Number:
			return f.arith(x, u, w)
		case *value.Data:
			return f.weighted(x, x.X, u, w)
		}
	case *value.Data:
		if w, ok := b.(value.Number); ok {
			return f.weighted(x, x.Y, w, u)
		}
	case value.Truth:
		if w, ok := b.(value.Truth); ok {
			switch x.Op {
			case "and":
				return u && w
			case "or":
				return u || w
			}
		}
	case value.Text:
		if w, ok := b.(value.Text); ok && x.Op == "+" {
			if len(u)+len(w) > source.MaxText {
				return f.Errorf("E0218", x, "a string of more than %d bytes", source.MaxText)
			}
			return u + w
		}
	}
	for i, v := range []value.Value{a, b} {
		if w, ok := v.(value.Word); ok {
			return f.Undefined(w)
		}
		if _, ok := v.(value.Number); !ok {
			return f.Wants("E0209", []syntax.Expr{x.X, x.Y}[i], "numbers or tensors", "", "`%s` of %s", x.Op, v.What())
		}
	}
	return value.Unknown{}
}

// leftOut is `a == none` or `a != none` of what is no word: an argument whose default is
// the word `none`, and that is given. Two words are compared as any others.
func leftOut(x *syntax.Binary, a, b value.Value) (given value.Truth, ok bool) {
	if x.Op != "==" && x.Op != "!=" {
		return false, false
	}
	none := func(v value.Value) bool {
		w, ok := v.(value.Word)
		return ok && w.Name == "none"
	}
	if _, words := equal(a, b); words || !none(a) && !none(b) {
		return false, false
	}
	return value.Truth(x.Op == "!="), true
}

// weighted is a source of data times a number, which is its weight in a mixture.
func (f *Frame) weighted(x *syntax.Binary, number syntax.Expr, n value.Number, d *value.Data) value.Value {
	if x.Op != "*" {
		return f.Wants("E0209", x, "a number times a source", "", "`%s` of %s and %s", x.Op, n.What(), d.What())
	}
	if !(n.V > 0) || math.IsInf(n.V, 0) {
		return f.Wants("E0206", number, "a weight above 0", "", "found %s", n.What())
	}
	w := *d
	if w.Weight = n.V; d.Weight != 0 {
		w.Weight *= d.Weight
	}
	return &w
}

// equal compares names and constants; a word equals the string of its name.
func equal(a, b value.Value) (same, ok bool) {
	str := func(v value.Value) (string, bool) {
		switch v := v.(type) {
		case value.Text:
			return string(v), true
		case value.Word:
			return v.Name, true
		}
		return "", false
	}
	if s, ok := str(a); ok {
		t, ok := str(b)
		return s == t, ok
	}
	switch a.(type) {
	case value.Truth, value.DType:
		return a == b, true
	}
	return false, false
}

// arithTraced is what an operator gives of numbers of which one is traced.
func (f *Frame) arithTraced(x *syntax.Binary, r value.Value, a, b value.Value) value.Value {
	switch r := r.(type) {
	case value.Truth:
		return f.holds(x, x.Op, bool(r), a, b)
	case value.Number:
		return f.Formula(x, x.Op, r, a, b)
	}
	return r
}

// arith is the arithmetic of compile-time numbers, in float64. Whole numbers
// stay whole as far as the result is one: 384 / 6 is 64, 1 / 2 is 0.5.
func (f *Frame) arith(x *syntax.Binary, a, b value.Number) value.Value {
	both := a.Whole && b.Whole
	var r float64
	switch x.Op {
	case "+":
		r = a.V + b.V
	case "-":
		r = a.V - b.V
	case "*":
		r = a.V * b.V
	case "/", "%":
		if b.V == 0 && both {
			return f.Errorf("E0216", x, "division by zero")
		}
		if r = a.V / b.V; x.Op == "%" {
			r = math.Mod(a.V, b.V)
		}
	case "**":
		r = math.Pow(a.V, b.V)
	case "==":
		return value.Truth(a.V == b.V)
	case "!=":
		return value.Truth(a.V != b.V)
	case "<":
		return value.Truth(a.V < b.V)
	case "<=":
		return value.Truth(a.V <= b.V)
	case ">":
		return value.Truth(a.V > b.V)
	case ">=":
		return value.Truth(a.V >= b.V)
	default:
		return f.Wants("E0209", x, "true or false", "", "`%s` of numbers", x.Op)
	}
	return value.Number{V: r, Whole: both && r == math.Trunc(r) && math.Abs(r) <= 1<<53}
}

// binaryTensor is an elementwise operation; a number takes the tensor's dtype.
func (f *Frame) binaryTensor(x *syntax.Binary, a, b value.Value) value.Value {
	if n, ok := b.(value.Number); ok && x.Op == "**" && n.V == 2 {
		return f.Emit(x, "mul", nil, a, a)
	}
	vs, ok := f.Alike([]syntax.Node{x.X, x.Y}, a, b)
	if !ok {
		return value.Unknown{}
	}
	return f.Elementwise(x, opNames[x.Op], []string{"the left operand", "the right operand"}, vs...)
}

// Alike turns numbers among operands into constants of the dtype of the
// tensors; nodes are where they stand.
func (f *Frame) Alike(nodes []syntax.Node, vs ...value.Value) ([]value.Value, bool) {
	var d ir.DType
	found := false
	for _, v := range vs {
		if t, ok := v.(value.Tensor); ok && !found {
			d, found = t.V.Type.DType, true
		}
	}
	if !found {
		d = ir.F32
	}
	out := make([]value.Value, len(vs))
	for i, v := range vs {
		switch v := v.(type) {
		case value.Tensor:
			out[i] = v
		case value.Number, value.Traced:
			c := f.Scalar(nodes[i], v, d)
			if value.IsUnknown(c) {
				return nil, false
			}
			out[i] = c
		case value.Truth:
			if d != ir.Bool {
				f.NotA(nodes[i], v, "a number or a tensor")
				return nil, false
			}
			c := value.Number{Whole: true}
			if v {
				c.V = 1
			}
			out[i] = f.ConstTensor(nodes[i], c, d)
		default:
			f.NotA(nodes[i], v, "a number or a tensor")
			return nil, false
		}
	}
	return out, true
}
