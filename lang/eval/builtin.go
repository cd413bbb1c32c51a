package eval

import (
	"sort"
	"strings"

	"ptc/ir"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// builtin is a function that the language itself defines.
type builtin struct {
	Name    string
	formals []formal
	// rest, where not negative, is how many formals are positional: any number
	// of further positional arguments is taken, and the other formals by name.
	rest  int
	extra bool // takes any further named arguments
	run   func(f *Frame, c *Call) value.Value
}

// Call is a call of one, with its arguments evaluated.
type Call struct {
	Site  *syntax.Call
	Vals  []value.Value // by formal; nil where absent, and for axes
	Nodes []syntax.Node // where each stands
	Axes  [][]string    // by formal, for those that take axes
	Rest  []value.Value
	Extra []*syntax.Arg
}

// builtins is filled by init in the files that define them.
var builtins = map[string]*builtin{}

// Define adds a function. The signature reads `x, over?: axis, *, **`: a
// question mark makes an argument optional; a star takes any number of further
// positional ones, and what follows it by name only; two stars take any named.
func Define(name, signature string, run func(f *Frame, c *Call) value.Value) {
	b := &builtin{Name: name, run: run, rest: -1}
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
func (f *Frame) callBuiltin(x *syntax.Call, p Primitive) value.Value {
	skip := 0
	c := &Call{Site: x, Vals: make([]value.Value, len(p.formals)), Nodes: make([]syntax.Node, len(p.formals)), Axes: make([][]string, len(p.formals))}
	if p.recv != nil {
		skip = 1
		c.Vals[0], c.Nodes[0] = p.recv, x.Fun
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
		c.Vals[i] = f.Expr(a.Value)
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

// TensorArg is argument i, which must be a tensor; a number becomes one of
// f32.
func (f *Frame) TensorArg(c *Call, i int) (value.Tensor, bool) {
	switch v := c.Vals[i].(type) {
	case value.Tensor:
		return v, true
	case value.Number:
		t, ok := f.ConstTensor(c.Nodes[i], v, ir.F32).(value.Tensor)
		return t, ok
	default:
		f.NotA(c.Nodes[i], v, "a tensor")
		return value.Tensor{}, false
	}
}

// Primitive is a built-in function, with the receiver of `x.sum(…)`.
type Primitive struct {
	*builtin
	recv value.Value
}

func (p Primitive) What() string { return "the function `" + p.Name + "`" }
