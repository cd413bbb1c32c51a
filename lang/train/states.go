package train

import (
	"slices"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// master is what the optimizer updates: the parameter, or, of one that the model
// has in fewer bits than f32, a state that holds it in f32. Updates are often less
// than half a unit of a bf16 weight's last place, and would be lost. Micikevicius
// et al., "Mixed Precision Training" (2018), section 3.1.
func (u *updater) master(p *value.Param) (value.Tensor, ir.Type) {
	w := u.fb.Values[p]
	if !p.Type.DType.IsNarrow() {
		return value.Tensor{V: w}, p.Type
	}
	wide := p.Type.WithDType(p.Type.DType.Acc())
	// Its path is given when those of the optimizer's own states are known.
	return value.Tensor{V: u.fb.Func.AddArg(wide, ir.RoleState, "", ir.A("init", p.Init, ir.AttrCopyOf, ir.Str(p.Path)), p.Pos)}, wide
}

// reads is whether an operation reads the value.
func reads(ops []*ir.Op, v *ir.Value) bool {
	return slices.ContainsFunc(ops, func(o *ir.Op) bool { return slices.Contains(o.Args, v) })
}

// dropArg removes the argument of a state that an update does not need, as the
// momentum of SGD without momentum.
func (u *updater) dropArg(v *ir.Value) {
	args := u.fb.Func.Args
	for i, a := range slices.Backward(args) { // it is one of the last
		if a.Value == v {
			u.fb.Func.Args = slices.Delete(args, i, i+1)
			return
		}
	}
}

type state struct {
	name string
	node syntax.Node
	typ  ir.Type
	arg  *ir.Value
}

// newStates declares the states of a parameter as arguments and variables.
// A state like the parameter is of type wide.
func (u *updater) newStates(g *eval.Frame, p *value.Param, wide ir.Type) ([]state, bool) {
	var out []state
	for _, m := range u.o.Decl.Members {
		x, ok := m.(*syntax.ParamDecl)
		if !ok {
			continue
		}
		t, ok := stateType(g, x.Type, wide)
		if !ok {
			return nil, false
		}
		for _, n := range x.Names {
			init, ok := g.Initial(n, x.Init)
			if !ok {
				return nil, false
			}
			v := u.fb.Func.AddArg(t, ir.RoleState, p.Path+"/"+n.Name, ir.A("init", init), x.At())
			g.Vars[n.Name] = value.Tensor{V: v}
			out = append(out, state{n.Name, n, t, v})
		}
	}
	return out, true
}

// stateType is `like param`, `f32 like param`, or a scalar's dtype.
func stateType(g *eval.Frame, t syntax.Type, p ir.Type) (ir.Type, bool) {
	switch t := t.(type) {
	case *syntax.LikeType:
		if t.Of.Name != "param" {
			g.Wants("E0201", t.Of, "`param`, the parameter that is updated", "", "a state like `%s`", t.Of.Name)
			return p, false
		}
		d, ok := g.DTypeOf(t.DType, p.DType)
		return p.WithDType(d), ok
	case *syntax.NamedType:
		if d, ok := ir.ParseDType(t.Name); ok {
			return ir.Scalar(d), true
		}
	}
	g.Wants("E0506", t, "`like param`, or a dtype for a scalar", "", "not the type of a state")
	return p, false
}

// averaging reads the option `average`: what an average keeps of itself in each step.
func (u *updater) averaging() bool {
	if u.o.average == nil {
		return true
	}
	v, ok := u.number("average", u.o.average.Value, 1, "a number between 0 and 1, such as 0.999", "omit `average` to keep no average")
	if ok {
		u.keep = v
	}
	return ok
}

// number reads an option that is a number between 0 and a limit.
func (u *updater) number(name string, x syntax.Expr, limit float64, want, hint string) (value.Value, bool) {
	v := u.f.Symbolic(x)
	c, ok := value.NumberOf(v)
	if !ok {
		u.f.NotA(x, v, "a number")
	} else if ok = u.f.Between(x, v, 0, limit); !ok {
		u.f.Wants("E0506", x, want, hint, "`%s` is %s", name, value.FormatNumber(c))
	}
	return v, ok
}

// averaged adds the exponential average of a parameter that now is next, a state that
// starts with the parameter's own numbers: a ← a + (1 − keep)·(w − a). Polyak, Juditsky,
// "Acceleration of stochastic approximation by averaging" (1992), with the weights of
// Tarvainen, Valpola, "Mean teachers are better role models" (2017), equation 1.
func (u *updater) averaged(p *value.Param, own []*ir.Arg, next *ir.Value) bool {
	if u.keep == nil {
		return true
	}
	site := u.o.average.Value
	u.f.Scope = "optimizer." + p.Path
	wide := next.Type
	path := ir.StatePath(ir.NamedOf(own), p.Path, "average")
	a := value.Tensor{V: u.fb.Func.AddArg(wide, ir.RoleState, path, ir.A("init", p.Init, ir.AttrCopyOf, ir.Str(p.Path)), p.Pos)}
	u.fb.Ops.Scope, u.fb.Ops.Pos = u.f.Scope, site.At()
	w := value.Tensor{V: next}
	keep, _ := value.NumberOf(u.keep)
	rest := u.f.Scalar(site, u.f.Formula(site, "-", value.Number{V: 1 - keep.V}, value.Whole(1), u.keep), wide.DType)
	v, ok := u.f.Emit(site, "add", nil, a, u.f.Emit(site, "mul", nil, rest, u.f.Emit(site, "sub", nil, w, a))).(value.Tensor)
	u.states = append(u.states, ir.Result{Value: v.V, Role: ir.RoleState, Path: path})
	return ok
}
