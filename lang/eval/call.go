package eval

import (
	"ptc/internal/diag"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// formal is a parameter of something that is called.
type formal struct {
	name     string
	axis     bool // takes names of axes
	required bool
}

// call is `fun(args)`.
func (f *Frame) call(x *syntax.Call) value.Value {
	var fun value.Value
	if n, ok := x.Fun.(*syntax.Name); ok {
		fun = f.callable(n, n.Name)
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
				f.Interp.boundary(fun, r)
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

// matched are the arguments of a call in the order of the formals; absent ones
// are nil. rest are further positional ones, extra further named ones.
type matched struct {
	args  []*syntax.Arg
	rest  []*syntax.Arg
	extra []*syntax.Arg
}

// match assigns arguments to formals. skip formals are already taken, by a
// receiver; rest and extra are as in [builtin]. Mistakes are reported.
func (f *Frame) match(site syntax.Node, who string, formals []formal, args []*syntax.Arg, skip, rest int, extra bool) (matched, bool) {
	m := matched{args: make([]*syntax.Arg, len(formals))}
	next, ok, positional := skip, true, len(formals)
	if rest >= 0 {
		positional = rest
	}
	for _, a := range args {
		if a.Name == nil {
			switch {
			case next < positional:
				m.args[next] = a
				next++
			case rest >= 0:
				m.rest = append(m.rest, a)
			default:
				f.Wants("E0206", a, value.Count(len(formals), "argument"), "", "too many arguments for %s", who)
				return m, false
			}
			continue
		}
		i := formalIndex(formals, a.Name.Name)
		switch {
		case i < 0 && extra:
			m.extra = append(m.extra, a)
		case i < 0:
			names := append(FormalNames(formals), f.Common...)
			f.Wants("E0206", a.Name, diag.OneOf(names), diag.DidYouMean(a.Name.Name, names), "%s has no parameter `%s`", who, a.Name.Name)
			ok = false
		case m.args[i] != nil || i < skip:
			f.Errorf("E0206", a.Name, "`%s` is given twice", a.Name.Name)
			ok = false
		default:
			m.args[i] = a
		}
	}
	for i, p := range formals {
		if i >= skip && m.args[i] == nil && p.required {
			f.Wants("E0206", site, "", "", "%s needs `%s`", who, p.name)
			ok = false
		}
	}
	return m, ok
}

func formalIndex(fs []formal, name string) int {
	for i, p := range fs {
		if p.name == name {
			return i
		}
	}
	return -1
}

func FormalNames(fs []formal) []string {
	var out []string
	for _, p := range fs {
		out = append(out, p.name)
	}
	return out
}

// FormalsOf are the formals of declared parameters.
func FormalsOf(ps []*syntax.Param) []formal {
	out := make([]formal, len(ps))
	for i, p := range ps {
		t, named := p.Type.(*syntax.NamedType)
		out[i] = formal{p.Name.Name, named && t.Name == "axis", p.Default == nil}
	}
	return out
}

// Bind evaluates arguments for declared parameters, in f, and defaults, in
// the callee, where they see the parameters before them.
func (f *Frame) Bind(callee *Frame, site syntax.Node, who string, ps []*syntax.Param, args []*syntax.Arg, set func(string, value.Value)) bool {
	m, ok := f.match(site, who, FormalsOf(ps), args, 0, -1, false)
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
		set(p.Name.Name, from.argument(callee, p, x))
	}
	return true
}

// argument evaluates x, in f, for parameter p of callee, and checks its type.
func (f *Frame) argument(callee *Frame, p *syntax.Param, x syntax.Expr) value.Value {
	return f.typed(callee, p.Name.Name, p.Type, x)
}

// typed evaluates x, in f, for a variable of callee, and checks its type, if it
// has one: names of axes are taken as they stand.
func (f *Frame) typed(callee *Frame, name string, typ syntax.Type, x syntax.Expr) value.Value {
	if t, ok := typ.(*syntax.NamedType); ok && t.Name == "axis" {
		names, ok := f.Axes(x)
		if !ok {
			return value.Unknown{}
		}
		v := make(value.Tuple, len(names))
		for i, n := range names {
			v[i] = value.Word{Name: n, At: x}
		}
		if len(v) == 1 {
			return v[0]
		}
		return v
	}
	v := f.Expr(x)
	if t, ok := v.(value.Tensor); ok {
		callee.Saw(t.V.Type)
	}
	if typ != nil && !callee.hasType(f, x, name, v, typ) {
		return value.Unknown{}
	}
	return v
}

// callFn inlines a declared function; vars are set before its body runs.
func (f *Frame) callFn(site *syntax.Call, fn value.Function, args []*syntax.Arg, vars map[string]value.Value) value.Value {
	g := f.Child(site, fn.Decl.Name.Name, fn.File, fn.Inst)
	if !f.Interp.enter(f, site, g) {
		return value.Unknown{}
	}
	for k, v := range vars {
		g.Vars[k] = v
	}
	who := "`" + fn.Decl.Name.Name + "`"
	if !f.Bind(g, site, who, fn.Decl.Params, args, func(name string, v value.Value) { g.Vars[name] = v }) {
		return value.Unknown{}
	}
	return f.Finish(g, site, fn.Decl)
}

// Finish runs the body of a function in its frame and checks the result.
func (f *Frame) Finish(g *Frame, site syntax.Node, fn *syntax.Fn) value.Value {
	g.block(fn.Body)
	switch {
	case g.Interp.Stopped:
		return value.Unknown{}
	case g.result == nil:
		f.Report(&diag.Error{Code: "E0217", Pos: fn.Name.At(), Len: fn.Name.Len(), Msg: "`" + fn.Name.Name + "` ends without a `return`"})
		return value.Unknown{}
	}
	if t, ok := g.result.(value.Tensor); ok {
		f.Saw(t.V.Type)
	}
	if fn.Result != nil && !g.hasType(g, Returned(fn), "the result of `"+fn.Name.Name+"`", g.result, fn.Result) {
		return value.Unknown{}
	}
	return g.result
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
