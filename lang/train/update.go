package train

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// update emits all that follows the loss: gradients, their norm, clipping, and
// the optimizer for every parameter. Results are placed in their order.
func (l *Lowerer) update(fb *eval.Builder, o *optimizer, t *Block, loss *ir.Value) {
	l.Builder = fb
	defer func() { l.Builder = nil }()
	for _, p := range l.Params {
		if fb.Values[p] != nil {
			fb.Order = append(fb.Order, p)
		}
	}
	f := l.Frame()
	f.Scope = "optimizer"
	if len(fb.Order) == 0 {
		if len(l.Errs.List) > 0 {
			return // what is wrong already may be why
		}
		f.Errorf("E0505", t.entries["loss"].Value, "the loss reads no parameter, so there is nothing to train")
		return
	}
	site := t.entries["loss"].Value
	trained := l.trained(f, fb, t)
	if len(trained) == 0 {
		return
	}
	if path := o.differs(trained); path != "" {
		l.Irregularly(path)
		return
	}
	written := slices.DeleteFunc(slices.Clone(trained), func(p *value.Param) bool { return p.Like != nil })
	args := []*ir.Value{loss}
	for _, p := range written {
		args = append(args, fb.Values[p])
	}
	l.warnUnreached(fb, loss, trained)
	fb.Ops.Scope, fb.Ops.Pos = "grad", site.At()
	grads, err := fb.Ops.TryEmit("grad", args, nil)
	if err != nil {
		f.ShapeError(site, nil, err)
		return
	}
	u := &updater{l: l, fb: fb, o: o, f: f}
	if !u.prepare(trained, grads) {
		return
	}
	results := []ir.Result{{Value: loss, Role: ir.RoleLoss}, {Value: u.norm, Role: ir.RoleStat, Path: "grad_norm"}}
	if u.lr != nil {
		results = append(results, ir.Result{Value: u.lr, Role: ir.RoleStat, Path: "lr"})
	}
	for i, p := range written {
		results = append(results, ir.Result{Value: grads[i], Role: ir.RoleGrad, Path: p.Path})
	}
	done := l.each(trained, func(i int, p *value.Param) bool {
		w, ok := u.one(p, grads[i])
		results = append(results, ir.Result{Value: w, Role: ir.RoleParam, Path: p.Path})
		return ok
	})
	if !done {
		return
	}
	fb.Func.Results = append(results, u.states...)
	l.remarkDecay(u, trained)
}

// each calls do for the parameters that are written, with their numbers, as long as it
// is true. What it does for one counts as done for those that are omitted and like it.
func (l *Lowerer) each(ps []*value.Param, do func(i int, p *value.Param) bool) bool {
	work := map[*value.Param]eval.Work{}
	for _, p := range ps {
		if p.Like != nil {
			l.Omit(p.Path, work[p.Like], 1)
			continue
		}
		before := l.Work()
		if !do(len(work), p) {
			return false
		}
		work[p] = l.Work().Since(before)
	}
	return true
}

// updater runs the optimizer's update for one parameter after another.
type updater struct {
	l      *Lowerer
	fb     *eval.Builder
	o      *optimizer
	f      *eval.Frame
	inst   *value.Instance // arguments and lets, the same for all parameters
	norm   *ir.Value       // of all gradients together, before clipping
	lr     *ir.Value       // nil where the optimizer has none
	scale  *ir.Value       // of the gradients; nil without clipping
	states []ir.Result
}

