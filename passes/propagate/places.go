package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/propagate/factor"
)

// slotSearch looks for places over one mesh axis.
type slotSearch struct {
	*trial
	*slots
	m       ir.MeshAxis
	uses    map[*ir.Value]int
	at      map[*ir.Op]int
	readers map[*ir.Value][]*ir.Op
}

func (w *slotSearch) search() {
	for i, o := range w.ops {
		if o.Name != op.ScatterAdd && o.Name != op.Gather {
			continue
		}
		v, t := w.args[i][0].Type, o.Results[0].Type
		axis := o.Attrs.Text("axis")
		switch {
		case o.Name == op.ScatterAdd && factor.PartialSum(t, w.m.Name) && !factor.PartialSum(v, w.m.Name):
			w.prepare()
			if at := shardedOf(t, axis, w.m); at != nil && w.scattered(o.Results[0], at, "") {
				w.settle(o, w.m.Name, along{axis, true})
				w.gatherRows(o)
			}
		case o.Name == op.Gather && factor.Over(t, w.m.Name) && !factor.Over(v, w.m.Name) && !factor.Partial(v, w.m.Name):
			w.prepare()
			at := shardedOf(ir.Type{Axes: alignedAxes(v, t, axis)}, axis, w.m)
			if at != nil && w.made(w.args[i][0], at) {
				w.settle(o, w.m.Name, along{axis: axis})
				w.sumOf(o.Results[0])
			}
		}
	}
}

func (w *slotSearch) prepare() {
	if w.at == nil {
		w.uses, w.at = w.usesAndPlaces()
		w.readers = w.trial.readers()
	}
}

// readers are the operations that read each value.
func (t *trial) readers() map[*ir.Value][]*ir.Op {
	out := make(map[*ir.Value][]*ir.Op, len(t.ops))
	for i, o := range t.ops {
		for _, v := range t.args[i] {
			if r := out[v]; len(r) == 0 || r[len(r)-1] != o {
				out[v] = append(r, o)
			}
		}
	}
	return out
}

// alignedAxes are the axes of v, sharded as those of t are, but for the axis that is looked up.
func alignedAxes(v, t ir.Type, axis string) []ir.Axis {
	out := slices.Clone(v.Axes)
	for i := range out {
		if j := t.Index(out[i].Name); j >= 0 && out[i].Name != axis {
			out[i].Mesh = t.Axes[j].Mesh
		}
	}
	return out
}

// shardedOf is over which mesh axes each axis of t is sharded if the given one is over m alone; nil where it does not divide.
func shardedOf(t ir.Type, axis string, m ir.MeshAxis) map[string][]string {
	at := map[string][]string{}
	for _, a := range t.Axes {
		switch {
		case a.Name == axis:
			if a.Size%m.Size != 0 || len(a.Mesh) > 0 {
				return nil
			}
			at[axis] = []string{m.Name}
		case len(a.Mesh) > 0:
			at[a.Name] = a.Mesh
		}
	}
	return at
}

func (w *slotSearch) settle(o *ir.Op, m string, a along) {
	r := o.Results[0].ID
	w.settled[factor.Choice{Value: r, Mesh: m}], w.about[r] = a, true
}

// scattered reports whether products are computed of v, which is sharded as at says, with minor the part of an axis that
// a split made of the places. What moves v to them is settled then.
func (w *slotSearch) scattered(v *ir.Value, at map[string][]string, minor string) (found bool) {
	var others []*ir.Op
	for _, o := range w.readers[v] {
		if len(o.Results) == 0 {
			continue
		}
		if w.moves(o, v) {
			to, part := w.mapped(o, at, true)
			if to != nil && w.scattered(o.Results[0], to, max(part, minor)) {
				w.settleAll(o, to)
				found = true
				continue
			}
		}
		others = append(others, o)
	}
	if !slices.ContainsFunc(others, func(o *ir.Op) bool {
		return w.leads(o, v, 0) && w.alone(o, v, minor) != ""
	}) {
		return found
	}
	for _, o := range others {
		if axis := w.alone(o, v, minor); axis != "" {
			r := o.Results[0].ID
			w.asked[factor.Choice{Value: r, Mesh: w.m.Name}], w.about[r] = along{axis: axis}, true
		}
	}
	return true
}

// leads reports whether o is a product of v, or of what is elementwise of it, as in eight bits.
func (w *slotSearch) leads(o *ir.Op, v *ir.Value, steps int) bool {
	const most = 8 // operations that bring an operand into another precision
	if op.Of(o).Class == op.Contraction {
		return true
	}
	return op.Of(o).Class == op.Elementwise && len(o.Results) == 1 && o.Results[0].Type.Rank() == v.Type.Rank() && steps < most &&
		slices.ContainsFunc(w.readers[o.Results[0]], func(r *ir.Op) bool { return w.leads(r, o.Results[0], steps+1) })
}

// made reports whether products make v, and settles what moves it from there, so that it is sharded as at says.
func (w *slotSearch) made(v *ir.Value, at map[string][]string) bool {
	if i, ok := w.at[v.Def]; ok && len(w.args[i]) == 1 && w.moves(v.Def, w.args[i][0]) && !factor.Over(v.Type, w.m.Name) && !factor.Partial(v.Type, w.m.Name) {
		from, _ := w.mapped(v.Def, at, false)
		if from == nil || !w.made(w.args[i][0], from) {
			return false
		}
		w.settleAll(v.Def, at)
		return true
	}
	return w.product(v)
}

