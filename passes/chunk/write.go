package chunk

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// writer writes the operations of a region for one chunk after the other.
type writer struct {
	r     *region
	out   []*ir.Op
	parts map[part]*ir.Value
	sums  map[*ir.Value]*ir.Value   // what the chunks so far add up to
	kept  map[*ir.Value][]*ir.Value // what leaves, of each chunk
	order []*ir.Value               // what leaves or is summed, as it is made
	seen  map[*ir.Op]bool
}

// part is a range of a value.
type part struct {
	of *ir.Value
	span
}

// write puts the chunks in the place of the region, and says how many there are; 1 where
// there are too few rows for more.
func (r *region) write(seen map[*ir.Op]bool) (int, *refusal) {
	pieces, no := r.pieces()
	if no != nil || len(pieces) < 2 {
		return 1, no
	}
	before, behind, no := r.around()
	if no != nil {
		return 1, no
	}
	w := &writer{r: r, parts: map[part]*ir.Value{}, sums: map[*ir.Value]*ir.Value{}, kept: map[*ir.Value][]*ir.Value{}, seen: seen}
	for _, p := range pieces {
		w.chunk(p)
	}
	whole := w.together(pieces)
	f := r.p.f
	f.Ops = append(append(before, w.out...), behind...)
	f.Replace(whole)
	return len(pieces), nil
}

// around is what comes before the region and what comes behind it: of what stands between
// its operations, what depends on it comes behind. Messages keep their order, on which
// other devices rely, and tasks theirs.
func (r *region) around() (before, behind []*ir.Op, no *refusal) {
	from, ops := r.depends(), r.p.f.Ops
	members := r.members()
	if len(members) == 0 {
		return nil, nil, &refusal{} // an earlier sweep has taken all of it
	}
	first, last := r.p.at[members[0]], r.p.at[members[len(members)-1]]
	sent := false
	for i, o := range ops {
		_, in := r.in[o]
		switch {
		case in:
		case i < first:
			before = append(before, o)
		case i > last || from[o]:
			behind = append(behind, o)
			sent = sent || op.Has(o, op.Message)
		case sent && op.Has(o, op.Message):
			return nil, nil, r.refuse(o, "is a message, and other messages come before it")
		default:
			before = append(before, o)
		}
	}
	return before, behind, nil
}

// chunk writes the operations for the rows of p.
func (w *writer) chunk(p []span) {
	at := map[*ir.Value]*ir.Value{}
	for _, o := range w.r.members() {
		args := make([]*ir.Value, len(o.Args))
		for i, v := range o.Args {
			if args[i] = at[v]; args[i] == nil {
				args[i] = w.part(v, p, o)
			}
		}
		attrs, is := o.Attrs, w.r.in[o]
		types := make([]ir.Type, len(o.Results))
		for i, v := range o.Results {
			types[i] = v.Type.Clone()
			for _, s := range p {
				if j := types[i].Index(s.axis); j >= 0 {
					types[i].Axes[j].Size = s.limit - s.from
				}
			}
		}
		if acc := types[0].DType.Acc(); is == sums && acc != types[0].DType && op.Of(o).Takes("to") {
			attrs = attrs.With("to", ir.Name(acc.String()))
			types[0].DType = acc
		}
		n := w.r.p.f.NewOp(o.Name, args, attrs, types...)
		n.Attrs = op.Localize(n, types)
		n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, o.Slot
		w.out = append(w.out, n)
		w.seen[n] = true
		for i, v := range o.Results {
			switch {
			case is != rows:
				w.add(o, v, n.Results[i])
			default:
				at[v] = n.Results[i]
				if w.r.leaves(v, nil) {
					if w.kept[v] == nil {
						w.order = append(w.order, v)
					}
					w.kept[v] = append(w.kept[v], n.Results[i])
				}
			}
		}
	}
}

// part is the rows of v, which is made outside, that p says, for operation o.
func (w *writer) part(v *ir.Value, p []span, o *ir.Op) *ir.Value {
	for _, s := range p {
		if !v.Type.Has(s.axis) {
			continue
		}
		k := part{v, s}
		if w.parts[k] == nil {
			b := w.builder(o)
			w.parts[k] = stated(b.Emit(op.Subview, ir.A("axis", ir.Name(s.axis), "from", ir.Int(s.from), "limit", ir.Int(s.limit)), v))
		}
		v = w.parts[k]
	}
	return v
}

// builder writes what goes with o.
func (w *writer) builder(o *ir.Op) *op.Builder {
	slot := o.Slot
	slot.Remat = false
	return &op.Builder{F: w.r.p.f, Sink: &w.out, Scope: o.Scope, Pos: o.Pos, Slot: slot}
}

// stated gives v the sharding that follows from its operands'.
func stated(v *ir.Value) *ir.Value {
	t, err := op.States(v.Def)
	if err != nil {
		panic("chunk: " + v.Def.Name + ": " + err.Error())
	}
	v.Type = t[0]
	return v
}

// add adds what a chunk makes of v, a sum or maximum over rows which o makes.
func (w *writer) add(o *ir.Op, v, x *ir.Value) {
	b := w.builder(o)
	if acc := v.Type.DType.Acc(); x.Type.DType != acc && w.r.in[o] == sums {
		x = stated(b.Emit(op.Cast, ir.A("to", ir.Name(acc.String())), x))
	}
	if w.sums[v] == nil {
		w.order = append(w.order, v)
		w.sums[v] = x
		return
	}
	name := op.Add
	if w.r.in[o] == maxes {
		name = op.Max
	}
	w.sums[v] = stated(b.Emit(name, nil, w.sums[v], x))
}

// together is what is read in the place of what the region made.
func (w *writer) together(pieces [][]span) map[*ir.Value]*ir.Value {
	whole := map[*ir.Value]*ir.Value{}
	for _, v := range w.order {
		b := w.builder(v.Def)
		if x := w.sums[v]; x != nil {
			if x.Type.DType != v.Type.DType {
				x = stated(b.Emit(op.Cast, ir.A("to", ir.Name(v.Type.DType.String())), x))
			}
			whole[v] = x
		} else {
			whole[v] = hold(b, w.kept[v], pieces)
		}
		if !whole[v].Type.Equal(v.Type) {
			panic(fmt.Sprintf("chunk: %s is put together as %s", v.Type, whole[v].Type))
		}
	}
	return whole
}

// hold puts values of the pieces together, those of the last axis first.
func hold(b *op.Builder, vs []*ir.Value, pieces [][]span) *ir.Value {
	for i := len(pieces[0]) - 1; i >= 0; i-- {
		attrs := ir.A("axis", ir.Name(pieces[0][i].axis))
		var outer []*ir.Value
		var left [][]span
		for at := 0; at < len(vs); {
			end := at + 1
			for end < len(vs) && slices.Equal(pieces[at][:i], pieces[end][:i]) {
				end++
			}
			v := vs[at]
			if end > at+1 {
				v = stated(b.Emit(op.ConcatInPlace, attrs, vs[at:end]...))
			}
			outer, left = append(outer, v), append(left, pieces[at])
			at = end
		}
		vs, pieces = outer, left
	}
	return vs[0]
}