// prepare emits what is computed once in a step.
func (u *updater) prepare(trained []*value.Param, grads []*ir.Value) bool {
	b := &u.fb.Ops
	b.Scope, b.Pos = "optimizer.norm", u.o.entry.At()
	var sum *ir.Value
	u.l.each(trained, func(i int, _ *value.Param) bool {
		g := b.Cast(grads[i], ir.F32)
		s := b.Sum(b.Mul(g, g), g.Type.Names()...)
		if sum == nil {
			sum = s
		} else {
			sum = b.Add(sum, s)
		}
		return true
	})
	u.norm = b.Emit("sqrt", nil, sum)
	if !u.clipScale() {
		return false
	}
	u.f.Scope = "optimizer"
	u.inst = value.NewInstance(u.o.ModuleRef, "optimizer")
	g := u.f.Child(u.o.At, u.o.Decl.Name.Name, u.o.File, u.inst)
	u.f.Common = commonOptions
	defer func() { u.f.Common = nil }()
	if !u.f.Bind(g, u.o.At, u.o.What(), u.o.Decl.Params, u.o.own, func(n string, v value.Value) { u.inst.Args[n] = v }) {
		return false
	}
	u.checkDecay()
	for _, m := range u.o.Decl.Members {
		if x, ok := m.(*syntax.Let); ok {
			u.inst.Lets[x.Name.Name] = g.Expr(x.Value)
		}
	}
	return u.learningRate()
}

// clipScale emits the factor of std.optim.clip_scale.
func (u *updater) clipScale() bool {
	if u.o.clip == nil {
		return true
	}
	x := u.o.clip.Value
	c, ok := u.f.Number(x)
	if !ok {
		return false
	}
	if !(c.V > 0) || math.IsInf(c.V, 0) {
		u.f.Wants("E0506", x, "a positive finite limit", "leave `clip` out to clip nothing", "`clip` is %s", value.FormatNumber(c))
		return false
	}
	u.f.Scope = "optimizer.clip"
	std := u.l.StdFile("math")
	g := u.f.Child(x, "clip_scale", std, nil)
	g.Vars["norm"], g.Vars["limit"] = value.Tensor{V: u.norm}, c
	s, ok := u.f.Finish(g, x, std.Funcs["clip_scale"]).(value.Tensor)
	if ok {
		u.scale = s.V
	}
	return ok
}

// learningRate makes the argument lr a scalar of f32.
func (u *updater) learningRate() bool {
	v, ok := u.inst.Args["lr"]
	if !ok {
		return true
	}
	var n syntax.Node = u.o.At
	for _, a := range u.o.own {
		if a.Name != nil && a.Name.Name == "lr" {
			n = a.Value
		}
	}
	if c, ok := v.(value.Number); ok {
		v = u.f.ConstTensor(n, c, ir.F32)
	}
	t, ok := v.(value.Tensor)
	switch {
	case !ok:
		u.f.NotA(n, v, "a number or a schedule, such as `cosine(…)`")
		return false
	case t.V.Type.Rank() != 0 || t.V.Type.DType != ir.F32:
		u.f.Wants("E0508", n, "f32[]", "", "the learning rate is %s", t.V.Type)
		return false
	}
	u.inst.Args["lr"], u.lr = t, t.V
	return true
}

