package eval

import (
	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// callBuiltin evaluates the arguments and runs the function.
func (f *Frame) callBuiltin(x *syntax.Call, p Primitive) value.Value {
	skip := 0
	c := &Call{Site: x, Vals: make([]value.Value, len(p.formals)), Nodes: make([]syntax.Node, len(p.formals)), Axes: make([][]string, len(p.formals))}
	if p.recv != nil {
		skip = 1
		c.Vals[0], c.Nodes[0] = f.taken(p, x.Fun, p.recv), x.Fun
	}
	m, ok := f.match(x, "`"+p.Name+"`", p.formals, x.Args, skip, p.rest, p.extra)
	if !ok {
		for _, a := range x.Args { // still look for mistakes inside
			if a.Name == nil {
				f.Expr(a.Value)
			}
		}
		return value.Unknown{}
	}
	for i, a := range m.args {
		if a == nil {
			continue
		}
		c.Nodes[i] = a.Value
		if p.formals[i].axis {
			if c.Axes[i], ok = f.Axes(a.Value); !ok {
				return value.Unknown{}
			}
			continue
		}
		c.Vals[i] = f.taken(p, a.Value, f.Symbolic(a.Value))
	}
	for _, a := range m.rest {
		c.Rest = append(c.Rest, f.Expr(a.Value))
	}
	c.Extra = m.extra
	if value.IsUnknown(c.Vals...) || value.IsUnknown(c.Rest...) {
		return value.Unknown{}
	}
	return p.run(f, c)
}

// taken is an argument as a function takes it, which may know nothing of traced numbers.
func (f *Frame) taken(p Primitive, n syntax.Node, v value.Value) value.Value {
	if p.traced {
		return v
	}
	return f.Static(n, v)
}

// TensorArg is argument i, which must be a tensor; a number becomes one of
// f32.
func (f *Frame) TensorArg(c *Call, i int) (value.Tensor, bool) {
	switch v := c.Vals[i].(type) {
	case value.Tensor:
		return v, true
	case value.Number, value.Traced:
		t, ok := f.Scalar(c.Nodes[i], v, ir.F32).(value.Tensor)
		return t, ok
	default:
		f.NotA(c.Nodes[i], v, "a tensor")
		return value.Tensor{}, false
	}
}