// product reports whether v is elementwise of a product that is not sharded over the mesh axis.
func (w *slotSearch) product(v *ir.Value) bool {
	o := v.Def
	if o == nil || factor.Over(v.Type, w.m.Name) || factor.Partial(v.Type, w.m.Name) {
		return false
	}
	if op.Of(o).Class == op.Contraction {
		return true
	}
	i, ok := w.at[o]
	return ok && op.Of(o).Class == op.Elementwise && slices.ContainsFunc(w.args[i], func(x *ir.Value) bool {
		return x.Type.Rank() == v.Type.Rank() && w.product(x)
	})
}

// settleAll has the result of o, which moves its operand, sharded as at says.
func (w *slotSearch) settleAll(o *ir.Op, at map[string][]string) {
	for _, a := range o.Results[0].Type.Axes {
		for _, m := range at[a.Name] {
			w.settle(o, m, along{a.Name, true})
		}
	}
}

// moves reports whether o moves v, or converts it, and reads nothing else.
func (w *slotSearch) moves(o *ir.Op, v *ir.Value) bool {
	return len(o.Args) == 1 && len(o.Results) == 1 && w.args[w.at[o]][0] == v && (op.Of(o).Class == op.Movement || op.Has(o, op.Converts))
}

// mapped is at, which is of the operand of o, for its result, or the other way round; part is the minor part of what is
// split that is sharded over the mesh axis. It is nil where an axis has no image that divides.
func (w *slotSearch) mapped(o *ir.Op, at map[string][]string, forward bool) (to map[string][]string, part string) {
	to = map[string][]string{}
	for _, f := range op.Of(o).Shard(o).Factors {
		from, image := f.Args[0], f.Results[0]
		if !forward {
			from, image = image, from
		}
		over := at[from]
		if from == "" || len(over) == 0 {
			continue
		}
		if f.Kind != op.PassThrough || image == "" || f.Size%w.l.mesh.Shards(over) != 0 {
			return nil, ""
		}
		to[image] = over
		if f.Minor != nil && forward && slices.Contains(over, w.m.Name) {
			part = f.Minor.Results[0]
		}
	}
	if len(to) != len(at) {
		return nil, ""
	}
	return to, part
}

// alone is the axis of v along which o is sharded: of those that divide, the minor part of the places, or the first one
// that no other operand has, best one that nothing shards on the way; empty if there is none.
func (w *slotSearch) alone(o *ir.Op, v *ir.Value, minor string) (best string) {
	if factor.Over(o.Results[0].Type, w.m.Name) {
		return ""
	}
	j, least := slices.Index(w.args[w.at[o]], v), 3
	for _, f := range op.Of(o).Shard(o).Factors {
		axis := f.Args[j]
		if axis == "" || f.Minor != nil || f.Kind != op.PassThrough && f.Kind != op.Reduce {
			continue
		}
		now := o.Args[j].Type
		rank := 2
		switch {
		case !w.l.mesh.Fits(now.Axes[now.Index(axis)], w.m.Name):
			continue
		case axis == minor:
			rank = 0
		case f.Results[0] == "" || slices.ContainsFunc(f.Args[:j], named) || slices.ContainsFunc(f.Args[j+1:], named):
			continue
		case len(v.Type.Axes[v.Type.Index(axis)].Mesh) == 0:
			rank = 1
		}
		if rank < least {
			best, least = axis, rank
		}
	}
	return best
}

func named(axis string) bool { return axis != "" }

// gatherRows has every device make the rows that o scatters, from what is less.
func (w *slotSearch) gatherRows(o *ir.Op) {
	v := w.args[w.at[o]][0]
	var back func(v *ir.Value)
	back = func(v *ir.Value) {
		d := v.Def
		if d == nil || !factor.Over(v.Type, w.m.Name) || w.flow.Free(d) || op.Of(d).Class != op.Elementwise && op.Of(d).Class != op.Movement {
			return
		}
		i, ok := w.at[d]
		if !ok {
			return
		}
		size := int64(0)
		for _, x := range w.args[i] {
			if factor.Over(x.Type, w.m.Name) {
				size += w.l.mesh.Bytes(x.Type)
			}
		}
		if w.uses[v] > 1 && size >= w.l.mesh.Bytes(v.Type) {
			return
		}
		w.whole[factor.Choice{Value: v.ID, Mesh: w.m.Name}], w.about[v.ID] = true, true
		for _, x := range w.args[i] {
			back(x)
		}
	}
	back(v)
}

// sumOf has partial sums of v pass operations to where they are fewest bytes, which it returns.
func (w *slotSearch) sumOf(v *ir.Value) int64 {
	own, sum := w.bytes(v), int64(0)
	var passed []*ir.Op
	for _, o := range w.readers[v] {
		if !w.carries(o, v) {
			return own
		}
		passed = append(passed, o)
	}
	if len(passed) == 0 {
		return own
	}
	for _, o := range passed {
		sum += w.sumOf(o.Results[0])
	}
	if sum >= own {
		return own
	}
	for _, o := range passed {
		r := o.Results[0].ID
		w.through[factor.Choice{Value: r, Mesh: w.m.Name}], w.about[r] = true, true
	}
	return sum
}

func (w *slotSearch) bytes(v *ir.Value) int64 { return int64(v.Type.Bytes()) }

// carries reports whether o is linear in v alone, where it reads that once.
func (w *slotSearch) carries(o *ir.Op, v *ir.Value) bool {
	if len(o.Results) != 1 || op.Of(o).Class == op.Boundary || w.facts.update[o.Results[0]] {
		return false
	}
	args, n, j := w.args[w.at[o]], 0, -1
	for i, x := range args {
		if x == v {
			n, j = n+1, i
		}
	}
	return n == 1 && slices.ContainsFunc(op.LinearIn(o), func(in []int) bool { return len(in) == 1 && in[0] == j })
}
