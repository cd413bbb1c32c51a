package fusion

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Softmax is the division e / l of exponentials over the key by their sum, and perhaps
// [Sink]s, of which v is a multiple that no key's weight makes zero or infinite for others, such as by
// dropout; or nil.
func Softmax(v *ir.Value, key string) *ir.Op {
	o := v.Def
	if o == nil {
		return nil
	}
	switch o.Name {
	case op.Div:
		if normalizes(o, key) {
			return o
		}
		return Softmax(o.Args[0], key)
	case op.Mul:
		if n := Softmax(o.Args[0], key); n != nil {
			return n
		}
		return Softmax(o.Args[1], key)
	case op.Select:
		if IsConst(o.Args[2], 0) {
			return Softmax(o.Args[1], key)
		}
		if IsConst(o.Args[1], 0) {
			return Softmax(o.Args[2], key)
		}
	case op.Cast:
		if v.Type.DType.IsFloat() && o.Args[0].Type.DType.IsFloat() {
			return Softmax(o.Args[0], key)
		}
	}
	return nil
}

// normalizes reports whether o divides exponentials by their sum over the keys, and
// perhaps sinks.
func normalizes(o *ir.Op, key string) bool {
	l := o.Args[1].Def
	if l == nil {
		return false
	}
	if isSum(o.Args[1], o.Args[0], key) {
		return Exponent(o.Args[0].Def, key) != nil
	}
	scores, _ := withSinks(o.Args[0].Def, l, key)
	return scores != nil
}

// Exponent is the scores of which e is the exponential, up to what is taken off for
// all keys alike: a maximum over them. Nil where e is none.
func Exponent(e *ir.Op, key string) *ir.Value {
	if e == nil || e.Name != op.Exp {
		return nil
	}
	x := e.Args[0]
	if x.Def == nil || x.Def.Name != op.Sub {
		return x
	}
	top := x.Def.Args[1].Def
	if top != nil && top.Name == op.Detach {
		top = top.Args[0].Def
	}
	if top == nil || top.Name != op.ReduceMax || !slices.Equal(top.Attrs.Names("over"), []string{key}) || top.Args[0] != x.Def.Args[0] {
		return x
	}
	return x.Def.Args[0]
}
