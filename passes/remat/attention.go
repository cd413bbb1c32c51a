package remat

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// attentions are those of a step that are kernels of their own in both phases: what is
// over queries and keys is never stored. The backward phase computes it again from
// queries, keys and the statistics of the softmax, whatever else is kept.
type attentions struct {
	cores []*fusion.Core
	of    map[*ir.Value]*fusion.Core // by values over queries and keys, of the forward phase
	in    map[*ir.Op]bool            // operations of the forward phase
	core  map[*ir.Op]*fusion.Core    // by those operations
	over  map[int]bool               // numbers of the values over them, of both phases
}

// attentionsOf finds them where the target has such kernels.
func attentionsOf(c *pass.Context, h *phases) *attentions {
	a := &attentions{of: map[*ir.Value]*fusion.Core{}, in: map[*ir.Op]bool{}, core: map[*ir.Op]*fusion.Core{}, over: map[int]bool{}}
	if !c.Target.Attention {
		return a
	}
	both := map[*ir.Op]*fusion.Core{}
	inside := func(_, o *ir.Op) bool { return op.Of(o).Class != op.Boundary }
	for _, k := range fusion.Cores(h.f, inside) {
		for _, o := range k.Ops {
			both[o] = k
		}
	}
	// What is of no phase, such as random numbers, is made where it is read.
	forward := func(_, o *ir.Op) bool {
		return inside(nil, o) && (h.forward[o] || h.tagged && o.Phase == ir.NoPhase && o.Micro)
	}
	for _, k := range fusion.Cores(h.f, forward) {
		whole := both[k.Exp]
		if why := h.apart(k, whole); why != "" {
			c.Remarkf(k.Exp, "attention scores are stored: %s", why)
			continue
		}
		if !c.May("rematerialize an attention", k.Exp) {
			continue
		}
		a.cores = append(a.cores, k)
		for _, o := range k.Ops {
			a.in[o], a.core[o] = true, k
		}
		for _, o := range whole.Ops {
			for _, v := range o.Results {
				a.over[v.ID] = a.over[v.ID] || whole.Over(v)
				if k.Over(v) {
					a.of[v] = k
				}
			}
		}
	}
	return a
}

// apart is why an attention is no kernel in one of the phases, or empty; whole is that
// of both.
func (h *phases) apart(k, whole *fusion.Core) string {
	if whole.Blocked != nil {
		return "`" + whole.Blocked.Name + "` reads them outside of the attention"
	}
	if _, err := fusion.Analyze(k.Kernel(k.Results())); err != nil {
		return err.Error()
	}
	for _, o := range whole.Ops {
		if !h.forward[o] && op.Of(o).Class == op.Reduction {
			return "`" + o.Name + "` sums them in the backward phase"
		}
	}
	return ""
}

// carries are, by steps of a ring, the elementwise work on their results that later steps
// read, in program order.
func (a *attentions) carries(f *ir.Func) map[*fusion.Core][]*ir.Op {
	behind, read := map[*fusion.Core][]*ir.Op{}, map[*fusion.Core]bool{}
	of := map[*ir.Value]*fusion.Core{} // the last attention whose results a value is made of
	place := map[*fusion.Core]int{}
	for _, o := range f.Ops {
		k := a.core[o]
		if k != nil && place[k] == 0 {
			place[k] = len(place) + 1
		}
		if k == nil && op.Of(o).Class != op.Elementwise {
			continue
		}
		from := k
		for _, v := range o.Args {
			if x := of[v]; x != nil && place[x] > place[from] {
				from = x
			}
		}
		for _, v := range o.Args {
			if x := of[v]; x != nil && x != from {
				read[x] = true
			}
		}
		if from == nil {
			continue
		}
		if k == nil {
			behind[from] = append(behind[from], o)
		}
		for _, v := range o.Results {
			of[v] = from
		}
	}
	for k := range behind {
		if !read[k] {
			delete(behind, k)
		}
	}
	return behind
}

// inputs are what the attention is computed of, and what the softmax takes off and
// divides by: all that the backward phase needs to compute it again.
func inputs(k *fusion.Core) (out []*ir.Value) {
	seen := map[*ir.Value]bool{}
	for _, o := range k.Ops {
		if !k.Over(o.Results[0]) {
			continue
		}
		for _, v := range o.Args {
			if !k.Over(v) && !seen[v] {
				seen[v] = true
				out = append(out, v)
			}
		}
	}
	return out
}

// keepStatistics leaves out of again the statistics of attentions whose results are kept. With
// a result they are computed again in its kernel; alone they would be sums of scores that a
// kernel stores. They are two numbers a query.
func (a *attentions) keepStatistics(again map[*ir.Op]bool) {
	for _, k := range a.cores {
		if slices.ContainsFunc(k.Ops, func(o *ir.Op) bool { return !k.Over(o.Results[0]) && op.Of(o).Class == op.Contraction && again[o] }) {
			continue
		}
		for _, o := range k.Ops {
			if !k.Over(o.Results[0]) {
				delete(again, o)
			}
		}
	}
}

// score is v, over queries and keys, for a reader in the backward phase: computed again
// apart from any other copy, so that it is not part of an attention of the forward
// phase that is rematerialized.
func (r *rewriter) score(v *ir.Value) *ir.Value {
	if w := r.scores[v]; w != nil {
		return w
	}
	o := v.Def
	args := make([]*ir.Value, len(o.Args))
	for i, a := range o.Args {
		if r.attentions.of[a] != nil {
			args[i] = r.score(a)
		} else {
			args[i] = r.copyOf(a, o)
		}
	}
	n, _ := r.clone(o, args)
	r.scores[v] = n.Results[0]
	return n.Results[0]
}
