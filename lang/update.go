package lang

import (
	"math"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/lang/syntax"
)

// update emits all that follows the loss: gradients, their norm, clipping, and
// the optimizer for every parameter. Results are placed in their order.
func (l *lowerer) update(fb *funcBuilder, o *optimizer, t *training, loss *ir.Value) {
	l.fb = fb
	defer func() { l.fb = nil }()
	for _, p := range l.params {
		if fb.values[p] != nil {
			fb.order = append(fb.order, p)
		}
	}
	f := l.trainFrame()
	f.scope = "optimizer"
	if len(fb.order) == 0 {
		if len(l.errs.list) > 0 {
			return // what is wrong already may be why
		}
		f.errorf("E0505", t.entries["loss"].Value, "the loss reads no parameter, so there is nothing to train")
		return
	}
	site := t.entries["loss"].Value
	trained := l.trained(f, fb, t)
	if len(trained) == 0 {
		return
	}
	args := []*ir.Value{loss}
	for _, p := range trained {
		args = append(args, fb.values[p])
	}
	l.warnUnreached(fb, loss, trained)
	fb.b.Scope, fb.b.Pos = "grad", site.At()
	grads, err := fb.b.TryEmit("grad", args, nil)
	if err != nil {
		f.shapeError(site, nil, err)
		return
	}
	u := &updater{l: l, fb: fb, o: o, f: f}
	if !u.prepare(grads) {
		return
	}
	results := []ir.Result{{Value: loss, Role: ir.RoleLoss}, {Value: u.norm, Role: ir.RoleStat, Path: "grad_norm"}}
	if u.lr != nil {
		results = append(results, ir.Result{Value: u.lr, Role: ir.RoleStat, Path: "lr"})
	}
	for i, p := range trained {
		results = append(results, ir.Result{Value: grads[i], Role: ir.RoleGrad, Path: p.path})
	}
	for i, p := range trained {
		w, ok := u.one(p, grads[i])
		if !ok {
			return
		}
		results = append(results, ir.Result{Value: w, Role: ir.RoleParam, Path: p.path})
	}
	fb.f.Results = append(results, u.states...)
	l.remarkDecay(u, trained)
}

// updater runs the optimizer's update for one parameter after another.
type updater struct {
	l      *lowerer
	fb     *funcBuilder
	o      *optimizer
	f      *frame
	inst   *instance // arguments and lets, the same for all parameters
	norm   *ir.Value // of all gradients together, before clipping
	lr     *ir.Value // nil where the optimizer has none
	scale  *ir.Value // of the gradients; nil without clipping
	states []ir.Result
}

