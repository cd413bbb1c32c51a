package propagate

import (
	"math"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// gatherZero has parameters gathered where they would be followed.
func (t *trial) gatherZero(by plan) (plan, bool) {
	by.gather = true
	return by, t.l.zeroLevel >= 3
}

// settleLater finds where sums that are owed are best settled, if products may
// owe what a factor does. Between the operations that make such sums and those
// that need them settled, operations are linear in them; each value there can be
// settled, for the bytes that this sends. The cheapest settled values that lie on
// all ways are a minimum cut of vertices; what lies before it owes.
//
//	w2 ──▶ expert outputs ─▶ gather ─▶ · weight ─▶ sum of choices ─▶ + residual
//	owes     E·C·embed       k·T·embed                 T·embed
//
// Of several such cuts it is the one nearest to where sums are made.
func (t *trial) settleLater(by plan) (plan, bool) {
	by.owed = map[planned]bool{}
	for _, m := range t.l.mesh {
		if !t.l.stages[m.Name] && m.Size > 1 {
			t.settleOver(m, by.owed)
		}
	}
	return by, len(by.owed) > 0
}

// region is the network of values for the sums owed over one mesh axis.
type region struct {
	*trial
	*network
	m ir.MeshAxis
	// in and out are the nodes of a value: the edge between is settling it.
	in, out map[*ir.Value]int
	// steps are how many operations away from what makes a sum a value may owe it:
	// of a product's factors the one of fewer steps does.
	steps map[*ir.Value]int
	// whole are the nodes of values that would have to be gathered.
	whole map[*ir.Value]int
}

// settleOver adds to owed what owes over m though its operation is not linear in
// all operands.
func (t *trial) settleOver(m ir.MeshAxis, owed map[planned]bool) {
	r := &region{trial: t, network: newNetwork(), m: m, in: map[*ir.Value]int{}, out: map[*ir.Value]int{}, whole: map[*ir.Value]int{}, steps: map[*ir.Value]int{}}
	type carrier struct {
		o  *ir.Op
		in []int
	}
	var carriers []carrier
	for i, o := range t.ops {
		if t.p.flex[o] || len(o.Results) == 0 {
			continue
		}
		in := r.carrier(i, o)
		switch {
		case in != nil:
			carriers = append(carriers, carrier{o, in})
			for _, j := range in {
				if v := t.args[i][j]; r.inside(v) && !r.l.pipe.crosses(o, v) {
					r.connect(r.out[v], r.enter(o.Results[0]), forever)
				}
			}
			r.gathers(i, o, in)
		case r.born(o):
			r.connect(0, r.enter(o.Results[0]), forever)
		}
		for j, v := range t.args[i] {
			if r.inside(v) && (!slices.Contains(in, j) || r.l.pipe.crosses(o, v)) {
				r.connect(r.out[v], 1, forever)
			}
		}
	}
	for _, x := range t.p.f.Results {
		v := x.Value
		for v.Def != nil && v.Def.Name == op.Reshard {
			v = v.Def.Args[0]
		}
		if r.inside(v) {
			r.connect(r.out[v], 1, forever)
		}
	}
	if len(carriers) == 0 {
		return
	}
	side := r.cut()
	for _, c := range carriers {
		v := c.o.Results[0]
		if r.inside(v) && side[r.in[v]] {
			owed[planned{v.ID, m.Name}] = true
		}
	}
}

// inside reports whether v may owe over the mesh axis.
func (r *region) inside(v *ir.Value) bool { _, ok := r.in[v]; return ok }

// enter is the node of v, to settle which costs what is sent.
func (r *region) enter(v *ir.Value) int {
	if n, ok := r.in[v]; ok {
		return n
	}
	a, b := r.node(), r.node()
	r.in[v], r.out[v] = a, b
	times := int64(2)
	for _, x := range v.Type.Axes {
		if s, _ := r.l.claimOn(x.Name, r.m.Name, ""); s > 0 && x.Size%(r.l.parts(x)*r.m.Size) == 0 {
			times = 1 // scattered
		}
	}
	size := r.l.bytes(v.Type)
	if sharded(v.Type, r.m.Name) {
		size *= int64(r.m.Size)
	}
	r.connect(a, b, times*size+1) // of equal bytes the fewest values
	return a
}

// born reports whether o makes a sum that is owed.
func (r *region) born(o *ir.Op) bool {
	if !owesSum(o.Results[0].Type, r.m.Name) || len(o.Results) != 1 {
		return false
	}
	return !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return owes(v.Type, r.m.Name) })
}

// carrier are the operands of o in which it is linear and of which some may owe,
// where its result may owe instead; nil where it cannot.
func (r *region) carrier(i int, o *ir.Op) []int {
	if len(o.Results) != 1 || r.p.update[o.Results[0]] || r.p.strengths[planned{o.Results[0].ID, r.m.Name}] == ruled || r.born(o) {
		return nil
	}
	var best []int
	for _, in := range op.LinearIn(o) {
		steps, all := far, true
		for _, j := range in {
			v := r.args[i][j]
			if r.l.pipe.crosses(o, v) {
				all = all && !sharded(v.Type, r.m.Name) // it is reduced before it is sent
			} else if r.inside(v) {
				steps = min(steps, r.steps[v]+1)
			} else if !r.flexible(v) && (sharded(v.Type, r.m.Name) || owes(v.Type, r.m.Name)) {
				all = false
			}
		}
		if all && steps < far && (best == nil || steps < r.steps[o.Results[0]]) {
			best = in
			r.steps[o.Results[0]] = steps
		}
	}
	return best
}

// far is more steps than there are.
const far = math.MaxInt

func (r *region) flexible(v *ir.Value) bool { return v.Def != nil && r.p.flex[v.Def] }

// gathers notes what o needs whole besides, where its result owes.
func (r *region) gathers(i int, o *ir.Op, in []int) {
	for j, v := range r.args[i] {
		if slices.Contains(in, j) || r.flexible(v) || !sharded(v.Type, r.m.Name) {
			continue
		}
		n, ok := r.whole[v]
		if !ok {
			n = r.node()
			r.whole[v] = n
			r.connect(n, 1, r.l.bytes(v.Type)*int64(r.m.Size))
		}
		r.connect(r.in[o.Results[0]], n, forever)
	}
}
