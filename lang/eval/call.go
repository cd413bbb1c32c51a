package eval

import (
	"maps"

	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// call is `fun(args)`.
func (f *Frame) call(x *syntax.Call) value.Value {
	var fun value.Value
	if n, ok := x.Fun.(*syntax.Name); ok {
		fun = f.callable(n, n.Name)
		f.watch(n, fun, nil)
	} else {
		fun = f.Expr(x.Fun)
	}
	switch fun := fun.(type) {
	case value.Unknown:
		return fun // what its arguments may read is not known: an optimizer's may read the step
	case value.Word:
		return f.Undefined(fun)
	case Primitive:
		if fun.Name == "index" && fun.recv == nil {
			if v, ok := f.callIndex(x); ok {
				return v
			}
		}
		return f.callBuiltin(x, fun)
	case value.Function:
		return f.callFn(x, fun, x.Args, nil)
	case *value.Instance:
		if v, ok := fun.Member("apply"); ok {
			if fn, ok := v.(value.Function); ok {
				r := f.callFn(x, fn, x.Args, nil)
				if fb := f.Interp.Builder; fb != nil && fb.Training {
					f.Interp.Model.boundary(fun, r)
				}
				return r
			}
		}
		return f.Wants("E0209", x.Fun, "", "declare `fn apply(…)` in it", "%s has no function `apply`", fun.What())
	case value.ModuleRef:
		if fun.Decl.Kind == "optimizer" {
			return value.OptimizerRef{ModuleRef: fun, Args: x.Args, At: x}
		}
		return f.Wants("E0221", x, "a member of a module: `name : "+fun.Decl.Name.Name+"(…)`", "", "%s is instantiated inside of an expression", fun.What())
	default:
		return f.Errorf("E0209", x.Fun, "%s is not a function", fun.What())
	}
}

// Bind evaluates arguments for declared parameters, in f, and defaults, in
// the callee, where they see the parameters before them.
func (f *Frame) Bind(callee *Frame, site syntax.Node, who string, ps []*syntax.Param, args []*syntax.Arg, set func(string, value.Value)) bool {
	m, ok := f.match(site, who, formalsOf(ps), args, 0, -1, false)
	if !ok {
		for _, a := range args { // still look for mistakes inside
			f.Expr(a.Value)
		}
		return false
	}
	for i, p := range ps {
		from, x := f, syntax.Expr(nil)
		if m.args[i] != nil {
			x = m.args[i].Value
		} else {
			from, x = callee, p.Default
		}
		v := from.argument(callee, p, x)
		callee.watch(p.Name, v, nil)
		set(p.Name.Name, v)
	}
	return true
}

// argument evaluates x, in f, for parameter p of callee, and checks its type.
func (f *Frame) argument(callee *Frame, p *syntax.Param, x syntax.Expr) value.Value {
	return f.typed(callee, p.Name.Name, p.Type, x)
}

// callFn inlines a declared function; vars are set before its body runs.
func (f *Frame) callFn(site *syntax.Call, fn value.Function, args []*syntax.Arg, vars map[string]value.Value) value.Value {
	g := f.Child(site, fn.Decl.Name.Name, fn.File, fn.Inst)
	if !f.Interp.enter(f, site, g) {
		return value.Unknown{}
	}
	maps.Copy(g.Vars, vars)
	who := "`" + fn.Decl.Name.Name + "`"
	if !f.Bind(g, site, who, fn.Decl.Params, args, func(name string, v value.Value) { g.Vars[name] = v }) {
		return value.Unknown{}
	}
	fb := f.Interp.Builder
	if fb == nil || fn.Inst == nil || fn.Inst != f.Interp.Model.Root {
		return f.Finish(g, site, fn.Decl)
	}
	if v := fb.made(fn.Decl, g.Vars); v != nil {
		return v
	}
	from := maps.Clone(g.Vars)
	v := f.Finish(g, site, fn.Decl)
	fb.make(fn.Decl, from, v)
	return v
}

// Finish runs the body of a function in its frame and checks the result.
func (f *Frame) Finish(g *Frame, site syntax.Node, fn *syntax.Fn) value.Value {
	r, _ := g.block(fn.Body)
	switch {
	case g.Interp.Stopped:
		return value.Unknown{}
	case r == nil:
		f.Report(&diag.Error{Code: "E0217", Pos: fn.Name.At(), Len: fn.Name.Len(), Msg: "`" + fn.Name.Name + "` ends without a `return`"})
		return value.Unknown{}
	}
	g.watch(fn.Name, r, nil)
	if t, ok := r.(value.Tensor); ok {
		f.Saw(t.V.Type)
	}
	if fn.Result != nil && !(typeCheck{g, g, Returned(fn), "the result of `" + fn.Name.Name + "`"}).has(r, fn.Result) {
		return value.Unknown{}
	}
	return r
}

// Returned is where a mistake in a function's result is shown: its last
// return, or its name.
func Returned(fn *syntax.Fn) syntax.Node {
	var at syntax.Node = fn.Name
	for _, s := range fn.Body.Stmts {
		if r, ok := s.(*syntax.Return); ok {
			at = r.Values[0]
		}
	}
	return at
}
