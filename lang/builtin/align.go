package builtin

import (
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/value"
)

func init() {
	eval.Define("broadcast", "x, as",
		"`x` repeated to the axes of `as`, in their order: `broadcast(x, as = y)` of `f32[ffn]` and `f32[batch, "+
			"ffn]` is `f32[batch, ffn]`. `as` is a tensor, a type such as `f32[batch, kseq]`, whose dtype does not "+
			"matter, or several of these in brackets, which together have the axes.",
		ofTensor(broadcast))
	eval.Define("outer", "a, b",
		"The product over the axes of both: of `f32[seq]` and `f32[head]` it is `f32[seq, head]`.",
		outer)
}

// outer is outer(a, b): the product over the axes of both.
func outer(f *eval.Frame, c *eval.Call) value.Value {
	vs, ok := f.Alike(c.Nodes, c.Vals...)
	if !ok {
		return value.Unknown{}
	}
	return f.Emit(c.Site, "mul", nil, vs...)
}

// broadcast is broadcast(x, as = y): x repeated to the axes of y, in their
// order. y is a tensor or a type, or several, which together have the axes.
func broadcast(f *eval.Frame, c *eval.Call, x value.Tensor) value.Value {
	like, ok := c.Vals[1].(value.Tuple)
	if !ok {
		like = value.Tuple{c.Vals[1]}
	}
	var to ir.Type
	for _, v := range like {
		var t ir.Type
		switch v := v.(type) {
		case value.Tensor:
			t = v.V.Type
		case value.Shape:
			t = v.Type
		case value.Number: // a scalar
		default:
			return f.NotA(c.Nodes[1], v, "a tensor or a type, such as `f32[seq, kseq]`, or several in brackets")
		}
		for _, a := range t.Axes {
			switch n := to.Size(a.Name); {
			case n == 0:
				to.Axes = append(to.Axes, a)
			case n != a.Size:
				return f.Errorf("E0205", c.Nodes[1], "axis `%s` is %d in one and %d in another", a.Name, n, a.Size)
			}
			if len(to.Axes) > source.MaxRank {
				return f.Errorf("E0216", c.Nodes[1], "more than %d axes", source.MaxRank)
			}
		}
	}
	return f.Emit(c.Site, "broadcast", ir.A("axes", sizesOf(to)), x)
}
