package builtin

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/eval"
	"ptc/lang/value"
)

func init() {
	for _, d := range op.All() {
		if d.Scalar == nil || d.Word != d.Name || d.Name == op.Not { // operators, and stop_gradient
			continue
		}
		name, g := d.Name, d.Scalar
		eval.DefineTraced(name, "x", d.Doc+" Elementwise, with the axes of `x`; of a number, at compile time.", func(f *eval.Frame, c *eval.Call) value.Value {
			if n, ok := value.NumberOf(c.Vals[0]); ok {
				r := g(n.V)
				whole := r == math.Trunc(r) && math.Abs(r) <= 1<<53 && (n.Whole || name == "floor" || name == "sign")
				return f.Formula(c.Site, name, value.Number{V: r, Whole: whole}, c.Vals[0])
			}
			x, ok := f.TensorArg(c, 0)
			if !ok {
				return value.Unknown{}
			}
			return f.Emit(c.Site, name, nil, x)
		})
	}
	eval.DefineTraced("stop_gradient", "x",
		"`x`, with the same axes, as a constant for the gradient.",
		func(f *eval.Frame, c *eval.Call) value.Value {
			if _, ok := value.NumberOf(c.Vals[0]); ok {
				return c.Vals[0]
			}
			x, ok := f.TensorArg(c, 0)
			if !ok {
				return value.Unknown{}
			}
			return f.Emit(c.Site, "detach", nil, x)
		})
	eval.DefineTraced("max", "x, y?, over?: axis",
		"The larger of `x` and `y`, elementwise: axes align by name, so `f32[batch, ffn]` and `f32[ffn]` give "+
			"`f32[batch, ffn]`. With `over` instead of `y`, the largest along those axes, which are gone: `max(x, "+
			"over = vocab)` of `f32[batch, vocab]` is `f32[batch]`. Elements that tie share the gradient.",
		func(f *eval.Frame, c *eval.Call) value.Value { return extremum(f, c, "max") })
	eval.DefineTraced("min", "x, y?, over?: axis",
		"The smaller of `x` and `y`, elementwise, or with `over` the smallest along axes, as for `max`.",
		func(f *eval.Frame, c *eval.Call) value.Value { return extremum(f, c, "min") })
	eval.DefineTraced("pow", "x, y",
		"`x ** y`, elementwise: axes align by name.",
		func(f *eval.Frame, c *eval.Call) value.Value {
			x, okX := value.NumberOf(c.Vals[0])
			y, okY := value.NumberOf(c.Vals[1])
			if okX && okY {
				return f.Formula(c.Site, "**", value.Number{V: math.Pow(x.V, y.V)}, c.Vals[0], c.Vals[1])
			}
			return pairwise(f, c, "pow")
		})
	eval.DefineTraced("where", "condition, x, y",
		"`x` where the condition holds, else `y`, element by element: the result has the axes of all three, which"+
			" align by name. A condition known at compile time chooses one of them.",
		where)
	eval.Define("sum", "x, over?: axis",
		"The sum along axes, which are gone: `sum(x, over = ffn)` of `f32[batch, ffn]` is `f32[batch]`; without "+
			"`over`, of all elements.",
		func(f *eval.Frame, c *eval.Call) value.Value { return reduce(f, c, "reduce_sum", 1) })
	eval.Define("mean", "x, over?: axis",
		"The mean along axes, which are gone: `mean(x, over = ffn)` of `f32[batch, ffn]` is `f32[batch]`; without"+
			" `over`, of all elements.",
		ofTensor(mean))
	eval.DefineTraced("cast", "x, to",
		"`x` as another dtype, with the same axes: `cast(x, f32)`, or `cast(x, y)` to the dtype of the tensor "+
			"`y`. Float to i32 truncates.",
		cast)
}

// pairwise emits an elementwise operation of the first two arguments.
func pairwise(f *eval.Frame, c *eval.Call, name string) value.Value {
	vs, ok := f.Alike(c.Nodes[:2], c.Vals[0], c.Vals[1])
	if !ok {
		return value.Unknown{}
	}
	return f.Elementwise(c.Site, name, []string{"the first argument", "the second argument"}, vs...)
}

