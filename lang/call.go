package lang

import (
	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// formal is a parameter of something that is called.
type formal struct {
	name     string
	axis     bool // takes names of axes
	required bool
}

// call is `fun(args)`.
func (f *frame) call(x *syntax.Call) value {
	var fun value
	if n, ok := x.Fun.(*syntax.Name); ok {
		fun = f.callable(n, n.Name)
	} else {
		fun = f.expr(x.Fun)
	}
	switch fun := fun.(type) {
	case unknown:
		return fun // what its arguments may read is not known: an optimizer's may read the step
	case word:
		return f.undefined(fun)
	case primitive:
		if fun.name == "index" && fun.recv == nil {
			if v, ok := f.callIndex(x); ok {
				return v
			}
		}
		return f.callBuiltin(x, fun)
	case function:
		return f.callFn(x, fun, x.Args, nil)
	case *instance:
		if v, ok := fun.member("apply"); ok {
			if fn, ok := v.(function); ok {
				r := f.callFn(x, fn, x.Args, nil)
				f.in.boundary(fun, r)
				return r
			}
		}
		return f.wants("E0209", x.Fun, "", "declare `fn apply(…)` in it", "%s has no function `apply`", fun.what())
	case moduleRef:
		if fun.decl.Kind == "optimizer" {
			return optimizerRef{moduleRef: fun, args: x.Args, at: x}
		}
		return f.wants("E0221", x, "a member of a module: `name : "+fun.decl.Name.Name+"(…)`", "", "%s is instantiated inside of an expression", fun.what())
	default:
		return f.errorf("E0209", x.Fun, "%s is not a function", fun.what())
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
func (f *frame) match(site syntax.Node, who string, formals []formal, args []*syntax.Arg, skip, rest int, extra bool) (matched, bool) {
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
				f.wants("E0206", a, count(len(formals), "argument"), "", "too many arguments for %s", who)
				return m, false
			}
			continue
		}
		i := formalIndex(formals, a.Name.Name)
		switch {
		case i < 0 && extra:
			m.extra = append(m.extra, a)
		case i < 0:
			names := append(formalNames(formals), f.common...)
			f.wants("E0206", a.Name, diag.OneOf(names), diag.DidYouMean(a.Name.Name, names), "%s has no parameter `%s`", who, a.Name.Name)
			ok = false
		case m.args[i] != nil || i < skip:
			f.errorf("E0206", a.Name, "`%s` is given twice", a.Name.Name)
			ok = false
		default:
			m.args[i] = a
		}
	}
	for i, p := range formals {
		if i >= skip && m.args[i] == nil && p.required {
			f.wants("E0206", site, "", "", "%s needs `%s`", who, p.name)
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

func formalNames(fs []formal) []string {
	var out []string
	for _, p := range fs {
		out = append(out, p.name)
	}
	return out
}

// formalsOf are the formals of declared parameters.
func formalsOf(ps []*syntax.Param) []formal {
	out := make([]formal, len(ps))
	for i, p := range ps {
		t, named := p.Type.(*syntax.NamedType)
		out[i] = formal{p.Name.Name, named && t.Name == "axis", p.Default == nil}
	}
	return out
}

// bind evaluates arguments for declared parameters, in f, and defaults, in
// the callee, where they see the parameters before them.
func (f *frame) bind(callee *frame, site syntax.Node, who string, ps []*syntax.Param, args []*syntax.Arg, set func(string, value)) bool {
	m, ok := f.match(site, who, formalsOf(ps), args, 0, -1, false)
	if !ok {
		for _, a := range args { // still look for mistakes inside
			f.expr(a.Value)
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
func (f *frame) argument(callee *frame, p *syntax.Param, x syntax.Expr) value {
	return f.typed(callee, p.Name.Name, p.Type, x)
}

// typed evaluates x, in f, for a variable of callee, and checks its type, if it
// has one: names of axes are taken as they stand.
func (f *frame) typed(callee *frame, name string, typ syntax.Type, x syntax.Expr) value {
	if t, ok := typ.(*syntax.NamedType); ok && t.Name == "axis" {
		names, ok := f.axes(x)
		if !ok {
			return unknown{}
		}
		v := make(tuple, len(names))
		for i, n := range names {
			v[i] = word{n, x}
		}
		if len(v) == 1 {
			return v[0]
		}
		return v
	}
	v := f.expr(x)
	if t, ok := v.(tensor); ok {
		callee.saw(t.v.Type)
	}
	if typ != nil && !callee.hasType(f, x, name, v, typ) {
		return unknown{}
	}
	return v
}

// callFn inlines a declared function; vars are set before its body runs.
func (f *frame) callFn(site *syntax.Call, fn function, args []*syntax.Arg, vars map[string]value) value {
	g := f.child(site, fn.decl.Name.Name, fn.file, fn.inst)
	if !f.in.enter(f, site, g) {
		return unknown{}
	}
	for k, v := range vars {
		g.vars[k] = v
	}
	who := "`" + fn.decl.Name.Name + "`"
	if !f.bind(g, site, who, fn.decl.Params, args, func(name string, v value) { g.vars[name] = v }) {
		return unknown{}
	}
	return f.finish(g, site, fn.decl)
}

// finish runs the body of a function in its frame and checks the result.
func (f *frame) finish(g *frame, site syntax.Node, fn *syntax.Fn) value {
	g.block(fn.Body)
	switch {
	case g.in.stopped:
		return unknown{}
	case g.result == nil:
		f.report(&diag.Error{Code: "E0217", Pos: fn.Name.At(), Len: fn.Name.Len(), Msg: "`" + fn.Name.Name + "` ends without a `return`"})
		return unknown{}
	}
	if t, ok := g.result.(tensor); ok {
		f.saw(t.v.Type)
	}
	if fn.Result != nil && !g.hasType(g, returned(fn), "the result of `"+fn.Name.Name+"`", g.result, fn.Result) {
		return unknown{}
	}
	return g.result
}

// returned is where a mistake in a function's result is shown: its last
// return, or its name.
func returned(fn *syntax.Fn) syntax.Node {
	var at syntax.Node = fn.Name
	for _, s := range fn.Body.Stmts {
		if r, ok := s.(*syntax.Return); ok {
			at = r.Values[0]
		}
	}
	return at
}
