package eval

import (
	"math"
	"slices"

	"ptc/internal/diag"
	"ptc/internal/formula"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// Ports are entries of the config whose values a plan is told when it runs. A number
// that is computed of them is traced: it is known while the program is compiled, so that
// everything can be checked, and it is also a formula, which the runtime computes anew.
//
//	lr = 3e-4                 traced: lr
//	floor = lr / 10           traced: lr / 10
//	1 - beta1, with a tensor  an argument of the function, of role setting
//	if decay != 0             holds or not, and the plan is for values where it does so
//	[seq = lr]                needs the number: lr is no port, and the evaluation is
//	                          done again without it
//
// Where an expression is evaluated by someone who knows nothing of traced numbers, it is
// the last of these ([Frame.Expr]); who does asks for [Frame.Symbolic]. There are none in
// tuples.
type Ports struct {
	Names  []string // of entries that are to be ports
	static []Static
	guards []Guard
	marked bool // in the evaluation under way
}

// Static is an entry that cannot be a port, and why.
type Static struct{ Name, Why string }

// Guard is a comparison of ports, and whether it holds in the plan.
type Guard struct {
	X     *formula.Expr
	Holds bool
}

// Setting is an entry of the config that is a port or, where Is is not empty, computed of
// some.
type Setting struct {
	Name  string
	Value float64
	Whole bool
	Is    string
}

// Again is whether the evaluation came upon an entry that cannot be a port, so that
// it is to be done anew, and forgets that it did.
func (p *Ports) Again() bool {
	again := p.marked
	p.marked = false
	return again
}

// Static are the entries that cannot be ports, in the order in which that was found.
func (p *Ports) Static() []Static { return p.static }

// Guards are the comparisons that decided something.
func (p *Ports) Guards() []Guard { return p.guards }

// begin forgets what an evaluation before this one has found of structure.
func (p *Ports) begin() {
	if p != nil {
		p.guards = nil
	}
}

func (p *Ports) open(name string) bool {
	return p != nil && slices.Contains(p.Names, name) && !slices.ContainsFunc(p.static, func(s Static) bool { return s.Name == name })
}

func (p *Ports) mark(name, why string) {
	if p.open(name) {
		p.static, p.marked = append(p.static, Static{name, why}), true
	}
}

func (p *Ports) guard(x *formula.Expr, holds bool) {
	text := x.String()
	if !slices.ContainsFunc(p.guards, func(g Guard) bool { return g.X.String() == text }) {
		p.guards = append(p.guards, Guard{x, holds})
	}
}

// checkPorts reports ports that are no entries of the config.
func (c *Config) checkPorts() {
	if c.ports == nil {
		return
	}
	for _, name := range c.ports.Names {
		if names := c.Names(); c.index[name] == nil {
			c.in.Errs.Add(&diag.Error{Code: "E0214", Msg: "--port " + value.Clip(name) + ": the config has no entry `" + value.Clip(name) + "`",
				Want: diag.OneOf(names), Hint: diag.DidYouMean(name, names)})
		}
	}
}

// port makes an entry that is a number, and asked for, traced.
func (c *Config) port(e *entry, v value.Value) value.Value {
	if !c.ports.open(e.name) {
		return v
	}
	n, ok := value.NumberOf(v)
	switch {
	case value.IsUnknown(v):
		return v
	case !ok:
		c.ports.mark(e.name, "is "+v.What())
		return v
	case math.IsInf(n.V, 0) || math.IsNaN(n.V):
		c.ports.mark(e.name, "is not finite")
		return n
	}
	return value.Traced{Number: n, X: formula.Name(e.name)}
}

// Settings are the entries of the config that are ports, or computed of some.
func (c *Config) Settings() []Setting {
	var out []Setting
	for _, e := range c.entries {
		t, ok := e.val.(value.Traced)
		if !ok {
			continue
		}
		s := Setting{Name: e.name, Value: t.V, Whole: t.Whole, Is: t.X.String()}
		if t.X.Name == e.name {
			s.Is = ""
		}
		out = append(out, s)
	}
	return out
}

// What needs the number of a port.
const (
	shapes = "changes shapes"
	known  = "must be known to compile"
)

// Static makes a traced number plain: what it is computed of is no port.
func (f *Frame) Static(n syntax.Node, v value.Value) value.Value { return f.plain(n, v, known) }

func (f *Frame) plain(n syntax.Node, v value.Value, why string) value.Value {
	t, ok := v.(value.Traced)
	if !ok {
		return v
	}
	for _, name := range t.X.Names() {
		f.Interp.Config.ports.mark(name, why+" "+f.origin(n).At().String())
	}
	return t.Number
}

func traced(v value.Value) bool {
	_, ok := v.(value.Traced)
	return ok
}

// Formula is a number that an operation gives of args, as a traced one where one of them
// is; a comparison, whose number is 1 or 0, is a guard.
func (f *Frame) Formula(n syntax.Node, op string, r value.Number, args ...value.Value) value.Value {
	if !slices.ContainsFunc(args, traced) {
		return r
	}
	xs := make([]*formula.Expr, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case value.Number:
			xs[i] = formula.Number(a.V)
		case value.Traced:
			xs[i] = a.X
		}
	}
	x := formula.Apply(op, xs...)
	if x == nil || math.IsInf(r.V, 0) || math.IsNaN(r.V) {
		for _, a := range args {
			f.Static(n, a)
		}
		return r
	}
	return value.Traced{Number: r, X: x}
}

