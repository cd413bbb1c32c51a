package lang

import (
	"ptc/ir"
)

func init() {
	define("broadcast", "x, as", broadcast)
	define("outer", "a, b", outer)
}

// outer is outer(a, b): the product over the axes of both.
func outer(f *frame, c *builtinCall) value {
	vs, ok := f.alike(c.nodes, c.vals...)
	if !ok {
		return unknown{}
	}
	return f.emit(c.site, "mul", nil, vs...)
}

// broadcast is broadcast(x, as = y): x repeated to the axes of y, in their
// order. y is a tensor or a type, or several, which together have the axes.
func broadcast(f *frame, c *builtinCall) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	like, ok := c.vals[1].(tuple)
	if !ok {
		like = tuple{c.vals[1]}
	}
	var to ir.Type
	for _, v := range like {
		var t ir.Type
		switch v := v.(type) {
		case tensor:
			t = v.v.Type
		case shape:
			t = v.Type
		case number: // a scalar
		default:
			return f.notA(c.nodes[1], v, "a tensor or a type, such as `f32[seq, kseq]`, or several in brackets")
		}
		for _, a := range t.Axes {
			switch n := to.Size(a.Name); {
			case n == 0:
				to.Axes = append(to.Axes, a)
			case n != a.Size:
				return f.errorf("E0205", c.nodes[1], "axis `%s` is %d in one and %d in another", a.Name, n, a.Size)
			}
			if len(to.Axes) > maxRank {
				return f.errorf("E0216", c.nodes[1], "more than %d axes", maxRank)
			}
		}
	}
	return f.emit(c.site, "broadcast", ir.A("axes", sizesOf(to)), x)
}
