package precision

import (
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/internal/openpath"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
)

// products finds the contractions whose operands are floats of eight bits: linear products
// of the modules that a rule names, and what autodiff made of them.
type products struct {
	f        *ir.Func
	plan     *plan
	patterns []string // of paths of modules; none: all, but the first product and the last
	forward  map[*ir.Value]bool
	weights  map[*ir.Value]bool // computed from parameters alone
	of       map[*ir.Op]bool
}

// place is where a product was written and the module that it is in, which its gradients
// keep.
type place struct {
	scope string
	pos   diag.Pos
}

func findProducts(f *ir.Func, p *plan, l *layout.Layout, rule layout.Precision) *products {
	x := &products{f: f, plan: p, patterns: l.Patterns(rule.On), of: map[*ir.Op]bool{}}
	if rule.Products == "" {
		return x
	}
	x.forward, x.weights = ancestors(f), ofParameters(f)
	chosen := map[place]bool{}
	for _, o := range f.Ops {
		if x.linear(o) && x.named(o) {
			chosen[place{o.Scope, o.Pos}] = true
		}
	}
	for _, o := range f.Ops {
		if p.inside[o] && op.Of(o).Class == op.Contraction && chosen[place{o.Scope, o.Pos}] {
			x.of[o] = !x.forward[o.Result()] && (p.grad[o.Result()] || x.ofWeights(o)) || x.linear(o)
		}
	}
	return x
}

// linear: a product of the forward phase of what parameters and data make with parameters,
// of whose result more than statistics is read: not the scores by which experts are chosen.
func (x *products) linear(o *ir.Op) bool {
	v := o.Results[0]
	return x.plan.inside[o] && op.Of(o).Class == op.Contraction && x.forward[v] && x.ofWeights(o) && !x.weights[v] && !x.plan.leavesWide(o)
}

func (x *products) ofWeights(o *ir.Op) bool { return x.weights[o.Args[0]] || x.weights[o.Args[1]] }

// named says whether the rule names the module of o. Where it names none, it is of all
// products that have one before them and one after them, as practice leaves the first
// and the last as they are (Micikevicius et al., section 4; the recipes of Transformer
// Engine and torchao).
func (x *products) named(o *ir.Op) bool {
	if len(x.patterns) == 0 {
		return x.between(o)
	}
	at := strings.Split(ir.OfInstance(o.Scope, 0), ".") // rules are of all instances of a stack, or of none
	for n := 1; n <= len(at); n++ {
		if slices.ContainsFunc(x.patterns, func(p string) bool { return openpath.Match(strings.Split(p, "."), at[:n]) }) {
			return true
		}
	}
	return false
}

// between: parameters have a say in what o multiplies by parameters, and another product
// with parameters reads what becomes of its result.
func (x *products) between(o *ir.Op) bool {
	activation := o.Args[0]
	if x.weights[activation] {
		activation = o.Args[1]
	}
	return x.before(activation) && x.after(o.Result(), map[*ir.Value]bool{})
}

// before says whether v depends on a parameter.
func (x *products) before(v *ir.Value) bool {
	params, seen := map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for _, a := range x.f.Args {
		params[a.Value] = a.Role == ir.RoleParam
	}
	var depends func(v *ir.Value) bool
	depends = func(v *ir.Value) bool {
		if v.Def == nil || seen[v] {
			return params[v]
		}
		seen[v] = true
		return slices.ContainsFunc(v.Def.Args, depends) || v.Def.Name == op.Enter && depends(x.plan.next[v])
	}
	return depends(v)
}

// after says whether a product of the forward phase with parameters reads what becomes of
// v.
func (x *products) after(v *ir.Value, seen map[*ir.Value]bool) bool {
	if seen[v] {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(x.plan.readers[v], func(o *ir.Op) bool {
		return slices.ContainsFunc(o.Results, func(r *ir.Value) bool {
			return x.forward[r] && (op.Of(o).Class == op.Contraction && x.ofWeights(o) || x.after(r, seen))
		})
	})
}

// format is the dtype of an operand: with more digits for what the forward phase computes,
// with more range for gradients (Micikevicius et al., section 3).
func (x *products) format(v *ir.Value) ir.DType {
	if v.Def == nil || x.forward[v] || x.weights[v] {
		return ir.F8E4M3
	}
	return ir.F8E5M2
}

// ancestors are what the loss depends on. Without a loss, all is of the forward phase.
func ancestors(f *ir.Func) map[*ir.Value]bool {
	in, out := map[*ir.Value]bool{}, next(f)
	var mark func(v *ir.Value)
	mark = func(v *ir.Value) {
		if v == nil || in[v] {
			return
		}
		in[v] = true
		if v.Def != nil {
			for _, a := range v.Def.Args {
				mark(a)
			}
			if v.Def.Name == op.Enter {
				mark(out[v])
			}
		}
	}
	loss := false
	for _, r := range f.Results {
		loss = loss || r.Role == ir.RoleLoss
	}
	for _, r := range f.Results {
		if r.Role == ir.RoleLoss || !loss {
			mark(r.Value)
		}
	}
	return in
}

// ofParameters are parameters and what is computed from them, elementwise or by moving
// them.
func ofParameters(f *ir.Func) map[*ir.Value]bool {
	of := map[*ir.Value]bool{}
	for _, a := range f.Args {
		of[a.Value] = a.Role == ir.RoleParam
	}
	for _, o := range f.Ops {
		c := op.Of(o).Class
		if c != op.Elementwise && c != op.Movement || len(o.Args) == 0 {
			continue
		}
		all := !slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return !of[a] && a.Type.Rank() > 0 })
		for _, v := range o.Results {
			of[v] = all && slices.ContainsFunc(o.Args, func(a *ir.Value) bool { return of[a] })
		}
	}
	return of
}
