package lang

import (
	"math"
	"sort"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang/syntax"
)

// builtin is a function that the language itself defines.
type builtin struct {
	name    string
	formals []formal
	// rest, where not negative, is how many formals are positional: any number
	// of further positional arguments is taken, and the other formals by name.
	rest  int
	extra bool // takes any further named arguments
	run   func(f *frame, c *builtinCall) value
}

// builtinCall is a call of one, with its arguments evaluated.
type builtinCall struct {
	site  *syntax.Call
	vals  []value       // by formal; nil where absent, and for axes
	nodes []syntax.Node // where each stands
	axes  [][]string    // by formal, for those that take axes
	rest  []value
	extra []*syntax.Arg
}

// builtins is filled by init in the files that define them.
var builtins = map[string]*builtin{}

// define adds a function. The signature reads `x, over?: axis, *, **`: a
// question mark makes an argument optional; a star takes any number of further
// positional ones, and what follows it by name only; two stars take any named.
func define(name, signature string, run func(f *frame, c *builtinCall) value) {
	b := &builtin{name: name, run: run, rest: -1}
	for _, p := range strings.Split(signature, ", ") {
		switch p {
		case "*":
			b.rest = len(b.formals)
			continue
		case "**":
			b.extra = true
			continue
		}
		p, axis := strings.CutSuffix(p, ": axis")
		p, optional := strings.CutSuffix(p, "?")
		b.formals = append(b.formals, formal{p, axis, !optional})
	}
	builtins[name] = b
}

func builtinNames() []string {
	var out []string
	for n := range builtins {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// callBuiltin evaluates the arguments and runs the function.
func (f *frame) callBuiltin(x *syntax.Call, p primitive) value {
	skip := 0
	c := &builtinCall{site: x, vals: make([]value, len(p.formals)), nodes: make([]syntax.Node, len(p.formals)), axes: make([][]string, len(p.formals))}
	if p.recv != nil {
		skip = 1
		c.vals[0], c.nodes[0] = p.recv, x.Fun
	}
	m, ok := f.match(x, "`"+p.name+"`", p.formals, x.Args, skip, p.rest, p.extra)
	if !ok {
		for _, a := range x.Args { // still look for mistakes inside
			if a.Name == nil {
				f.expr(a.Value)
			}
		}
		return unknown{}
	}
	for i, a := range m.args {
		if a == nil {
			continue
		}
		c.nodes[i] = a.Value
		if p.formals[i].axis {
			if c.axes[i], ok = f.axes(a.Value); !ok {
				return unknown{}
			}
			continue
		}
		c.vals[i] = f.expr(a.Value)
	}
	for _, a := range m.rest {
		c.rest = append(c.rest, f.expr(a.Value))
	}
	c.extra = m.extra
	if isUnknown(c.vals...) || isUnknown(c.rest...) {
		return unknown{}
	}
	return p.run(f, c)
}

// tensorArg is argument i, which must be a tensor; a number becomes one of
// f32.
func (f *frame) tensorArg(c *builtinCall, i int) (tensor, bool) {
	switch v := c.vals[i].(type) {
	case tensor:
		return v, true
	case number:
		t, ok := f.constTensor(c.nodes[i], v, ir.F32).(tensor)
		return t, ok
	default:
		f.notA(c.nodes[i], v, "a tensor")
		return tensor{}, false
	}
}

func init() {
	for _, d := range op.All() {
		if d.Scalar == nil || d.Word != d.Name || d.Name == op.Not { // operators, and stop_gradient
			continue
		}
		name, g := d.Name, d.Scalar
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
	define("max", "x, y?, over?: axis", func(f *frame, c *builtinCall) value { return f.extremum(c, "max") })
	define("min", "x, y?, over?: axis", func(f *frame, c *builtinCall) value { return f.extremum(c, "min") })
	define("pow", "x, y", func(f *frame, c *builtinCall) value {
		x, okX := c.vals[0].(number)
		y, okY := c.vals[1].(number)
		if okX && okY {
			return number{v: math.Pow(x.v, y.v)}
		}
		return f.pairwise(c, "pow")
	})
	define("where", "condition, x, y", where)
	define("sum", "x, over?: axis", func(f *frame, c *builtinCall) value { return f.reduce(c, "reduce_sum", 1) })
	define("mean", "x, over?: axis", mean)
	define("cast", "x, to", cast)
}

// pairwise emits an elementwise operation of the first two arguments.
func (f *frame) pairwise(c *builtinCall, name string) value {
	vs, ok := f.alike(c.nodes[:2], c.vals[0], c.vals[1])
	if !ok {
		return unknown{}
	}
	return f.elementwise(c.site, name, []string{"the first argument", "the second argument"}, vs...)
}

// extremum is max or min: of two values, or over axes of one.
func (f *frame) extremum(c *builtinCall, name string) value {
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
		return f.pairwise(c, name)
	}
	if name == "max" {
		return f.reduce(c, "reduce_max", 2)
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
	r := f.reduce(c, "reduce_max", 2)
	if isUnknown(r) {
		return r
	}
	return f.emit(c.site, "neg", nil, r)
}

// reduce reduces the first argument over the axes of argument i; over all
// where none is given.
func (f *frame) reduce(c *builtinCall, name string, i int) value {
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
	s, ok := f.reduce(c, "reduce_sum", 1).(tensor)
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
