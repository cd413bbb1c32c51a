package remat

import (
	"cmp"
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Run applies the recompute rules of m's layout to @step. What is over the queries and
// keys of an attention is rematerialized whatever they say.
func Run(c *pass.Context, m *ir.Module) error {
	f := m.Func("step")
	rules := rulesOf(m)
	if f == nil {
		return nil
	}
	h := phasesOf(f)
	if len(rules) == 0 && !c.Target.Attention && !h.tagged {
		return nil
	}
	r := newRewriter(c, h, named(c, h, rules))
	for _, x := range rules {
		if x.auto {
			err := auto(c, m, x, rules, r)
			if err == nil {
				warnIdle(c, m, rules, r)
			}
			return err
		}
	}
	r.rewrite()
	if len(rules) == 0 {
		return nil
	}
	warnIdle(c, m, rules, r)
	c.Remarkf(nil, "@step: the backward phase rematerializes %d operations, for %.3g more FLOP", r.count, r.flops)
	return nil
}

// phases tells the operations of a step that come before the loss, or that a
// pipeline has tagged so, from those after.
type phases struct {
	f       *ir.Func
	forward map[*ir.Op]bool
	tagged  bool
}

func phasesOf(f *ir.Func) *phases {
	h := &phases{f: f, forward: map[*ir.Op]bool{}}
	loss := map[*ir.Op]bool{}
	for _, x := range f.Results {
		if x.Role == ir.RoleLoss && x.Value.Def != nil {
			loss[x.Value.Def] = true
		}
	}
	for _, o := range f.Ops {
		h.tagged = h.tagged || o.Phase != ir.NoPhase
	}
	before := true
	for _, o := range f.Ops {
		h.forward[o] = before
		if h.tagged {
			h.forward[o] = o.Phase == ir.Forward
		}
		before = before && !loss[o]
	}
	return h
}

// drawn are the operations of the forward phase that make random numbers of a microbatch, and
// those that need nothing else but constants, such as masks. Whoever reads one in the backward
// phase draws it again, from the same seed and numbers: else every microbatch on its way
// would keep its own.
func (h *phases) drawn() map[*ir.Op]bool {
	out, constant := map[*ir.Op]bool{}, fusion.Constants{}
	for _, o := range h.f.Ops {
		if !h.tagged || !o.Micro || !h.forward[o] || op.Of(o).Class == op.Boundary {
			continue
		}
		draws := o.Name == op.Random
		if !draws && (op.Of(o).Class == op.Elementwise || op.Has(o, op.ByName)) {
			draws = !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return (v.Def == nil || !out[v.Def]) && !constant.Has(v) }) &&
				slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return v.Def != nil && out[v.Def] })
		}
		if draws {
			out[o] = true
		}
	}
	return out
}

// named marks the forward operations inside the modules that rules name, whose
// results no operation of the forward pass outside reads.
func named(c *pass.Context, h *phases, rules []rule) map[*ir.Op]bool {
	where, again := map[*ir.Op]string{}, map[*ir.Op]bool{}
	for _, o := range h.f.Ops {
		for _, x := range rules {
			path, ok := x.inside(o.Scope)
			if h.tagged && !o.Micro {
				continue // once for all microbatches
			}
			if ok && h.forward[o] && op.Of(o).Class != op.Boundary {
				where[o], again[o] = path, true
			}
		}
	}
	leaves := func(v *ir.Value, to string) {
		if v.Def != nil && again[v.Def] && where[v.Def] != to {
			c.Because(v.Def, "`%s` of `%s` is kept: %s reads it", v.Def.Name, where[v.Def], cmp.Or(to, "an operation outside of the rules"))
			delete(again, v.Def)
		}
	}
	for _, o := range h.f.Ops {
		if h.forward[o] {
			for _, v := range o.Args {
				leaves(v, where[o])
			}
		}
	}
	for _, x := range h.f.Results {
		leaves(x.Value, "a result")
	}
	return again
}

