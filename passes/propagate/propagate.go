package propagate

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run states every value of every function of m.
func Run(c *pass.Context, m *ir.Module) error {
	m.Level = ir.Sharded
	if m.Devices() == 1 {
		return nil
	}
	l := rulesOf(c, m)
	for _, f := range m.Funcs {
		t := l.choose(c, f)
		*f = *t.f
		c.Remarks = append(c.Remarks, t.p.c.Remarks...)
	}
	return nil
}

// propagate states every value of f, by plan.
func propagate(c *pass.Context, l *layout, f *ir.Func, plan plan) *propagation {
	p := &propagation{c: c, l: l, f: f, plan: plan, wish: map[*ir.Value]ir.Type{}, made: map[moved][]*ir.Value{}, origin: map[*ir.Value]origins{}, flex: map[*ir.Op]bool{}, update: map[*ir.Value]bool{}, kept: map[*ir.Value]bool{}, strengths: map[planned]int{}, terms: map[*ir.Value]ir.Type{}, forward: map[*ir.Value]bool{}}
	p.arguments()
	if f.Name == "step" {
		p.remarkWhole()
	}
	p.wishes()
	p.operations()
	p.results()
	f.Ops = p.out
	dropDead(f)
	return p
}

// propagation is the state of one function.
type propagation struct {
	c *pass.Context
	l *layout
	f *ir.Func
	// plan is what was decided with a look at all of the function.
	plan plan
	// strengths say how strongly an operation is sharded over a mesh axis.
	strengths map[planned]int
	// wish is the state in which an owed sum will be needed.
	wish map[*ir.Value]ir.Type
	// terms are wishes for gradients whose terms may be reduced one by one: those
	// that are not rounded between.
	terms map[*ir.Value]ir.Type
	// origin says of values why they are as they are.
	origin map[*ir.Value]origins
	// made holds the reshards that exist, each in its own state.
	made map[moved][]*ir.Value
	// update are values that depend on gradients: the optimizer's work, to which
	// rules between modules do not apply.
	update map[*ir.Value]bool
	// kept are parameters and optimizer state.
	kept map[*ir.Value]bool
	// leads are operations that a gradient depends on.
	leads map[*ir.Op]bool
	// flex are operations that compute from nothing: any state costs nothing.
	flex map[*ir.Op]bool
	out  []*ir.Op
	// backward is whether the loss has been passed, forward are values of before.
	backward bool
	forward  map[*ir.Value]bool
}

// arguments states parameters, optimizer state and data.
func (p *propagation) arguments() {
	for _, a := range p.f.Args {
		p.kept[a.Value] = a.Role == ir.RoleParam || a.Role == ir.RoleState
		switch a.Role {
		case ir.RoleParam:
			a.Value.Type = p.l.stored(a.Path, a.Value.Type, p.l.zeroLevel >= 3)
		case ir.RoleState:
			path, _, _ := strings.Cut(a.Path, "/")
			a.Value.Type = p.l.stored(path, a.Value.Type, p.l.zeroLevel >= 1)
		case ir.RoleData:
			a.Value.Type = p.l.stored("", a.Value.Type, false)
		}
		p.origin[a.Value] = p.l.storedBecause(a)
	}
}

// wishes says how gradients will be needed: as the optimizer's state lies. Of a
// gradient that is computed elementwise from another tensor and scalars, as one
// that a scale is taken from, that tensor is needed so.
func (p *propagation) wishes() {
	needed, uses := map[*ir.Value]bool{}, p.f.Uses()
	for _, r := range p.f.Results {
		if r.Role != ir.RoleGrad {
			continue
		}
		needed[r.Value] = true
		w := p.l.stored(r.Path, r.Value.Type, p.l.zeroLevel >= 1)
		rounded := false
		for v := r.Value; v != nil; v = scaled(v, uses) {
			p.wish[v] = w.WithDType(v.Type.DType)
			if !rounded {
				p.terms[v] = p.wish[v]
			}
			rounded = rounded || v.Def != nil && v.Def.Attrs.Has(op.AttrOwed)
		}
	}
	p.leads = map[*ir.Op]bool{}
	for i := len(p.f.Ops) - 1; i >= 0; i-- {
		o := p.f.Ops[i]
		for _, r := range o.Results {
			p.leads[o] = p.leads[o] || needed[r]
		}
		if p.leads[o] {
			for _, a := range o.Args {
				needed[a] = true
			}
		}
	}
}

// scaled is the tensor of which v is a multiple, or the same in another dtype,
// and that nothing else reads; nil where it is no such.
func scaled(v *ir.Value, uses map[*ir.Value]int) *ir.Value {
	o := v.Def
	if o == nil || o.Name != op.Mul && o.Name != op.Cast {
		return nil
	}
	var x *ir.Value
	for _, a := range o.Args {
		switch {
		case a.Type.Rank() == 0:
		case x != nil || uses[a] != 1 || !a.Type.SameShape(v.Type):
			return nil
		default:
			x = a
		}
	}
	return x
}

