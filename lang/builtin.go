package lang

import (
	"sort"
	"strings"

	"ptc/ir"
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

// primitive is a built-in function, with the receiver of `x.sum(…)`.
type primitive struct {
	*builtin
	recv value
}

func (p primitive) what() string { return "the function `" + p.name + "`" }
