package propagate

import (
	"math"
	"slices"

	"ptc/internal/wide"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/propagate/factor"
)

// deferred is the policy of partial sums that pass through an operation though it is
// linear in some operands alone, as a product is in either factor.
type deferred struct {
	factor.Silent
	through map[factor.Choice]bool
	about   map[int]bool
}

func (d *deferred) Defers(o *ir.Op, m string) bool {
	return d.through[factor.Choice{Value: o.Results[0].ID, Mesh: m}]
}

func (d *deferred) Speaks(o *ir.Op) bool { return d.about[o.Results[0].ID] }

// deferReductions finds where partial sums are best reduced, if they may pass through
// products. Between the operations that make such sums and those that need them
// reduced, operations are linear in them; each value there can be reduced, for the
// bytes that this sends. The cheapest values that lie on all ways are a minimum cut of
// vertices; what lies before it stays partial.
//
//	w2 ──▶ expert outputs ─▶ gather ─▶ · weight ─▶ sum of choices ─▶ + residual
//	         E·C·embed       k·T·embed                 T·embed
//
// Of several such cuts it is the one nearest to where sums are made.
func deferReductions(before *trial) maker {
	through := map[factor.Choice]bool{}
	for _, r := range before.regions() {
		for _, v := range r.carried {
			if r.side[r.in.Of(v)] {
				through[factor.Choice{Value: v.ID, Mesh: r.m.Name}] = true
			}
		}
	}
	if len(through) == 0 {
		return nil
	}
	about := values(through)
	return func(*trial) factor.Policy { return &deferred{through: through, about: about} }
}

// early is the policy of partial sums that are reduced before an operation though it is linear.
type early struct {
	factor.Silent
	reduced map[factor.Choice]bool
	about   map[int]bool
}

func (e *early) Speaks(o *ir.Op) bool { return len(o.Results) > 0 && e.about[o.Results[0].ID] }

func (e *early) Reduces(o *ir.Op, m string) bool {
	return len(o.Results) > 0 && e.reduced[factor.Choice{Value: o.Results[0].ID, Mesh: m}]
}

// reduceEarly finds where partial sums pass operations behind the minimum cut: to reduce them
// before sends less, as where something else needs the operand reduced, or the result is larger.
//
//	sum of experts' gradients ─▶ of the next block, reduced
//	        T·embed        └───▶ broadcast to all experts
//	                                 T·E·embed
func reduceEarly(before *trial) maker {
	reduced := map[factor.Choice]bool{}
	for _, r := range before.regions() {
		for _, v := range r.carried {
			if !r.side[r.in.Of(v)] && factor.PartialSum(v.Type, r.m.Name) {
				reduced[factor.Choice{Value: v.ID, Mesh: r.m.Name}] = true
			}
		}
	}
	if len(reduced) == 0 {
		return nil
	}
	about := values(reduced)
	return func(*trial) factor.Policy { return &early{reduced: reduced, about: about} }
}

// region is the network of values for the partial sums over one mesh axis.
type region struct {
	*trial
	*network
	m ir.MeshAxis
	// in and out are the nodes of a value: the edge between is reducing it.
	in, out ir.ByValue[int]
	// steps are how many operations away from what makes a sum a value may be partial:
	// of a product's factors the one of fewer steps is.
	steps ir.ByValue[int]
	// gathered are the nodes of values that would have to be gathered.
	gathered map[*ir.Value]int
	// whole are values that some operation has gathered in any case.
	whole ir.ByValue[bool]
	// carried are results of operations that partial sums may pass, and side says of nodes
	// whether they lie before the cut.
	carried []*ir.Value
	side    []bool
}

// regions are those of all mesh axes over which partial sums may pass operations.
func (t *trial) regions() []*region {
	if t.cuts != nil {
		return t.cuts
	}
	t.cuts = []*region{}
	for _, m := range t.flow.Mesh {
		if m.Size > 1 {
			if r := t.regionOver(m); len(r.carried) > 0 {
				r.side = r.cut()
				t.cuts = append(t.cuts, r)
			}
		}
	}
	return t.cuts
}

