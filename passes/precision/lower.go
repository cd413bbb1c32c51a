package precision

import (
	"slices"

	"ptc/ir"
	"ptc/ir/layout"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// lowering rewrites one function. Every float value has a home, in which it is
// stored, and casts of it that were asked for so far.
type lowering struct {
	f       *ir.Func
	p       *plan
	compute ir.DType
	// master is by parameter the state that holds it in float32, where it is
	// stored in less: what the optimizer reads.
	master map[*ir.Value]*ir.Arg
	b      op.Builder
	out    []*ir.Op
	eights *products
	made   map[castKey]float8      // operands in eight bits
	home   map[*ir.Value]*ir.Value // old value to the stored one
	casts  map[castKey]*ir.Value
	once   bool // a cast of an argument is of both phases
	late   bool // the loss is there
}

// castKey is a cast: of an old value, to a dtype, in the instances of a stack or
// outside; of an argument, before the loss or behind it.
type castKey struct {
	v    *ir.Value
	d    ir.DType
	in   *ir.Stack
	late bool
}

// lower gives every value of f its dtype. Arguments are cast for each phase, since
// what is cast in both is not kept between them; once says not to, where there are
// microbatches, for all of which they are cast once.
func lower(c *pass.Context, m *ir.Module, f *ir.Func, rule layout.Precision, once bool) {
	compute := rule.Compute
	l := &lowering{f: f, p: classify(f, c.Target.Attention), compute: compute, once: once, master: map[*ir.Value]*ir.Arg{},
		home: map[*ir.Value]*ir.Value{}, casts: map[castKey]*ir.Value{}, made: map[castKey]float8{}}
	l.eights = findProducts(f, l.p, layout.Of(m), rule)
	l.parameters(c, rule.Params)
	l.b = op.Builder{F: f, Sink: &l.out}
	low, wide, kept, fp8 := 0, 0, 0, 0
	loss := lossOf(f)
	for _, o := range f.Ops {
		l.b.Scope, l.b.Pos, l.b.Slot = o.Scope, o.Pos, o.Slot
		switch class := op.Of(o).Class; {
		case o.Name == op.Enter:
			l.enter(o)
		case o.Name == op.Leave:
			l.emit(o, o.Attrs, l.stays(o.Args[0]).Type.DType)
		case l.eights.of[o]:
			fp8++
			if l.product(o) {
				wide++
			}
		case l.p.inside[o] && class == op.Contraction && compute != ir.F32:
			if l.contraction(o) {
				wide++
			}
			low++
		case l.p.inside[o] && (class == op.Movement || isGather(o) || o.Name == op.Select):
			l.emit(o, o.Attrs, l.storedIn(o))
		default:
			l.emit(o, o.Attrs, ir.F32)
			for _, v := range o.Results {
				if l.p.stored[v] {
					kept++
					l.home[v] = l.b.Cast(l.home[v], compute)
				}
			}
		}
		l.late = l.late || o == loss
	}
	l.results()
	f.Ops = l.out
	f.JoinRuns()
	if rule.Products != "" {
		c.Remarkf(nil, "@%s: %d products have operands in %s", f.Name, fp8, rule.Products)
	}
	if compute != ir.F32 {
		c.Remarkf(nil, "@%s: %d contractions are in %s, %d of them with a result in f32; %d values are stored in %s",
			f.Name, low, compute, wide, kept, compute)
	}
}

// lossOf is the operation that makes the loss, nil where there is none.
func lossOf(f *ir.Func) *ir.Op {
	for _, r := range f.Results {
		if r.Role == ir.RoleLoss {
			return r.Value.Def
		}
	}
	return nil
}

// parameters stores those of float32 in d, and adds the master of each that is
// updated: a state with the same initial values, before they are rounded.
func (l *lowering) parameters(c *pass.Context, d ir.DType) {
	stored, masters := 0, 0
	args := l.f.Named()
	updated := map[string]*ir.Value{} // new parameters by path
	for _, r := range l.f.Results {
		if r.Role == ir.RoleParam && updated[r.Path] == nil {
			updated[r.Path] = r.Value
		}
	}
	for _, a := range slices.Clone(l.f.Args) {
		v := a.Value
		if a.Role != ir.RoleParam || v.Type.DType != ir.F32 || d == ir.F32 {
			continue
		}
		stored++
		if w := updated[a.Path]; w != nil && w != v {
			masters++
			l.f.AddArg(v.Type, ir.RoleState, ir.StatePath(args, a.Path, "master"), a.Attrs.With(ir.AttrCopyOf, ir.Str(a.Path)), a.Pos)
			l.master[v] = l.f.Args[len(l.f.Args)-1]
			l.master[v].Value.Each = v.Each
		}
		v.Type = v.Type.WithDType(d)
	}
	if stored > 0 {
		c.Remarkf(nil, "@%s: %d parameters are stored in %s, %d of them with a master in f32", l.f.Name, stored, d, masters)
	}
}

// results brings the results into their dtypes, and adds the new masters.
func (l *lowering) results() {
	args := l.f.Named()
	for i, n := 0, len(l.f.Results); i < n; i++ {
		r := &l.f.Results[i]
		v := r.Value
		l.follow(v)
		a := args.Arg(r.Role, r.Path)
		if a == nil || l.master[a.Value] == nil {
			r.Value = l.at(v, v.Type.DType)
			continue
		}
		next := l.at(v, ir.F32)
		r.Value = l.b.Cast(next, a.Value.Type.DType)
		m := l.master[a.Value]
		l.f.Results = append(l.f.Results, ir.Result{Value: next, Role: m.Role, Path: m.Path})
	}
}

// follow has the builder emit what follows v: in the same run, if it is in one.
func (l *lowering) follow(v *ir.Value) {
	l.b.Scope, l.b.Pos = scopeOf(v)
	if l.b.Each(v.In()); v.In() != nil && v.Def != nil {
		l.b.Slot.Run = v.Def.Run
	}
}

// enter gives what goes from instance to instance the dtype in which an instance
// leaves it, most likely; `leave` casts to that.
func (l *lowering) enter(o *ir.Op) {
	d := o.Result().Type.DType
	if d == ir.F32 && l.p.low(l.p.next[o.Result()], l.compute) {
		d = l.compute
	}
	// What enters is cast by the module that made it, and on its stage, not by the first instance.
	l.b.Slot.Run = nil
	if l.b.Scope, l.b.Pos = scopeOf(l.stays(o.Args[0])); o.Args[0].Def == nil {
		l.b.Scope, l.b.Pos = o.Scope, o.Pos
	}
	x := l.at(o.Args[0], d)
	l.b.Scope, l.b.Pos, l.b.Slot.Run = o.Scope, o.Pos, o.Run
	l.home[o.Result()] = l.b.Emit(op.Enter, nil, x)
}

// isGather: an operation that moves rows of its first operand as they are.
func isGather(o *ir.Op) bool { return o.Name == op.Gather }

// contraction reads the compute dtype; it reports whether the result leaves in
// float32.
func (l *lowering) contraction(o *ir.Op) bool {
	if l.p.leavesWide(o) {
		l.emit(o, o.Attrs.With("to", ir.Name(ir.F32.String())), l.compute)
		return true
	}
	l.emit(o, o.Attrs, l.compute)
	return false
}

// storedIn is the dtype in which every float operand of o is stored, float32
// where they are not in one.
func (l *lowering) storedIn(o *ir.Op) ir.DType {
	d := ir.F32
	first := true
	for _, a := range o.Args {
		t := l.stays(a).Type.DType
		switch {
		case !t.IsFloat():
		case first:
			d, first = t, false
		case t != d:
			return ir.F32
		}
	}
	return d
}

// emit repeats o over float operands of dtype d. Its attributes may make the
// result another dtype, as those of cast do.
func (l *lowering) emit(o *ir.Op, attrs ir.Attrs, d ir.DType) {
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		if m := l.master[a]; m != nil && !l.p.inside[o] {
			a = m.Value
		}
		args[i] = l.at(a, d)
	}
	res, err := l.b.TryEmit(o.Name, args, attrs)
	if err != nil {
		panic("precision: " + o.Name + ": " + err.Error())
	}
	for i, v := range o.Results {
		l.home[v] = res[i]
	}
}

// stays is where the old value v is stored.
func (l *lowering) stays(v *ir.Value) *ir.Value {
	if h := l.home[v]; h != nil {
		return h
	}
	return v // an argument
}

// at is the old value v in dtype d, if it is a float. A cast is emitted where
// it is first needed, and shared: see castKey.
func (l *lowering) at(v *ir.Value, d ir.DType) *ir.Value {
	h := l.stays(v)
	if !h.Type.DType.IsFloat() || h.Type.DType == d {
		return h
	}
	k := l.key(v, d)
	if l.casts[k] == nil {
		l.casts[k] = l.b.Cast(h, d)
	}
	return l.casts[k]
}

// key is the castKey of v where the builder is.
func (l *lowering) key(v *ir.Value, d ir.DType) castKey {
	k := castKey{v: v, d: d, late: l.late && !l.once && v.Def == nil}
	if run := l.b.Slot.Run; run != nil {
		k.in = run.Stack
	}
	return k
}