// extremum is max or min: of two values, or over axes of one.
func extremum(f *eval.Frame, c *eval.Call, name string) value.Value {
	if c.Vals[1] != nil {
		if c.Axes[2] != nil {
			return f.Errorf("E0206", c.Site, "`%s` takes two values or `over`, not both", name)
		}
		x, okX := value.NumberOf(c.Vals[0])
		y, okY := value.NumberOf(c.Vals[1])
		if okX && okY {
			r := max(x.V, y.V)
			if name == "min" {
				r = min(x.V, y.V)
			}
			return f.Formula(c.Site, name, value.Number{V: r, Whole: x.Whole && y.Whole}, c.Vals[0], c.Vals[1])
		}
		return pairwise(f, c, name)
	}
	if name == "max" {
		return reduce(f, c, "reduce_max", 2)
	}
	// min over axes is -max of the negated.
	x, ok := f.TensorArg(c, 0)
	if !ok {
		return value.Unknown{}
	}
	c.Vals[0] = f.Emit(c.Site, "neg", nil, x)
	if value.IsUnknown(c.Vals[0]) {
		return value.Unknown{}
	}
	r := reduce(f, c, "reduce_max", 2)
	if value.IsUnknown(r) {
		return r
	}
	return f.Emit(c.Site, "neg", nil, r)
}

// reduce reduces the first argument over the axes of argument i; over all
// where none is given.
func reduce(f *eval.Frame, c *eval.Call, name string, i int) value.Value {
	x, ok := f.TensorArg(c, 0)
	if !ok {
		return value.Unknown{}
	}
	over := c.Axes[i]
	if c.Nodes[i] == nil {
		over = x.V.Type.Names()
	}
	if len(over) == 0 {
		return x
	}
	return f.Emit(c.Site, name, ir.A("over", ir.Names(over)), x)
}

// mean is the sum over the number of elements in it.
func mean(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
	s, ok := reduce(f, c, "reduce_sum", 1).(value.Tensor)
	if !ok {
		return value.Unknown{}
	}
	n := x.V.Type.Elems() / max(s.V.Type.Elems(), 1)
	k := f.ConstTensor(c.Site, value.Whole(n), x.V.Type.DType)
	if value.IsUnknown(k) {
		return k
	}
	return f.Emit(c.Site, "div", nil, s, k)
}

// where chooses element by element, or at compile time where the condition is
// known.
func where(f *eval.Frame, c *eval.Call) value.Value {
	if b, ok := c.Vals[0].(value.Truth); ok {
		if b {
			return c.Vals[1]
		}
		return c.Vals[2]
	}
	cond, ok := f.TensorArg(c, 0)
	if !ok {
		return value.Unknown{}
	}
	vs, ok := f.Alike(c.Nodes[1:], c.Vals[1], c.Vals[2])
	if !ok {
		return value.Unknown{}
	}
	return f.Elementwise(c.Site, "select", []string{"the condition", "the first choice", "the second choice"}, cond, vs[0], vs[1])
}

// cast converts to a dtype, given or that of another tensor.
func cast(f *eval.Frame, c *eval.Call) value.Value {
	var to ir.DType
	switch d := c.Vals[1].(type) {
	case value.DType:
		to = ir.DType(d)
	case value.Tensor:
		to = d.V.Type.DType
	default:
		return f.NotA(c.Nodes[1], d, "a dtype, such as f32, or a tensor that has it")
	}
	if _, ok := value.NumberOf(c.Vals[0]); ok {
		return f.Scalar(c.Nodes[0], c.Vals[0], to)
	}
	x, ok := f.TensorArg(c, 0)
	switch {
	case !ok:
		return value.Unknown{}
	case x.V.Type.DType == to:
		return x
	}
	return f.Emit(c.Site, "cast", ir.A("to", ir.Name(to.String())), x)
}