// regionOver is the network of partial sums over m.
func (t *trial) regionOver(m ir.MeshAxis) *region {
	r := &region{trial: t, network: newNetwork(), m: m, gathered: map[*ir.Value]int{}}
	for _, o := range t.f.Ops {
		if op.Of(o).Class == op.Placement && factor.Over(o.Args[0].Type, m.Name) && !factor.Over(o.Result().Type, m.Name) && !factor.Partial(o.Result().Type, m.Name) {
			r.whole.Set(o.Args[0], true)
		}
	}
	for i, o := range t.ops {
		if len(o.Results) == 0 || t.flow.Free(o) {
			continue
		}
		in := r.carrier(i, o)
		switch {
		case in != nil:
			r.carried = append(r.carried, o.Results[0])
			for _, j := range in {
				if v := t.args[i][j]; r.inside(v) && !t.flow.Crosses(o, v) {
					r.connect(r.out.Of(v), r.enter(o.Results[0]), forever)
				}
			}
			r.gather(i, o, in)
		case r.born(o):
			r.connect(0, r.enter(o.Results[0]), forever)
		}
		for j, v := range t.args[i] {
			if !slices.Contains(in, j) || t.flow.Crosses(o, v) {
				r.leave(v)
			}
		}
	}
	for _, x := range t.f.Results {
		v := x.Value
		for v.Def != nil && op.Of(v.Def).Class == op.Placement {
			v = v.Def.Args[0]
		}
		r.leave(v)
	}
	r.carried = slices.DeleteFunc(r.carried, func(v *ir.Value) bool { return !r.inside(v) })
	return r
}

// inside reports whether v may be partial over the mesh axis.
func (r *region) inside(v *ir.Value) bool { _, ok := r.in.Lookup(v); return ok }

// enter is the node of v, to reduce which costs what is sent.
func (r *region) enter(v *ir.Value) int {
	if n, ok := r.in.Lookup(v); ok {
		return n
	}
	a, b := r.node(), r.node()
	r.in.Set(v, a)
	r.out.Set(v, b)
	times, size := int64(2), r.l.mesh.Bytes(v.Type)
	if i, _ := r.l.share(v.Type, r.m.Name); i >= 0 {
		times = 1 // scattered
	}
	if factor.Over(v.Type, r.m.Name) { // as what is reduced before it was
		times, size = 1, size*int64(r.m.Size)
	}
	r.connect(a, b, min(forever, wide.Mul(r.count(v), times*size+1))) // of equal bytes the fewest values
	return a
}

// count is how many such values there are in a step, each of which would be reduced: one of
// each instance and microbatch, but of what microbatches add up there is one.
func (r *region) count(v *ir.Value) int64 {
	n := int64(v.Count())
	if v.PerMicro() {
		n *= int64(r.f.Micro)
	}
	if v.Def != nil {
		n *= r.l.pipeline.alike(v.Def)
	}
	return n
}

// leave has v reduced, if it may be partial.
func (r *region) leave(v *ir.Value) {
	if r.inside(v) {
		r.connect(r.out.Of(v), 1, forever)
	}
}

// born reports whether o makes a partial sum.
func (r *region) born(o *ir.Op) bool {
	return len(o.Results) == 1 && factor.PartialSum(o.Results[0].Type, r.m.Name) &&
		!slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return factor.Partial(v.Type, r.m.Name) })
}

// carrier are the operands of o in which it is linear and of which some may be
// partial, where its result may be partial instead; nil where it cannot.
func (r *region) carrier(i int, o *ir.Op) []int {
	if len(o.Results) != 1 || r.facts.update[o.Results[0]] || r.flow.Required(o.Results[0], r.m.Name) || r.born(o) {
		return nil
	}
	if op.Of(o).Class == op.Boundary && o.Accumulates() == "" && o.Results[0].Type.Rank() > 0 {
		return nil // instances of a stack hand on what is reduced
	}
	const far = math.MaxInt // more steps than there are
	step := 1
	if op.Has(o, op.Converts) {
		step = 0 // in every precision as many
	}
	var best []int
	for _, in := range op.LinearIn(o) {
		steps, all := far, true
		for _, j := range in {
			v := r.args[i][j]
			over := factor.Over(v.Type, r.m.Name)
			switch {
			case r.flow.Crosses(o, v):
				all = all && !over // it is reduced before it is sent
			case r.inside(v):
				steps = min(steps, r.steps.Of(v)+step)
			case !r.flow.Free(v.Def):
				all = all && !over && !factor.Partial(v.Type, r.m.Name)
			}
		}
		if all && steps < far && (best == nil || steps < r.steps.Of(o.Results[0])) {
			best = in
			r.steps.Set(o.Results[0], steps)
		}
	}
	return best
}

// gather notes what o needs unsharded besides, where its result is partial.
func (r *region) gather(i int, o *ir.Op, in []int) {
	for j, v := range r.args[i] {
		if slices.Contains(in, j) || r.flow.Free(v.Def) || !factor.Over(v.Type, r.m.Name) {
			continue
		}
		if v = r.flow.Moved(v); r.whole.Of(v) {
			continue
		}
		n, ok := r.gathered[v]
		if !ok {
			n = r.node()
			r.gathered[v] = n
			r.connect(n, 1, min(forever, wide.Mul(r.count(v), wide.Mul(r.l.mesh.Bytes(v.Type), int64(r.m.Size)))))
		}
		r.connect(r.in.Of(o.Results[0]), n, forever)
	}
}
