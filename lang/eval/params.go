package eval

import (
	"math"
	"strconv"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// declareParams makes the parameters of `param a, b : type ~ init`.
func (g *Frame) declareParams(i *value.Instance, x *syntax.ParamDecl) {
	if x.When != nil {
		if there, ok := g.condition(x.When); !ok || !there {
			for _, n := range x.Names {
				p := &value.Param{Path: value.Join(i.Path, n.Name), Pos: n.At(), Node: n, Bad: !ok, Absent: x.When}
				i.Params[n.Name] = p
				g.Interp.Model.absent = append(g.Interp.Model.absent, p)
			}
			return
		}
	}
	t, ok := g.paramType(x.Type)
	for _, n := range x.Names {
		p := &value.Param{Path: value.Join(i.Path, n.Name), Type: t, Pos: n.At(), Node: n}
		i.Params[n.Name] = p
		if x.Decay != nil {
			decays := x.Decay.Name == "decay"
			p.Decay = &decays
		}
		if !ok {
			p.Type = ir.Type{}
		}
		if bad := TooLarge(t); bad != "" {
			g.Errorf("E0216", n, "the parameter %s %s", t, bad)
			ok = false
		}
		ok = g.pathFits(n, p.Path) && ok
		init, good := g.Initial(n, x.Init)
		p.Init = init
		if !ok || !good {
			p.Bad = true
			continue
		}
		g.addParam(n, p)
		g.adapt(p)
		g.watch(n, value.ParamRef{Param: p}, nil)
	}
}

// paramType is the type of a parameter; its order of axes is that in memory.
func (g *Frame) paramType(t syntax.Type) (ir.Type, bool) {
	var r ir.Type
	var ok bool
	switch t := t.(type) {
	case *syntax.TensorType:
		d, known := g.DTypeOf(t.DType, ir.F32)
		if r, ok = g.sized(t.Axes, d); !known {
			return r, false
		}
	case *syntax.NamedType:
		d, known := ir.ParseDType(t.Name)
		if !known {
			g.Wants("E0208", t, "axes in brackets, or a dtype for a scalar", diag.DidYouMean(t.Name, dtypeNames), "unknown type `%s`", t.Name)
			return r, false
		}
		r, ok = ir.Scalar(d), true
	default:
		g.Wants("E0208", t, "axes in brackets", "", "not the type of a parameter")
	}
	if ok && !r.DType.IsFloat() {
		g.Wants("E0207", t, "a float dtype", "", "a parameter of %s cannot be trained", r.DType)
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
	doc  string
}{
	{"constant", []string{"value"}, nil, "Each element is `value` before the first step."},
	{"normal", []string{"std", "mean"}, []float64{1, 0}, "Normal numbers before the first step, by the seed; `std` is 1 and `mean` 0 where they are not given."},
	{"ones", nil, nil, "Each element is 1 before the first step."},
	{"uniform", []string{"low", "high"}, []float64{-1, 1}, "Uniform numbers from `low` to `high`, -1 and 1 where they are not given, before the first step, by the seed."},
	{"zeros", nil, nil, "Each element is 0 before the first step."},
}

// Initializers are their names with their arguments, for tools that complete text.
func Initializers() (out []Signature) {
	for _, k := range initializers {
		out = append(out, Signature{Name: k.name, Params: k.args, Names: k.args, Doc: k.doc})
	}
	return out
}

// Initial reads `~ normal(std = 0.02)`.
func (g *Frame) Initial(n syntax.Node, x syntax.Expr) (ir.Term, bool) {
	if x == nil {
		g.Wants("E0220", n, "`~ zeros`, `~ normal(std = 0.02)` or the like", "", "the parameter has no initial values")
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
		if v, isWord := g.Lookup(id, id.Name).(value.Word); isWord {
			g.Wants("E0220", v.At, diag.OneOf(names), diag.DidYouMean(v.Name, names), "unknown initial values `%s`", v.Name)
			return ir.Term{}, false
		}
	}
	if c, ok := g.Number(x); ok {
		t := ir.Term{Head: "constant", Args: ir.A("value", ir.Float(c.V))}
		return t, g.checkInitial(x, t)
	}
	return ir.Term{}, false
}

func (g *Frame) initTerm(site syntax.Node, name string, params []string, def []float64, args []*syntax.Arg) (ir.Term, bool) {
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
		var c value.Number
		if m.args[i] == nil {
			c.V = def[i]
		} else if c, ok = g.Number(m.args[i].Value); !ok {
			return t, false
		}
		t.Args = t.Args.With(p, ir.Float(c.V))
	}
	return t, g.checkInitial(site, t)
}

// checkInitial reports distributions that there are not. A constant may be
// infinite: it is where a running minimum starts.
func (g *Frame) checkInitial(site syntax.Node, t ir.Term) bool {
	for _, a := range t.Args {
		switch v := t.Args.Float(a.Key, 0); {
		case math.IsNaN(v):
			g.Errorf("E0220", site, "`%s` is not a number", a.Key)
			return false
		case math.IsInf(v, 0) && t.Head != "constant":
			g.Errorf("E0220", site, "`%s` is infinite", a.Key)
			return false
		}
	}
	switch {
	case t.Args.Float("std", 0) < 0:
		g.Errorf("E0220", site, "a negative standard deviation")
		return false
	case t.Args.Float("low", 0) > t.Args.Float("high", 0):
		g.Errorf("E0220", site, "`low` is above `high`")
		return false
	case math.IsInf(t.Args.Float("high", 0)-t.Args.Float("low", 0), 0):
		g.Errorf("E0220", site, "the range from `low` to `high` is infinite")
		return false
	}
	return true
}

// pathFits reports a path that is too long for a plan.
func (f *Frame) pathFits(n syntax.Node, path string) bool {
	if len(path) <= source.MaxPath {
		return true
	}
	f.Wants("E0223", n, "at most "+strconv.Itoa(source.MaxPath), "shorten the names of the modules on the way", "the path `%s` has %d bytes", value.Clip(path), len(path))
	return false
}