// operations states the results of every operation in order, and reshards its
// operands.
func (p *propagation) operations() {
	loss := map[*ir.Value]bool{}
	for _, r := range p.f.Results {
		if r.Role == ir.RoleLoss {
			loss[r.Value] = true
		}
	}
	for _, o := range p.f.Ops {
		p.flex[o] = p.isFlex(o)
		if p.flex[o] {
			p.out = append(p.out, o) // replicated; readers make their own
			continue
		}
		update := p.noteUpdate(o)
		for i, v := range o.Args {
			o.Args[i] = p.received(o, v)
		}
		if update {
			p.settleWishes(o)
		}
		a := p.assign(o)
		for i, v := range o.Args {
			o.Args[i] = p.reshard(o, v, a.operand(p, o, i), a.from, "")
		}
		a.stamp(p, o)
		p.out = append(p.out, o)
		for _, r := range o.Results {
			p.forward[r] = o.Phase == ir.Forward || o.Phase == ir.NoPhase && !p.backward
			if loss[r] { // settled here: what follows is the backward half
				p.backward = true
				p.reshard(o, r, replicated(r.Type), nil, ir.RoleLoss+" ")
			}
		}
	}
}

// noteUpdate marks the results of the optimizer's operations: those that read
// gradients, and after the loss those that read what training keeps alone.
func (p *propagation) noteUpdate(o *ir.Op) bool {
	some, all := false, p.backward && !p.leads[o]
	for _, v := range o.Args {
		if _, grad := p.wish[v]; grad || p.update[v] {
			some = true
		} else {
			all = all && (p.kept[v] || v.Def != nil && p.flex[v.Def])
		}
	}
	for _, r := range o.Results {
		p.update[r] = some || all
	}
	return some || all
}

// noted reports whether o is one of the optimizer's operations.
func (p *propagation) noted(o *ir.Op) bool {
	return len(o.Results) > 0 && p.update[o.Results[0]]
}

// settleWishes has o, of the optimizer, read gradients in the state of the
// optimizer's own tensors, so that those need not follow the gradient. A sum that
// is owed may still be added to others, where it is not cut otherwise than they.
func (p *propagation) settleWishes(o *ir.Op) {
	for i, v := range o.Args {
		if w, ok := p.wish[v]; ok && (len(v.Type.Partial) == 0 || !within(v.Type, w)) {
			o.Args[i] = p.reshard(o, v, w, p.l.wished(w), "")
		}
	}
}

// within reports whether t is cut along each axis over no other mesh axes than w.
func within(t, w ir.Type) bool {
	for i, a := range t.Axes {
		for _, m := range a.Mesh {
			if !slices.Contains(w.Axes[i].Mesh, m) {
				return false
			}
		}
	}
	return true
}