// rewriter makes the backward phase read copies of forward operations.
type rewriter struct {
	c      *pass.Context
	f      *ir.Func
	phases *phases
	again  map[*ir.Op]bool // forward operations that are rematerialized
	copies map[*ir.Value]*ir.Value
	// attentions have copies of their own of what is over queries and keys.
	attentions *attentions
	scores     map[*ir.Value]*ir.Value
	cores      map[*fusion.Core]bool // of which there is a copy
	behind     map[*fusion.Core][]*ir.Op
	out        []*ir.Op
	run        *ir.Run // in which the operation is that is rewritten
	head       int     // the place in out where that begins
	count      int
	flops      float64
	added      func(o *ir.Op, flops float64) // sees what is rematerialized; may be nil
}

func newRewriter(c *pass.Context, h *phases, again map[*ir.Op]bool) *rewriter {
	return &rewriter{c: c, f: h.f, phases: h, again: again, attentions: attentionsOf(c, h),
		copies: map[*ir.Value]*ir.Value{}, scores: map[*ir.Value]*ir.Value{}, cores: map[*fusion.Core]bool{}}
}

// rewrite makes the operations after the loss read copies.
func (r *rewriter) rewrite() {
	r.attentions.keepStatistics(r.again)
	maps.Copy(r.again, r.phases.drawn())
	for _, o := range r.f.Ops {
		if o.Run != r.run {
			r.run, r.head = o.Run, len(r.out)
		}
		if !r.phases.forward[o] && !r.attentions.in[o] {
			for k, v := range o.Args {
				if r.attentions.of[v] != nil && !crosses(v.Def, o) {
					o.Args[k] = r.score(v)
				} else {
					o.Args[k] = r.copyOf(v, o)
				}
			}
		}
		r.out = append(r.out, o)
	}
	r.f.Ops = r.out
	r.f.JoinRuns()
}

// copyOf is v rematerialized for a reader in the backward phase, or v itself. A
// reader on another stage than v has received v in the forward phase; to send it
// again would make it wait for a stage whose backward phase is later.
func (r *rewriter) copyOf(v *ir.Value, reader *ir.Op) *ir.Value {
	if v.Def == nil || !r.again[v.Def] || crosses(v.Def, reader) {
		return v
	}
	if r.copies[v] == nil {
		r.copyCore(v.Def)
		r.copy(v.Def)
	}
	return cmp.Or(r.copies[v], v)
}

// copyCore rematerializes the attention that o is of, all in a row, as one kernel does
// all: in a ring each step of it needs another part of the step before.
func (r *rewriter) copyCore(o *ir.Op) {
	k := r.attentions.core[o]
	if k == nil || r.cores[k] {
		return
	}
	r.cores[k] = true
	if r.behind == nil {
		r.behind = r.attentions.carries(r.f)
	}
	for _, x := range slices.Concat(k.Ops, r.behind[k]) {
		if r.again[x] {
			r.copy(x)
		}
	}
}

// copy rematerializes o, if that is not done and may be.
func (r *rewriter) copy(o *ir.Op) {
	if r.copies[o.Results[0]] != nil {
		return
	}
	if !r.c.May("rematerialize", o) {
		delete(r.again, o)
		return
	}
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = r.copyOf(a, o)
	}
	if r.copies[o.Results[0]] != nil {
		return // with the attention that it is of, for an operand
	}
	n, times := r.clone(o, args)
	r.count += times
	flops := float64(times) * float64(op.Of(o).Flops(o))
	if r.flops += flops; r.added != nil {
		r.added(o, flops)
	}
	for i, x := range o.Results {
		r.copies[x] = n.Results[i]
	}
}

// clone puts a copy of o with other operands where the backward phase is, and says how
// often it is done.
func (r *rewriter) clone(o *ir.Op, args []*ir.Value) (n *ir.Op, times int) {
	n = r.f.NewOp(o.Name, args, o.Attrs, ir.CloneTypes(o.Results)...)
	n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, o.Slot
	n.Remat, n.Run = true, r.run
	if o.Run == nil {
		n.Run = nil
	}
	if n.Phase != ir.NoPhase {
		n.Phase = ir.Backward
	}
	times = 1
	if n.Run == nil && r.run != nil { // once, before the instances that read it
		r.out = slices.Insert(r.out, r.head, n)
		r.head++
	} else if r.out = append(r.out, n); n.Run != nil {
		times = n.Run.Stack.Count
	}
	return n, times
}

// crosses reports whether two operations are on different stages of a pipeline.
func crosses(a, b *ir.Op) bool {
	return a.Stage != 0 && b.Stage != 0 && a.Stage != b.Stage
}
