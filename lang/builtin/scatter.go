package builtin

import (
	"slices"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

func init() {
	eval.Define("scatter", "x, at, over: axis, into: axis, size",
		"The opposite of `x[into = at]`: zeros with a new axis `into` of size `size`, to which the elements of "+
			"`x` along `over` are added at the positions `at`. Of `f32[seq, embed]` over `seq` into `slot` it is "+
			"`f32[slot, embed]`; a position out of range is dropped.",
		scatter)
}

// scatter is the opposite of x[axis = at]: the elements of x along the axes
// `over`, which are lost, are added at the positions `at` of a new axis `into`
// of a given size, the first one of the result. Where nothing is added the
// result is 0, and a position out of range is dropped. Axes of `over` that x
// lacks say that the same x is added for each position along them.
func scatter(f *eval.Frame, c *eval.Call) value.Value {
	x, okX := f.TensorArg(c, 0)
	at, okAt := f.TensorArg(c, 1)
	if !okX || !okAt {
		return value.Unknown{}
	}
	if len(c.Axes[3]) != 1 {
		return f.Wants("E0206", c.Nodes[3], "one axis", "", "%d axes are named", len(c.Axes[3]))
	}
	n, ok := c.Vals[4].(value.Number)
	if !ok {
		return f.NotA(c.Nodes[4], c.Vals[4], "a number")
	}
	size, ok := f.Size(c.Nodes[4], n, c.Axes[3][0])
	if !ok {
		return value.Unknown{}
	}
	over := c.Axes[2]
	for _, a := range over {
		if !at.V.Type.Has(a) {
			return f.NoAxis(c.Nodes[2], at, a)
		}
	}
	if x, ok = along(f, c.Site, x, at, over); !ok {
		return value.Unknown{}
	}
	out := ir.Sizes{{Name: c.Axes[3][0], N: size}}
	for _, a := range x.V.Type.Axes {
		if !slices.Contains(over, a.Name) {
			out = append(out, ir.SizeOf{Name: a.Name, N: a.Size})
		}
	}
	return f.Emit(c.Site, "scatter_add", ir.A("axis", ir.Name(c.Axes[3][0]), "out", out), x, at)
}

// along is x with every one of the axes, of the sizes that `like` has, the
// missing ones first.
func along(f *eval.Frame, n syntax.Node, x, like value.Tensor, axes []string) (value.Tensor, bool) {
	var all ir.Sizes
	for _, a := range axes {
		if !x.V.Type.Has(a) {
			all = append(all, ir.SizeOf{Name: a, N: like.V.Type.Size(a)})
		}
	}
	if len(all) == 0 {
		return x, true
	}
	t, ok := f.Emit(n, "broadcast", ir.A("axes", append(all, sizesOf(x.V.Type)...)), x).(value.Tensor)
	return t, ok
}
