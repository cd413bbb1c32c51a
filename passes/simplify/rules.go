package simplify

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// rule is one rewriting. apply returns what replaces the result of o, of the
// same type, or nil where the rule does not match.
type rule struct {
	name  string
	doc   string
	ops   []string // the operations it looks at; none means all
	apply func(r *rewriter, o *ir.Op) *ir.Value
}

var (
	rules = map[string][]rule{}
	anyOp []rule
)

// register adds the rules of a file; those of one operation are tried in the
// order of registration.
func register(set []rule) {
	for _, x := range set {
		if len(x.ops) == 0 {
			anyOp = append(anyOp, x)
		}
		for _, name := range x.ops {
			rules[name] = append(rules[name], x)
		}
	}
}

// splat is the number that every element of v is, if it is known.
func splat(v *ir.Value) (float64, bool) {
	for v.Def != nil && v.Def.Name == op.Broadcast {
		v = v.Def.Args[0]
	}
	if v.Def == nil || v.Def.Name != op.Const {
		return 0, false
	}
	return constValue(v.Def), true
}

func constValue(o *ir.Op) float64 { return o.Attrs.Float("value", 0) }

func is(v *ir.Value, want float64) bool {
	c, ok := splat(v)
	return ok && c == want
}

// constant is a scalar constant.
func (r *rewriter) constant(o *ir.Op, d ir.DType, v float64) *ir.Value {
	var val ir.AttrVal = ir.Float(v)
	if d.IsInt() {
		val = ir.Int(int64(v))
	}
	return r.emit(o, op.Const, ir.A("dtype", ir.Name(d.String()), "value", val))
}

// as is x with the axes of t in their order, or nil where x has others.
func (r *rewriter) as(o *ir.Op, x *ir.Value, t ir.Type) *ir.Value {
	switch {
	case x.Type.DType != t.DType:
		return nil
	case x.Type.Equal(t):
		return x
	case x.Type.Rank() == t.Rank():
		return r.emit(o, op.Transpose, ir.A("order", ir.Names(t.Names())), x)
	}
	return r.emit(o, op.Broadcast, ir.A("axes", sizes(t)), x)
}

func sizes(t ir.Type) ir.Sizes {
	s := make(ir.Sizes, len(t.Axes))
	for i, a := range t.Axes {
		s[i] = ir.SizeOf{Name: a.Name, N: a.Size}
	}
	return s
}

func from(v *ir.Value, name string) bool { return v.Def != nil && v.Def.Name == name }

// finite reports whether no element of v can be NaN or infinite.
func finite(v *ir.Value) bool {
	if c, ok := splat(v); ok {
		return !math.IsNaN(c) && !math.IsInf(c, 0)
	}
	return !v.Type.DType.IsFloat() || from(v, op.Cast) && finite(v.Def.Args[0]) && v.Def.Args[0].Type.DType.Within(v.Type.DType)
}

func init() {
	register([]rule{{
		name: "fold", doc: "an elementwise operation on constants is a constant",
		apply: fold,
	}})
}

// fold evaluates with the row itself. It computes in float64 and leaves the
// rounding to the constant's use, except that a cast that would round stays.
func fold(r *rewriter, o *ir.Op) *ir.Value {
	d := op.Of(o)
	if d.Class != op.Elementwise || len(o.Args) == 0 || o.Results[0].Type.Rank() > 0 {
		return nil
	}
	args := make([]*tensor.Tensor, len(o.Args))
	for i, a := range o.Args {
		if !from(a, op.Const) {
			return nil
		}
		args[i] = tensor.Scalar(a.Type.DType, constValue(a.Def))
	}
	res, err := d.Eval(&op.Context{}, o, args)
	if err != nil || len(res) != 1 {
		return nil
	}
	v, t := res[0].Data[0], o.Results[0].Type.DType
	if o.Name == op.Cast && t.IsFloat() {
		if t.Round(res[0].Data); res[0].Data[0] != v {
			return r.refuse(o, "%s would round %g", t, v)
		}
	}
	return r.constant(o, t, v)
}
