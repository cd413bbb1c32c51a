package train

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/lang/value"
)

// update emits all that follows the loss: gradients, their norm, clipping, and
// the optimizer for every parameter. Results are placed in their order.
func (l *Lowerer) update(fb *eval.Builder, opts []*optimizer, t *Block, first *forward) {
	loss := first.loss
	l.Builder = fb
	defer func() { l.Builder = nil }()
	for _, p := range l.Model.Params {
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
	if !l.assigned(f, opts, trained) {
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
	norm := l.norm(fb, t.entries["optimizer"], trained, grads)
	results := []ir.Result{{Value: loss, Role: ir.RoleLoss}, {Value: norm, Role: ir.RoleStat, Path: "grad_norm"}}
	updaters := map[*optimizer]*updater{}
	var lr *ir.Value // of the last optimizer, which has what no other does
	for _, o := range opts {
		u := &updater{l: l, fb: fb, o: o, f: f, norm: norm}
		if !u.prepare() {
			return
		}
		updaters[o], lr = u, u.lr
	}
	if lr != nil {
		results = append(results, ir.Result{Value: lr, Role: ir.RoleStat, Path: "lr"})
	}
	results = append(results, statsOf(first.metrics)...)
	for i, p := range written {
		results = append(results, ir.Result{Value: grads[i], Role: ir.RoleGrad, Path: p.Path})
	}
	var states []ir.Result
	done := l.each(trained, func(i int, p *value.Param) bool {
		u := updaters[of(opts, p)]
		w, ok := u.one(p, grads[i])
		results = append(results, ir.Result{Value: w, Role: ir.RoleParam, Path: p.Path})
		states, u.states = append(states, u.states...), nil
		return ok
	})
	if !done {
		return
	}
	fb.Func.Results = append(results, states...)
	for _, o := range opts {
		l.remarkDecay(updaters[o], slices.DeleteFunc(slices.Clone(trained), func(p *value.Param) bool { return of(opts, p) != o }))
	}
}

// assigned is whether every parameter that is trained has an optimizer, and omitted ones
// that of those that they are like, with the same options.
func (l *Lowerer) assigned(f *eval.Frame, opts []*optimizer, trained []*value.Param) bool {
	own := map[*optimizer][]*value.Param{}
	for _, p := range trained {
		o := of(opts, p)
		if p.Like != nil && o != of(opts, p.Like) {
			l.Irregularly(p.Path)
			return false
		}
		if o == nil {
			f.Wants("E0506", opts[len(opts)-1].entry.Value, "a last optimizer without `on`, or `freeze`", "", "no optimizer selects the parameter `%s`", p.Path)
			return false
		}
		own[o] = append(own[o], p)
	}
	for _, o := range opts {
		if path := o.differs(own[o]); path != "" {
			l.Irregularly(path)
			return false
		}
		if len(own[o]) == 0 {
			l.Warnings = append(l.Warnings, o.What()+" has no parameter: those of its `on` are frozen, or an optimizer before it has them")
		}
	}
	return true
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
	keep   value.Value     // what an average keeps of itself in a step; nil without one
	states []ir.Result     // of the parameter under way
}

// norm emits the norm of all gradients together.
func (l *Lowerer) norm(fb *eval.Builder, at *syntax.Entry, trained []*value.Param, grads []*ir.Value) *ir.Value {
	b := &fb.Ops
	b.Scope, b.Pos = "optimizer.norm", at.At()
	var sum *ir.Value
	l.each(trained, func(i int, _ *value.Param) bool {
		g := b.Cast(grads[i], ir.F32)
		s := b.Sum(b.Mul(g, g), g.Type.Names()...)
		if sum == nil {
			sum = s
		} else {
			sum = b.Add(sum, s)
		}
		return true
	})
	return b.Emit("sqrt", nil, sum)
}

// prepare emits what is computed once in a step.
func (u *updater) prepare() bool {
	if !u.clipScale() || !u.averaging() {
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
			u.inst.Lets[x.Name.Name] = g.Symbolic(x.Value)
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
	v, ok := u.number("clip", x, math.Inf(1), "a positive finite limit", "omit `clip` to disable clipping")
	if !ok {
		return false
	}
	u.f.Scope = "optimizer.clip"
	std := u.l.Prog.Std("math")
	g := u.f.Child(x, "clip_scale", std, nil)
	g.Vars["norm"], g.Vars["limit"] = value.Tensor{V: u.norm}, v
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
	if _, ok := value.NumberOf(v); ok {
		v = u.f.Scalar(n, v, ir.F32)
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
	maps.Copy(inst.Args, u.inst.Args)
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
	own, full := u.fb.Func.Args[states:], v
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
	return v, u.averaged(p, u.fb.Func.Args[states:], full)
}

// result checks what an update computes and stores it in the order of axes of
// the type it replaces.
func (u *updater) result(v value.Value, n syntax.Node, who string, t ir.Type) (*ir.Value, bool) {
	if value.IsUnknown(v) {
		return nil, false
	}
	if _, ok := value.NumberOf(v); ok {
		v = u.f.Scalar(n, v, t.DType)
	}
	w, ok := v.(value.Tensor)
	if !ok || w.V.Type.DType != t.DType || eval.Missing(t, w.V.Type) != "" {
		u.f.Wants("E0507", n, t.String(), "", "%s is %s", who, v.What())
		return nil, false
	}
	b := &u.fb.Ops
	b.Pos = n.At()
	return b.Reorder(b.Expand(w.V, t), t), true
}

// checkDecay warns of a choice of what decays where nothing does.
func (u *updater) checkDecay() {
	c, ok := value.NumberOf(u.inst.Args["weight_decay"])
	if !ok || c.V != 0 {
		return
	}
	for _, a := range u.o.chosen {
		u.l.Warnings = append(u.l.Warnings, "`"+a.Name.Name+"` of "+u.o.What()+" has no effect: `weight_decay` is 0")
	}
}

// remarkDecay says to which parameters weight decay applies, and to which not.
func (l *Lowerer) remarkDecay(u *updater, trained []*value.Param) {
	switch w, ok := value.NumberOf(u.inst.Args["weight_decay"]); {
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
	l.Remarks = append(l.Remarks, fmt.Sprintf("weight decay: parameters with decay: %s; without: %s", list(yes), list(no)))
}
