package lang

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/syntax"
)

func (f *frame) unary(x *syntax.Unary) value {
	switch v := f.expr(x.X).(type) {
	case number:
		if x.Op == "-" {
			return number{v: -v.v, whole: v.whole}
		}
		return f.notA(x.X, v, "true or false")
	case truth:
		if x.Op == "not" {
			return !v
		}
		return f.notA(x.X, v, "a number or a tensor")
	case tensor:
		if x.Op == "-" {
			return f.emit(x, "neg", nil, v)
		}
		return f.emit(x, "not", nil, v)
	default:
		return f.notA(x.X, v, "a number or a tensor")
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

func (f *frame) binary(x *syntax.Binary) value {
	a, b := f.expr(x.X), f.expr(x.Y)
	if isUnknown(a, b) {
		return unknown{}
	}
	_, tensorA := a.(tensor)
	_, tensorB := b.(tensor)
	if tensorA || tensorB {
		return f.binaryTensor(x, a, b)
	}
	if x.Op == "==" || x.Op == "!=" {
		if same, ok := equal(a, b); ok {
			return truth(same == (x.Op == "=="))
		}
	}
	switch u := a.(type) {
	case number:
		if w, ok := b.(number); ok {
			return f.arith(x, u, w)
		}
	case truth:
		if w, ok := b.(truth); ok {
			switch x.Op {
			case "and":
				return u && w
			case "or":
				return u || w
			}
		}
	case text:
		if w, ok := b.(text); ok && x.Op == "+" {
			if len(u)+len(w) > maxText {
				return f.errorf("E0218", x, "a string of more than %d bytes", maxText)
			}
			return u + w
		}
	}
	for i, v := range []value{a, b} {
		if w, ok := v.(word); ok {
			return f.undefined(w)
		}
		if _, ok := v.(number); !ok {
			return f.wants("E0209", []syntax.Expr{x.X, x.Y}[i], "numbers or tensors", "", "`%s` of %s", x.Op, v.what())
		}
	}
	return unknown{}
}

// equal compares names and constants; a word equals the string of its name.
func equal(a, b value) (same, ok bool) {
	str := func(v value) (string, bool) {
		switch v := v.(type) {
		case text:
			return string(v), true
		case word:
			return v.name, true
		}
		return "", false
	}
	if s, ok := str(a); ok {
		t, ok := str(b)
		return s == t, ok
	}
	switch a.(type) {
	case truth, dtype:
		return a == b, true
	}
	return false, false
}

// arith is the arithmetic of compile-time numbers, in float64. Whole numbers
// stay whole as far as the result is one: 384 / 6 is 64, 1 / 2 is 0.5.
func (f *frame) arith(x *syntax.Binary, a, b number) value {
	both := a.whole && b.whole
	var r float64
	switch x.Op {
	case "+":
		r = a.v + b.v
	case "-":
		r = a.v - b.v
	case "*":
		r = a.v * b.v
	case "/", "%":
		if b.v == 0 && both {
			return f.errorf("E0216", x, "division by zero")
		}
		if r = a.v / b.v; x.Op == "%" {
			r = math.Mod(a.v, b.v)
		}
	case "**":
		r = math.Pow(a.v, b.v)
	case "==":
		return truth(a.v == b.v)
	case "!=":
		return truth(a.v != b.v)
	case "<":
		return truth(a.v < b.v)
	case "<=":
		return truth(a.v <= b.v)
	case ">":
		return truth(a.v > b.v)
	case ">=":
		return truth(a.v >= b.v)
	default:
		return f.wants("E0209", x, "true or false", "", "`%s` of numbers", x.Op)
	}
	return number{v: r, whole: both && r == math.Trunc(r) && math.Abs(r) <= 1<<53}
}

// binaryTensor is an elementwise operation; a number takes the tensor's dtype.
func (f *frame) binaryTensor(x *syntax.Binary, a, b value) value {
	if n, ok := b.(number); ok && x.Op == "**" && n.v == 2 {
		return f.emit(x, "mul", nil, a, a)
	}
	vs, ok := f.alike([]syntax.Node{x.X, x.Y}, a, b)
	if !ok {
		return unknown{}
	}
	return f.elementwise(x, opNames[x.Op], []string{"the left operand", "the right operand"}, vs...)
}

// alike turns numbers among operands into constants of the dtype of the
// tensors; nodes are where they stand.
func (f *frame) alike(nodes []syntax.Node, vs ...value) ([]value, bool) {
	var d ir.DType
	found := false
	for _, v := range vs {
		if t, ok := v.(tensor); ok && !found {
			d, found = t.v.Type.DType, true
		}
	}
	if !found {
		d = ir.F32
	}
	out := make([]value, len(vs))
	for i, v := range vs {
		switch v := v.(type) {
		case tensor:
			out[i] = v
		case number:
			c := f.constTensor(nodes[i], v, d)
			if isUnknown(c) {
				return nil, false
			}
			out[i] = c
		case truth:
			if d != ir.Bool {
				f.notA(nodes[i], v, "a number or a tensor")
				return nil, false
			}
			c := number{whole: true}
			if v {
				c.v = 1
			}
			out[i] = f.constTensor(nodes[i], c, d)
		default:
			f.notA(nodes[i], v, "a number or a tensor")
			return nil, false
		}
	}
	return out, true
}

// constTensor is a number as a scalar of dtype d.
func (f *frame) constTensor(n syntax.Node, c number, d ir.DType) value {
	switch {
	case d.IsInt() && (c.v != math.Trunc(c.v) || math.Abs(c.v) > maxSize):
		return f.wants("E0207", n, "a whole number of 32 bits", "`cast(x, f32)` turns the tensor into numbers with fractions", "%s beside an i32 tensor", c.what())
	case !d.Holds(c.v):
		return f.wants("E0207", n, "true or false", "", "%s beside a tensor of bool", c.what())
	}
	return f.emit(n, "const", ir.A("dtype", ir.Name(d.String()), "value", ir.Float(c.v)))
}
