package lang

import (
	"slices"

	"ptc/ir"
	"ptc/lang/syntax"
)

func init() {
	define("scatter", "x, at, over: axis, into: axis, size", scatter)
}

// scatter is the opposite of x[axis = at]: the elements of x along the axes
// `over`, which are lost, are added at the positions `at` of a new axis `into`
// of a given size, the first one of the result. Where nothing is added the
// result is 0, and a position out of range is dropped. Axes of `over` that x
// lacks say that the same x is added for each position along them.
func scatter(f *frame, c *builtinCall) value {
	x, okX := f.tensorArg(c, 0)
	at, okAt := f.tensorArg(c, 1)
	if !okX || !okAt {
		return unknown{}
	}
	if len(c.axes[3]) != 1 {
		return f.wants("E0206", c.nodes[3], "one axis", "", "%d axes are named", len(c.axes[3]))
	}
	n, ok := c.vals[4].(number)
	if !ok {
		return f.notA(c.nodes[4], c.vals[4], "a number")
	}
	size, ok := f.size(c.nodes[4], n, c.axes[3][0])
	if !ok {
		return unknown{}
	}
	over := c.axes[2]
	for _, a := range over {
		if !at.v.Type.Has(a) {
			return f.noAxis(c.nodes[2], at, a)
		}
	}
	if x, ok = along(f, c.site, x, at, over); !ok {
		return unknown{}
	}
	out := ir.Sizes{{Name: c.axes[3][0], N: size}}
	for _, a := range x.v.Type.Axes {
		if !slices.Contains(over, a.Name) {
			out = append(out, ir.SizeOf{Name: a.Name, N: a.Size})
		}
	}
	return f.emit(c.site, "scatter_add", ir.A("axis", ir.Name(c.axes[3][0]), "out", out), x, at)
}

// along is x with every one of the axes, of the sizes that `like` has, the
// missing ones first.
func along(f *frame, n syntax.Node, x, like tensor, axes []string) (tensor, bool) {
	var all ir.Sizes
	for _, a := range axes {
		if !x.v.Type.Has(a) {
			all = append(all, ir.SizeOf{Name: a, N: like.v.Type.Size(a)})
		}
	}
	if len(all) == 0 {
		return x, true
	}
	t, ok := f.emit(n, "broadcast", ir.A("axes", append(all, sizesOf(x.v.Type)...)), x).(tensor)
	return t, ok
}
