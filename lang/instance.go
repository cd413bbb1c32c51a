package lang

import (
	"math"
	"sort"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// instance is a module with its arguments, parameters and sub-modules.
type instance struct {
	decl *syntax.Module
	file *file
	path string // of the instance in the model; empty for the model itself
	args map[string]value
	// params are the parameters; subs the sub-modules, each an *instance or
	// instances; lets the constants.
	params map[string]*param
	subs   map[string]value
	lets   map[string]value
}

// member is a name inside the module.
func (i *instance) member(name string) (value, bool) {
	if v, ok := i.args[name]; ok {
		return v, true
	}
	if p, ok := i.params[name]; ok {
		return paramRef{p}, true
	}
	if v, ok := i.subs[name]; ok {
		return v, true
	}
	if v, ok := i.lets[name]; ok {
		return v, true
	}
	for _, m := range i.decl.Members {
		if d, ok := m.(*syntax.Fn); ok && d.Name.Name == name {
			return function{decl: d, file: i.file, inst: i}, true
		}
	}
	return nil, false
}

// names lists the members, sorted.
func (i *instance) names() []string {
	var out []string
	for _, p := range i.decl.Params {
		out = append(out, p.Name.Name)
	}
	for _, m := range i.decl.Members {
		switch m := m.(type) {
		case *syntax.ParamDecl:
			for _, n := range m.Names {
				out = append(out, n.Name)
			}
		case *syntax.SubModule:
			for _, n := range m.Names {
				out = append(out, n.Name)
			}
		case *syntax.Let:
			out = append(out, m.Name.Name)
		case *syntax.Fn:
			out = append(out, m.Name.Name)
		}
	}
	sort.Strings(out)
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// instantiate makes an instance of m at a path; args are evaluated in f.
func (f *frame) instantiate(m moduleRef, args []*syntax.Arg, site syntax.Node, path string) *instance {
	i := newInstance(m, path)
	g := f.child(site, m.decl.Name.Name, m.file, i)
	if f.l.modules++; f.l.modules > maxModules {
		f.l.stop(f, site, "more than %d modules", maxModules)
	}
	if !f.l.enter(f, site, g) || !f.pathFits(site, path) {
		return nil
	}
	if !f.bind(g, site, "`"+m.decl.Name.Name+"`", m.decl.Params, args, func(name string, v value) { i.args[name] = v }) {
		return nil
	}
	for _, x := range m.decl.Members {
		if f.l.stopped {
			return nil
		}
		switch x := x.(type) {
		case *syntax.ParamDecl:
			g.declareParams(i, x)
		case *syntax.SubModule:
			for _, n := range x.Names {
				i.subs[n.Name] = g.subModule(x.Value, join(path, n.Name))
			}
		case *syntax.Let:
			i.lets[x.Name.Name] = g.expr(x.Value)
		}
	}
	f.l.note(i)
	return i
}

// pathFits reports a path that is too long for a plan.
func (f *frame) pathFits(n syntax.Node, path string) bool {
	if len(path) <= maxPath {
		return true
	}
	f.wants("E0223", n, "at most "+strconv.Itoa(maxPath), "shorten the names of the modules on the way", "the path `%s` has %d bytes", clip(path), len(path))
	return false
}

func newInstance(m moduleRef, path string) *instance {
	return &instance{decl: m.decl, file: m.file, path: path, args: map[string]value{},
		params: map[string]*param{}, subs: map[string]value{}, lets: map[string]value{}}
}

// subModule is the right side of `name : Module(args)[count]`.
func (g *frame) subModule(x syntax.Expr, path string) value {
	if ix, ok := x.(*syntax.Index); ok {
		return g.repeated(ix, path)
	}
	m, args, ok := g.moduleExpr(x)
	if !ok {
		return unknown{}
	}
	if i := g.instantiate(m, args, x, path); i != nil {
		return i
	}
	return unknown{}
}

func (g *frame) repeated(x *syntax.Index, path string) value {
	m, args, ok := g.moduleExpr(x.X)
	if !ok {
		return unknown{}
	}
	if len(x.Args) != 1 || x.Args[0].Name != nil {
		return g.wants("E0206", x, "a number in brackets: how many", "", "a module repeated by %s", count(len(x.Args), "argument"))
	}
	c, ok := g.number(x.Args[0].Value)
	if !ok {
		return unknown{}
	}
	n, ok := c.int()
	if !ok || n < 1 || n > maxRepeat {
		return g.wants("E0216", x.Args[0], "a whole number from 1 to "+strconv.Itoa(maxRepeat), "", "a module repeated %s times", formatNumber(c))
	}
	list := make(instances, 0, n)
	for k := 0; k < n; k++ {
		i := g.instantiate(m, args, x.X, path+"."+strconv.Itoa(k))
		if i == nil {
			return unknown{}
		}
		list = append(list, i)
	}
	return list
}

// moduleExpr is `Module` or `Module(args)`.
func (g *frame) moduleExpr(x syntax.Expr) (moduleRef, []*syntax.Arg, bool) {
	var args []*syntax.Arg
	name := x
	if c, ok := x.(*syntax.Call); ok {
		name, args = c.Fun, c.Args
	}
	v := g.expr(name)
	m, ok := v.(moduleRef)
	switch {
	case !ok:
		if w, isWord := v.(word); isWord {
			names := g.moduleNames()
			g.wants("E0201", w.at, diag.OneOf(names), diag.DidYouMean(w.name, names), "unknown module `%s`", w.name)
		} else if !isUnknown(v) {
			g.wants("E0209", name, "a module", "", "found %s", v.what())
		}
		return m, nil, false
	case m.decl.Kind != "module":
		g.wants("E0221", name, "a module", "", "%s as part of a module", m.what())
		return m, nil, false
	}
	return m, args, true
}

func (g *frame) moduleNames() []string {
	var out []string
	for n, d := range g.file.modules {
		if d.Kind == "module" {
			out = append(out, n)
		}
	}
	for alias, h := range g.file.imports {
		for n, d := range h.modules {
			if d.Kind == "module" {
				out = append(out, alias+"."+n)
			}
		}
	}
	sort.Strings(out)
	return out
}

// declareParams makes the parameters of `param a, b : type ~ init`.
func (g *frame) declareParams(i *instance, x *syntax.ParamDecl) {
	if x.When != nil {
		if there, ok := g.condition(x.When); !ok || !there {
			for _, n := range x.Names {
				p := &param{path: join(i.path, n.Name), pos: n.At(), node: n, bad: !ok, absent: x.When}
				i.params[n.Name] = p
				g.l.absent = append(g.l.absent, p)
			}
			return
		}
	}
	t, ok := g.paramType(x.Type)
	for _, n := range x.Names {
		p := &param{path: join(i.path, n.Name), typ: t, pos: n.At(), node: n}
		i.params[n.Name] = p
		if x.Decay != nil {
			decays := x.Decay.Name == "decay"
			p.decay = &decays
		}
		if !ok {
			p.typ = ir.Type{}
		}
		if bad := tooLarge(t); bad != "" {
			g.errorf("E0216", n, "the parameter %s %s", t, bad)
			ok = false
		}
		ok = g.pathFits(n, p.path) && ok
		init, good := g.initial(n, x.Init)
		p.init = init
		if !ok || !good {
			p.bad = true
			continue
		}
		g.l.addParam(g, n, p)
	}
}

// paramType is the type of a parameter; its order of axes is that in memory.
func (g *frame) paramType(t syntax.Type) (ir.Type, bool) {
	var r ir.Type
	var ok bool
	switch t := t.(type) {
	case *syntax.TensorType:
		d, known := g.dtypeOf(t.DType, ir.F32)
		if r, ok = g.sized(t.Axes, d); !known {
			return r, false
		}
	case *syntax.NamedType:
		d, known := ir.ParseDType(t.Name)
		if !known {
			g.wants("E0208", t, "axes in brackets, or a dtype for a scalar", diag.DidYouMean(t.Name, dtypeNames), "unknown type `%s`", t.Name)
			return r, false
		}
		r, ok = ir.Scalar(d), true
	default:
		g.wants("E0208", t, "axes in brackets", "", "not the type of a parameter")
	}
	if ok && !r.DType.IsFloat() {
		g.wants("E0207", t, "a float dtype", "", "a parameter of %s cannot be trained", r.DType)
		return r, false
	}
	return r, ok
}

// initializers are the ways in which a parameter can start, with their
// arguments and defaults.
var initializers = []struct {
	name string
	args []string
	def  []float64 // NaN-free; required where missing
}{
	{"constant", []string{"value"}, nil},
	{"normal", []string{"std", "mean"}, []float64{1, 0}},
	{"ones", nil, nil},
	{"uniform", []string{"low", "high"}, []float64{-1, 1}},
	{"zeros", nil, nil},
}

// initial reads `~ normal(std = 0.02)`.
func (g *frame) initial(n syntax.Node, x syntax.Expr) (ir.Term, bool) {
	if x == nil {
		g.wants("E0220", n, "`~ zeros`, `~ normal(std = 0.02)` or the like", "", "nothing says how this starts")
		return ir.Term{}, false
	}
	name, args := x, []*syntax.Arg(nil)
	if c, ok := x.(*syntax.Call); ok {
		name, args = c.Fun, c.Args
	}
	var names []string
	if id, ok := name.(*syntax.Name); ok {
		for _, k := range initializers {
			if k.name == id.Name {
				return g.initTerm(x, k.name, k.args, k.def, args)
			}
			names = append(names, k.name)
		}
		if v, isWord := g.lookup(id, id.Name).(word); isWord {
			g.wants("E0220", v.at, diag.OneOf(names), diag.DidYouMean(v.name, names), "unknown initial values `%s`", v.name)
			return ir.Term{}, false
		}
	}
	if c, ok := g.number(x); ok {
		t := ir.Term{Head: "constant", Args: ir.A("value", ir.Float(c.v))}
		return t, g.checkInitial(x, t)
	}
	return ir.Term{}, false
}

func (g *frame) initTerm(site syntax.Node, name string, params []string, def []float64, args []*syntax.Arg) (ir.Term, bool) {
	formals := make([]formal, len(params))
	for i, p := range params {
		formals[i] = formal{name: p, required: def == nil}
	}
	m, ok := g.match(site, "`"+name+"`", formals, args, 0, -1, false)
	if !ok {
		return ir.Term{}, false
	}
	t := ir.Term{Head: name}
	for i, p := range params {
		var c number
		if m.args[i] == nil {
			c.v = def[i]
		} else if c, ok = g.number(m.args[i].Value); !ok {
			return t, false
		}
		t.Args = t.Args.With(p, ir.Float(c.v))
	}
	return t, g.checkInitial(site, t)
}

// checkInitial reports distributions that there are not. A constant may be
// infinite: it is where a running minimum starts.
func (g *frame) checkInitial(site syntax.Node, t ir.Term) bool {
	for _, a := range t.Args {
		switch v := t.Args.Float(a.Key, 0); {
		case math.IsNaN(v):
			g.errorf("E0220", site, "`%s` is not a number", a.Key)
			return false
		case math.IsInf(v, 0) && t.Head != "constant":
			g.errorf("E0220", site, "`%s` is infinite", a.Key)
			return false
		}
	}
	switch {
	case t.Args.Float("std", 0) < 0:
		g.errorf("E0220", site, "a negative standard deviation")
		return false
	case t.Args.Float("low", 0) > t.Args.Float("high", 0):
		g.errorf("E0220", site, "`low` is above `high`")
		return false
	case math.IsInf(t.Args.Float("high", 0)-t.Args.Float("low", 0), 0):
		g.errorf("E0220", site, "the range from `low` to `high` is infinite")
		return false
	}
	return true
}
