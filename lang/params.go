package lang

import (
	"math"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// declareParams makes the parameters of `param a, b : type ~ init`.
func (g *frame) declareParams(i *instance, x *syntax.ParamDecl) {
	if x.When != nil {
		if there, ok := g.condition(x.When); !ok || !there {
			for _, n := range x.Names {
				p := &param{path: join(i.path, n.Name), pos: n.At(), node: n, bad: !ok, absent: x.When}
				i.params[n.Name] = p
				g.in.absent = append(g.in.absent, p)
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
		g.in.addParam(g, n, p)
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