// one updates a parameter; its states are added to the arguments.
func (u *updater) one(p *value.Param, grad *ir.Value) (*ir.Value, bool) {
	inst := value.NewInstance(u.o.ModuleRef, "optimizer."+p.Path)
	for k, v := range u.inst.Args {
		inst.Args[k] = v
	}
	inst.Lets = u.inst.Lets
	if _, ok := inst.Args["weight_decay"]; ok && !u.o.decays(p) {
		inst.Args["weight_decay"] = value.Number{}
	}
	states := len(u.fb.Func.Args) // from here on
	w, wide := u.master(p)
	g := u.f.Child(u.o.At, "update", u.o.File, inst)
	g.Vars["param"] = w
	names, ok := u.newStates(g, p, wide)
	if !ok {
		return nil, false
	}
	g.Saw(w.V.Type)
	u.fb.Ops.Scope, u.fb.Ops.Pos = g.Scope, u.o.At.At()
	grad = u.fb.Ops.Cast(grad, wide.DType)
	if u.scale != nil {
		u.fb.Ops.Scope, u.fb.Ops.Pos = g.Scope, u.o.clip.At()
		grad = u.fb.Ops.Mul(grad, u.fb.Ops.Cast(u.scale, grad.Type.DType))
	}
	delete(g.Vars, "param")
	g.Vars[u.o.update.Params[0].Name.Name] = w
	g.Vars[u.o.update.Params[1].Name.Name] = value.Tensor{V: grad}
	before := len(u.fb.Func.Ops)
	v, ok := u.result(u.f.Finish(g, u.o.At, u.o.update), eval.Returned(u.o.update), "the new parameter", wide)
	if !ok {
		return nil, false
	}
	own := u.fb.Func.Args[states:]
	if i := slices.IndexFunc(own, func(a *ir.Arg) bool { return a.Value == w.V }); i >= 0 { // parameters get their arguments later
		m := own[i]
		m.Path = ir.StatePath(ir.NamedOf(own), p.Path, "master")
		u.states = append(u.states, ir.Result{Value: v, Role: ir.RoleState, Path: m.Path})
		v = u.fb.Ops.Cast(v, p.Type.DType)
	}
	for _, s := range names {
		next, ok := u.result(g.Vars[s.name], s.node, "the next value of state `"+s.name+"`", s.typ)
		if !ok {
			return nil, false
		}
		if next == s.arg && !reads(u.fb.Func.Ops[before:], next) {
			u.dropArg(next)
			continue
		}
		u.states = append(u.states, ir.Result{Value: next, Role: ir.RoleState, Path: p.Path + "/" + s.name})
	}
	return v, true
}

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
	for _, o := range ops {
		for _, a := range o.Args {
			if a == v {
				return true
			}
		}
	}
	return false
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

// result checks what an update computes and stores it in the order of axes of
// the type it replaces.
func (u *updater) result(v value.Value, n syntax.Node, who string, t ir.Type) (*ir.Value, bool) {
	if value.IsUnknown(v) {
		return nil, false
	}
	if c, ok := v.(value.Number); ok {
		v = u.f.ConstTensor(n, c, t.DType)
	}
	w, ok := v.(value.Tensor)
	if !ok || w.V.Type.DType != t.DType || eval.Missing(t, w.V.Type) != "" {
		e := &diag.Error{Code: "E0507", Pos: n.At(), Len: n.Len(), Msg: who + " is " + v.What(), Want: t.String()}
		u.f.Report(e)
		return nil, false
	}
	b := &u.fb.Ops
	b.Pos = n.At()
	return b.Reorder(b.Expand(w.V, t), t), true
}

// checkDecay warns of a choice of what decays where nothing does.
func (u *updater) checkDecay() {
	c, ok := u.inst.Args["weight_decay"].(value.Number)
	if !ok || c.V != 0 {
		return
	}
	for _, a := range u.o.chosen {
		u.l.Warnings = append(u.l.Warnings, "`"+a.Name.Name+"` of "+u.o.What()+" has no effect: `weight_decay` is 0")
	}
}

// remarkDecay says to which parameters weight decay applies, and to which not.
func (l *Lowerer) remarkDecay(u *updater, trained []*value.Param) {
	switch w, ok := u.inst.Args["weight_decay"].(value.Number); {
	case ok && w.V == 0, u.inst.Args["weight_decay"] == nil:
		return
	}
	var yes, no []string
	for _, p := range trained {
		if u.o.decays(p) {
			yes = append(yes, p.Path)
		} else {
			no = append(no, p.Path)
		}
	}
	list := func(paths []string) string {
		if len(paths) == 0 {
			return "none"
		}
		return fmt.Sprintf("%d (%s)", len(paths), strings.Join(l.briefly(paths), ", "))
	}
	l.Remarks = append(l.Remarks, fmt.Sprintf("weight decay: parameters that decay: %s; that do not: %s", list(yes), list(no)))
}
