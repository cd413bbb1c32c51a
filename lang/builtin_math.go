package lang

import (
	"math"

	"ptc/ir"
)

func init() {
	fold := map[string]func(float64) float64{
		"exp": math.Exp, "log": math.Log, "tanh": math.Tanh, "erf": math.Erf, "sqrt": math.Sqrt,
		"abs": math.Abs, "sin": math.Sin, "cos": math.Cos, "floor": math.Floor,
		"rsqrt":   func(x float64) float64 { return 1 / math.Sqrt(x) },
		"sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		"sign": func(x float64) float64 {
			if x == 0 || x != x {
				return x
			}
			return math.Copysign(1, x)
		},
	}
	for name, g := range fold {
		define(name, "x", func(f *frame, c *builtinCall) value {
			if n, ok := c.vals[0].(number); ok {
				r := g(n.v)
				return number{v: r, whole: r == math.Trunc(r) && math.Abs(r) <= 1<<53 && (n.whole || name == "floor" || name == "sign")}
			}
			x, ok := f.tensorArg(c, 0)
			if !ok {
				return unknown{}
			}
			return f.emit(c.site, name, nil, x)
		})
	}
	define("stop_gradient", "x", func(f *frame, c *builtinCall) value {
		if _, ok := c.vals[0].(number); ok {
			return c.vals[0]
		}
		x, ok := f.tensorArg(c, 0)
		if !ok {
			return unknown{}
		}
		return f.emit(c.site, "detach", nil, x)
	})
	define("max", "x, y?, over?: axis", func(f *frame, c *builtinCall) value { return extremum(f, c, "max") })
	define("min", "x, y?, over?: axis", func(f *frame, c *builtinCall) value { return extremum(f, c, "min") })
	define("pow", "x, y", func(f *frame, c *builtinCall) value {
		x, okX := c.vals[0].(number)
		y, okY := c.vals[1].(number)
		if okX && okY {
			return number{v: math.Pow(x.v, y.v)}
		}
		return pairwise(f, c, "pow")
	})
	define("where", "condition, x, y", where)
	define("sum", "x, over?: axis", func(f *frame, c *builtinCall) value { return reduce(f, c, "reduce_sum", 1) })
	define("mean", "x, over?: axis", mean)
	define("cast", "x, to", cast)
}

// pairwise emits an elementwise operation of the first two arguments.
func pairwise(f *frame, c *builtinCall, name string) value {
	vs, ok := f.alike(c.nodes[:2], c.vals[0], c.vals[1])
	if !ok {
		return unknown{}
	}
	return f.elementwise(c.site, name, []string{"the first argument", "the second argument"}, vs...)
}

// extremum is max or min: of two values, or over axes of one.
func extremum(f *frame, c *builtinCall, name string) value {
	if c.vals[1] != nil {
		if c.axes[2] != nil {
			return f.errorf("E0206", c.site, "`%s` takes two values or `over`, not both", name)
		}
		x, okX := c.vals[0].(number)
		y, okY := c.vals[1].(number)
		if okX && okY {
			r := max(x.v, y.v)
			if name == "min" {
				r = min(x.v, y.v)
			}
			return number{v: r, whole: x.whole && y.whole}
		}
		return pairwise(f, c, name)
	}
	if name == "max" {
		return reduce(f, c, "reduce_max", 2)
	}
	// min over axes is -max of the negated.
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	c.vals[0] = f.emit(c.site, "neg", nil, x)
	if isUnknown(c.vals[0]) {
		return unknown{}
	}
	r := reduce(f, c, "reduce_max", 2)
	if isUnknown(r) {
		return r
	}
	return f.emit(c.site, "neg", nil, r)
}

// reduce reduces the first argument over the axes of argument i; over all
// where none is given.
func reduce(f *frame, c *builtinCall, name string, i int) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	over := c.axes[i]
	if c.nodes[i] == nil {
		over = x.v.Type.Names()
	}
	if len(over) == 0 {
		return x
	}
	return f.emit(c.site, name, ir.A("over", ir.Names(over)), x)
}

// mean is the sum over the number of elements in it.
func mean(f *frame, c *builtinCall) value {
	x, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	s, ok := reduce(f, c, "reduce_sum", 1).(tensor)
	if !ok {
		return unknown{}
	}
	n := x.v.Type.Elems() / max(s.v.Type.Elems(), 1)
	k := f.constTensor(c.site, whole(n), x.v.Type.DType)
	if isUnknown(k) {
		return k
	}
	return f.emit(c.site, "div", nil, s, k)
}

// where chooses element by element, or at compile time where the condition is
// known.
func where(f *frame, c *builtinCall) value {
	if b, ok := c.vals[0].(truth); ok {
		if b {
			return c.vals[1]
		}
		return c.vals[2]
	}
	cond, ok := f.tensorArg(c, 0)
	if !ok {
		return unknown{}
	}
	vs, ok := f.alike(c.nodes[1:], c.vals[1], c.vals[2])
	if !ok {
		return unknown{}
	}
	return f.elementwise(c.site, "select", []string{"the condition", "the first choice", "the second choice"}, cond, vs[0], vs[1])
}

// cast converts to a dtype, given or that of another tensor.
func cast(f *frame, c *builtinCall) value {
	var to ir.DType
	switch d := c.vals[1].(type) {
	case dtype:
		to = ir.DType(d)
	case tensor:
		to = d.v.Type.DType
	default:
		return f.notA(c.nodes[1], d, "a dtype, such as f32, or a tensor that has it")
	}
	if n, ok := c.vals[0].(number); ok {
		return f.constTensor(c.nodes[0], n, to)
	}
	x, ok := f.tensorArg(c, 0)
	switch {
	case !ok:
		return unknown{}
	case x.v.Type.DType == to:
		return x
	}
	return f.emit(c.site, "cast", ir.A("to", ir.Name(to.String())), x)
}