// isFlex reports whether o computes from constants and positions alone.
func (p *propagation) isFlex(o *ir.Op) bool {
	if len(o.Results) != 1 {
		return false
	}
	d := op.Of(o)
	if len(o.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise && d.Class != op.Movement {
		return false
	}
	for _, a := range o.Args {
		if a.Def == nil || !p.flex[a.Def] {
			return false
		}
	}
	// What exchanges positions cannot be made in parts from parts.
	return !slices.ContainsFunc(d.Shard(o).Factors, func(f op.Factor) bool { return f.Kind == op.Exchange })
}

// results brings results into the state in which they leave the step: new
// parameters and state as the old ones, losses and statistics whole,
// gradients as they are wished for.
func (p *propagation) results() {
	args := p.f.Named()
	for i := range p.f.Results {
		r := &p.f.Results[i]
		t := replicated(r.Value.Type)
		if a := args.Arg(r.Role, r.Path); a != nil {
			t = a.Value.Type.Clone()
		} else if w, ok := p.wish[r.Value]; ok {
			t = w
		}
		if r.Value.Def == nil {
			continue
		}
		r.Value = p.reshard(r.Value.Def, r.Value, t, nil, r.Role+" "+r.Path)
	}
}

// replicated is t with no sharding and nothing owed.
func replicated(t ir.Type) ir.Type {
	t = t.Clone()
	for i := range t.Axes {
		t.Axes[i].Mesh = nil
	}
	t.Partial = nil
	return t
}

// moved is a value by its number, the device of a pipeline that moves it, and
// whether it is gathered anew rather than kept since the forward pass.
type moved struct {
	value, at int
	anew      bool
}

// reshard is v in the state of t, which has the same axes and sizes, for a
// reader that is sharded because of from.
func (p *propagation) reshard(reader *ir.Op, v *ir.Value, t ir.Type, from origins, whose string) *ir.Value {
	t = t.WithDType(v.Type.DType)
	if v.Type.Equal(t) {
		return v
	}
	// A sum is reduced where it is made, other moves are the reader's: each device
	// of a pipeline has its own of what it receives.
	by := reader
	if len(v.Type.Partial) > 0 && v.Def != nil && !p.l.pipe.crosses(reader, v) {
		by = v.Def
	}
	at, _ := p.l.pipe.device(by)
	key := moved{v.ID, at, p.gathersAgain(reader, v, t)}
	for _, w := range p.made[key] {
		if w.Type.Equal(t) {
			return w
		}
	}
	var w *ir.Value
	switch {
	case v.Def != nil && p.flex[v.Def] && len(t.Partial) == 0:
		w = p.remake(v.Def, t, from) // a part of a sum is not what every device computes
	case widens(v) && len(v.Type.Partial)+len(t.Partial) == 0:
		w = p.recast(reader, v, t, from, whose)
	default:
		o := p.f.NewOp(op.Reshard, []*ir.Value{v}, nil, t)
		o.Scope, o.Pos = reader.Scope, reader.Pos
		if why := p.because(v, t, from, whose); why != "" {
			o.Attrs = ir.A("why", ir.Str(why))
		}
		if by != reader && !p.update[v] && !p.noted(reader) { // what is reduced for the optimizer is its own
			o.Scope, o.Pos = by.Scope, by.Pos
		}
		o.Slot = by.Slot
		p.out = append(p.out, o)
		w = o.Result()
	}
	p.made[key] = append(p.made[key], w)
	p.origin[w] = p.origin[v].overlaid(from)
	return w
}

// gathersAgain reports whether reader, of the backward phase, has v gathered anew
// rather than kept since the forward phase: a parameter with zero 3, and what a rule
// between modules has in shards, as sequence parallelism does (Korthikanti et al.,
// 2022, section 4.2.2). Of that the shard is kept alone.
func (p *propagation) gathersAgain(reader *ir.Op, v *ir.Value, t ir.Type) bool {
	if late := reader.Phase == ir.Backward || reader.Phase == ir.NoPhase && p.backward; !late {
		return false
	}
	if root(v).Def == nil {
		return p.l.zeroLevel >= 3
	}
	return p.forward[v] && len(v.Type.Partial) == 0 && slices.ContainsFunc(v.Type.Axes, func(a ir.Axis) bool {
		return slices.ContainsFunc(a.Mesh, func(m string) bool {
			s, _ := p.l.claimOn(a.Name, m, "")
			return s == 1 && !sharded(t, m)
		})
	})
}

// root is what v is, or is cast from.
func root(v *ir.Value) *ir.Value {
	for v.Def != nil && v.Def.Name == op.Cast {
		v = v.Def.Args[0]
	}
	return v
}

// widens reports whether v is a cast of a float of fewer bytes.
func widens(v *ir.Value) bool {
	if v.Def == nil || v.Def.Name != op.Cast {
		return false
	}
	from := v.Def.Args[0].Type.DType
	return from.IsFloat() && from.Size() < v.Type.DType.Size()
}

// recast brings what v is cast from into the state of t and casts it there, so
// that fewer bytes are moved.
func (p *propagation) recast(reader *ir.Op, v *ir.Value, t ir.Type, from origins, whose string) *ir.Value {
	x := p.reshard(reader, v.Def.Args[0], t, from, whose)
	o := p.f.NewOp(op.Cast, []*ir.Value{x}, v.Def.Attrs, t)
	o.Scope, o.Pos, o.Slot = v.Def.Scope, v.Def.Pos, reader.Slot
	p.out = append(p.out, o)
	return o.Result()
}

// remake computes the result of o, which reads nothing, in the state of t. What
// a split or a merge can make in fewer parts only is cut afterwards.
func (p *propagation) remake(o *ir.Op, t ir.Type, from origins) *ir.Value {
	rule := op.Of(o).Shard(o)
	made := t.Clone()
	for _, f := range rule.Factors {
		if f.Results[0] == "" {
			continue
		}
		a := &made.Axes[made.Index(f.Results[0])]
		if f.Kind != op.PassThrough {
			a.Mesh = nil
		}
		for len(a.Mesh) > 0 && f.Size%p.l.parts(*a) != 0 {
			a.Mesh = a.Mesh[:len(a.Mesh)-1]
		}
	}
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		want := replicated(a.Type)
		for _, f := range rule.Factors {
			if f.Args[i] == "" || f.Results[0] == "" || f.Kind != op.PassThrough {
				continue
			}
			want.Axes[want.Index(f.Args[i])].Mesh = made.Axes[made.Index(f.Results[0])].Mesh
		}
		args[i] = p.reshard(o, a, want, from, "")
	}
	n := p.f.NewOp(o.Name, args, o.Attrs, made)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, o.Slot
	p.out = append(p.out, n)
	if made.Equal(t) {
		p.flex[n] = true
		return n.Result()
	}
	p.origin[n.Result()] = from
	return p.reshard(o, n.Result(), t, from, "")
}

// dropDead removes operations that nothing reads.
func dropDead(f *ir.Func) {
	uses := f.Uses()
	var kept []*ir.Op
	for _, o := range slices.Backward(f.Ops) {
		live := false
		for _, r := range o.Results {
			live = live || uses[r] > 0
		}
		if live {
			kept = append(kept, o)
			continue
		}
		for _, a := range o.Args {
			uses[a]--
		}
	}
	slices.Reverse(kept)
	f.Ops = kept
}