// prepare emits what is computed once in a step.
func (u *updater) prepare(grads []*ir.Value) bool {
	b := &u.fb.b
	b.Scope, b.Pos = "optimizer.norm", u.o.entry.At()
	var sum *ir.Value
	for _, g := range grads {
		g = b.Cast(g, ir.F32)
		s := b.Sum(b.Mul(g, g), g.Type.Names()...)
		if sum == nil {
			sum = s
		} else {
			sum = b.Add(sum, s)
		}
	}
	u.norm = b.Emit("sqrt", nil, sum)
	if !u.clipScale() {
		return false
	}
	u.f.scope = "optimizer"
	u.inst = newInstance(u.o.moduleRef, "optimizer")
	g := u.f.child(u.o.at, u.o.decl.Name.Name, u.o.file, u.inst)
	u.f.common = commonOptions
	defer func() { u.f.common = nil }()
	if !u.f.bind(g, u.o.at, u.o.what(), u.o.decl.Params, u.o.own, func(n string, v value) { u.inst.args[n] = v }) {
		return false
	}
	u.checkDecay()
	for _, m := range u.o.decl.Members {
		if x, ok := m.(*syntax.Let); ok {
			u.inst.lets[x.Name.Name] = g.expr(x.Value)
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
	c, ok := u.f.number(x)
	if !ok {
		return false
	}
	if !(c.v > 0) || math.IsInf(c.v, 0) {
		u.f.wants("E0506", x, "a positive finite limit", "leave `clip` out to clip nothing", "`clip` is %s", formatNumber(c))
		return false
	}
	u.f.scope = "optimizer.clip"
	std := u.l.stdFile("math")
	g := u.f.child(x, "clip_scale", std, nil)
	g.vars["norm"], g.vars["limit"] = tensor{u.norm}, c
	s, ok := u.f.finish(g, x, std.fns["clip_scale"]).(tensor)
	if ok {
		u.scale = s.v
	}
	return ok
}

// learningRate makes the argument lr a scalar of f32.
func (u *updater) learningRate() bool {
	v, ok := u.inst.args["lr"]
	if !ok {
		return true
	}
	var n syntax.Node = u.o.at
	for _, a := range u.o.own {
		if a.Name != nil && a.Name.Name == "lr" {
			n = a.Value
		}
	}
	if c, ok := v.(number); ok {
		v = u.f.constTensor(n, c, ir.F32)
	}
	t, ok := v.(tensor)
	switch {
	case !ok:
		u.f.notA(n, v, "a number or a schedule, such as `cosine(…)`")
		return false
	case t.v.Type.Rank() != 0 || t.v.Type.DType != ir.F32:
		u.f.wants("E0508", n, "f32[]", "", "the learning rate is %s", t.v.Type)
		return false
	}
	u.inst.args["lr"], u.lr = t, t.v
	return true
}

// one updates a parameter; its states are added to the arguments.
func (u *updater) one(p *param, grad *ir.Value) (*ir.Value, bool) {
	inst := newInstance(u.o.moduleRef, "optimizer."+p.path)
	for k, v := range u.inst.args {
		inst.args[k] = v
	}
	inst.lets = u.inst.lets
	if _, ok := inst.args["weight_decay"]; ok && !u.o.decays(p) {
		inst.args["weight_decay"] = number{}
	}
	w, wide := u.master(p)
	g := u.f.child(u.o.at, "update", u.o.file, inst)
	g.vars["param"] = w
	names, ok := u.newStates(g, p, wide)
	if !ok {
		return nil, false
	}
	g.saw(w.v.Type)
	u.fb.b.Scope, u.fb.b.Pos = g.scope, u.o.at.At()
	grad = u.fb.b.Cast(grad, wide.DType)
	if u.scale != nil {
		u.fb.b.Scope, u.fb.b.Pos = g.scope, u.o.clip.At()
		grad = u.fb.b.Mul(grad, u.fb.b.Cast(u.scale, grad.Type.DType))
	}
	delete(g.vars, "param")
	g.vars[u.o.update.Params[0].Name.Name] = w
	g.vars[u.o.update.Params[1].Name.Name] = tensor{grad}
	before := len(u.fb.f.Ops)
	v, ok := u.result(u.f.finish(g, u.o.at, u.o.update), returned(u.o.update), "the new parameter", wide)
	if !ok {
		return nil, false
	}
	if m := u.fb.f.ArgOf(w.v); m != nil { // parameters get their arguments later
		m.Path = u.fb.f.StatePath(p.path, "master")
		u.states = append(u.states, ir.Result{Value: v, Role: ir.RoleState, Path: m.Path})
		v = u.fb.b.Cast(v, p.typ.DType)
	}
	for _, s := range names {
		next, ok := u.result(g.vars[s.name], s.node, "the next value of state `"+s.name+"`", s.typ)
		if !ok {
			return nil, false
		}
		if next == s.arg && !reads(u.fb.f.Ops[before:], next) {
			u.dropArg(next)
			continue
		}
		u.states = append(u.states, ir.Result{Value: next, Role: ir.RoleState, Path: p.path + "/" + s.name})
	}
	return v, true
}

// master is what the optimizer updates: the parameter, or, of one that the model
// has in fewer bits than f32, a state that holds it in f32. Updates are often less
// than half a unit of a bf16 weight's last place, and would be lost. Micikevicius
// et al., "Mixed Precision Training" (2018), section 3.1.
func (u *updater) master(p *param) (tensor, ir.Type) {
	w := u.fb.values[p]
	if !p.typ.DType.IsNarrow() {
		return tensor{w}, p.typ
	}
	wide := p.typ.WithDType(p.typ.DType.Acc())
	// Its path is given when those of the optimizer's own states are known.
	return tensor{u.fb.f.AddArg(wide, ir.RoleState, "", ir.A("init", p.init, ir.AttrCopyOf, ir.Str(p.path)), p.pos)}, wide
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
	args := u.fb.f.Args
	for i, a := range args {
		if a.Value == v {
			u.fb.f.Args = append(args[:i], args[i+1:]...)
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
func (u *updater) newStates(g *frame, p *param, wide ir.Type) ([]state, bool) {
	var out []state
	for _, m := range u.o.decl.Members {
		x, ok := m.(*syntax.ParamDecl)
		if !ok {
			continue
		}
		t, ok := g.stateType(x.Type, wide)
		if !ok {
			return nil, false
		}
		for _, n := range x.Names {
			init, ok := g.initial(n, x.Init)
			if !ok {
				return nil, false
			}
			v := u.fb.f.AddArg(t, ir.RoleState, p.path+"/"+n.Name, ir.A("init", init), x.At())
			g.vars[n.Name] = tensor{v}
			out = append(out, state{n.Name, n, t, v})
		}
	}
	return out, true
}

// stateType is `like param`, `f32 like param`, or a scalar's dtype.
func (g *frame) stateType(t syntax.Type, p ir.Type) (ir.Type, bool) {
	switch t := t.(type) {
	case *syntax.LikeType:
		if t.Of.Name != "param" {
			g.wants("E0201", t.Of, "`param`, the parameter that is updated", "", "a state like `%s`", t.Of.Name)
			return p, false
		}
		d, ok := g.dtypeOf(t.DType, p.DType)
		return p.WithDType(d), ok
	case *syntax.NamedType:
		if d, ok := ir.ParseDType(t.Name); ok {
			return ir.Scalar(d), true
		}
	}
	g.wants("E0506", t, "`like param`, or a dtype for a scalar", "", "not the type of a state")
	return p, false
}

// result checks what an update computes and stores it in the order of axes of
// the type it replaces.
func (u *updater) result(v value, n syntax.Node, who string, t ir.Type) (*ir.Value, bool) {
	if isUnknown(v) {
		return nil, false
	}
	if c, ok := v.(number); ok {
		v = u.f.constTensor(n, c, t.DType)
	}
	w, ok := v.(tensor)
	if !ok || w.v.Type.DType != t.DType || missing(t, w.v.Type) != "" {
		e := &diag.Error{Code: "E0507", Pos: n.At(), Len: n.Len(), Msg: who + " is " + v.what(), Want: t.String()}
		u.f.report(e)
		return nil, false
	}
	b := &u.fb.b
	b.Pos = n.At()
	return b.Reorder(b.Expand(w.v, t), t), true
}