// holds is a comparison of numbers, of which one is traced: the plan is for values that
// compare alike.
func (f *Frame) holds(n syntax.Node, op string, r bool, args ...value.Value) value.Truth {
	one := value.Number{Whole: true}
	if r {
		one.V = 1
	}
	if t, ok := f.Formula(n, op, one, args...).(value.Traced); ok {
		f.Interp.Config.ports.guard(t.X, r)
	}
	return value.Truth(r)
}

// Between is whether a number is above lo and below hi, both of which a traced one then
// is in every run; lo and hi may be infinite.
func (f *Frame) Between(n syntax.Node, v value.Value, lo, hi float64) bool {
	c, ok := value.NumberOf(v)
	if !ok || !(c.V > lo && c.V < hi) {
		return false
	}
	if _, ok := v.(value.Traced); ok {
		if !math.IsInf(lo, 0) {
			f.holds(n, ">", true, v, value.Number{V: lo})
		}
		if !math.IsInf(hi, 0) {
			f.holds(n, "<", true, v, value.Number{V: hi})
		}
	}
	return true
}

// Scalar is a number, traced or not, as a scalar of dtype d. One that is traced is an
// argument: of d where that is f32 or i32, else of f32, and cast.
func (f *Frame) Scalar(n syntax.Node, v value.Value, d ir.DType) value.Value {
	c, ok := value.NumberOf(v)
	if !ok {
		return f.NotA(n, v, "a number")
	}
	t, ok := v.(value.Traced)
	fb := f.Interp.Builder
	whole := c.V == math.Trunc(c.V) && math.Abs(c.V) <= source.MaxSize
	switch {
	case !ok:
		return f.ConstTensor(n, c, d)
	case fb == nil || d == ir.F64 || !d.IsFloat() && d != ir.I32 || d == ir.I32 && !whole || !ir.F32.Holds(c.V):
		f.Static(n, v)
		return f.ConstTensor(n, c, d)
	case d == ir.I32:
		if w, ok := f.Formula(n, formula.Whole, c, t).(value.Traced); ok {
			return value.Tensor{V: fb.setting(w, ir.I32)}
		}
		return f.ConstTensor(n, c, d)
	}
	x := value.Tensor{V: fb.setting(t, ir.F32)}
	if d == ir.F32 {
		return x
	}
	return f.Emit(n, "cast", ir.A("to", ir.Name(d.String())), x)
}

// setting is the argument that holds a traced number.
func (fb *Builder) setting(t value.Traced, d ir.DType) *ir.Value {
	path := t.X.String()
	for _, a := range fb.Settings {
		if a.Path == path {
			return a.Value
		}
	}
	v := fb.Func.NewValue(ir.Scalar(d), nil)
	fb.Settings = append(fb.Settings, &ir.Arg{Value: v, Role: ir.RoleSetting, Path: path, Attrs: ir.A(ir.AttrDefault, ir.Float(t.V))})
	return v
}
