package stage

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// source is what a microbatch has of o, which makes positions or random numbers along
// the cut axis: those of its rows in the whole.
func (s *splitter) source(o *ir.Op, args []*ir.Value, t ir.Type, axis string, at ir.Slot) []*ir.Value {
	s.grid.b.Scope, s.grid.b.Pos, s.grid.b.Slot = o.Scope, o.Pos, at
	defer func() { s.grid.b.Slot = ir.Slot{} }()
	from := len(s.text.out)
	var x *ir.Value
	if len(args) == 0 {
		x = s.grid.positions(o, axis, t.Size(axis)/s.grid.shards)
	} else {
		x = s.grid.numbers(o, args, t, axis)
	}
	for _, n := range s.text.out[from:] {
		s.stage[n], s.phase[n] = s.stage[o], s.phase[o]
	}
	return []*ir.Value{x}
}

// positions are those of the microbatch's rows, so many of each shard.
func (g *grid) positions(o *ir.Op, axis string, rows int) *ir.Value {
	row := g.inner(axis, g.row)
	index := func(axis string, size int) *ir.Value {
		return g.b.Emit(o.Name, ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
	}
	x := g.b.Add(index(row, rows), g.b.Scale(g.number(), float64(rows)))
	if g.shards > 1 {
		x = g.b.Add(g.b.Scale(index(axis, g.shards), float64(g.m*rows)), x)
	}
	return g.fromShards(x, axis, row)
}

// numbers are the random ones of the microbatch's rows: so many of each shard follow one
// another in the whole batch.
func (g *grid) numbers(o *ir.Op, args []*ir.Value, t ir.Type, axis string) *ir.Value {
	rows := t.Size(axis) / g.shards
	attrs := op.Window(o.Attrs.With("axes", sizesOf(t)), t, axis, t.Size(axis)*g.m, 0).
		With(ir.AttrRuns, ir.Sizes{{Name: axis, N: rows}}).With(ir.AttrMoves, ir.Name(axis))
	return g.b.Emit(o.Name, attrs, append(slices.Clone(args), g.number())...)
}

// cut is what the microbatch has of v along axis, on a stage: v is split once, and each
// microbatch looks up its own part.
func (s *splitter) cut(v *ir.Value, axis string, stage int) *ir.Value {
	key := fmt.Sprintf("%d %s", v.ID, axis)
	row, block := s.grid.inner(axis, s.grid.row), s.grid.inner(axis, s.grid.block)
	if s.wide[key] == nil {
		s.grid.b.Slot = ir.Slot{}
		from := len(s.text.out)
		x := s.grid.intoShards(v, axis, block)
		s.wide[key] = s.grid.b.Emit(op.Split, ir.A("axis", ir.Name(block), "into", ir.Sizes{{Name: s.grid.micro, N: s.grid.m}, {Name: row, N: x.Type.Size(block) / s.grid.m}}), x)
		for _, o := range s.text.out[from:] {
			s.stage[o] = anywhere
		}
	}
	s.grid.b.Slot = ir.Slot{Stage: ir.At(max(0, stage)), Phase: ir.Forward, Micro: true}
	x := s.grid.b.Emit(op.Gather, ir.A("axis", ir.Name(s.grid.micro)), s.wide[key], s.grid.number())
	x = s.grid.fromShards(x, axis, row)
	s.grid.b.Slot = ir.Slot{}
	return x
}

// paste is the inverse of cut for all microbatches: zeros but for the part.
func (g *grid) paste(part *ir.Value, axis string) (*ir.Value, error) {
	row := g.inner(axis, g.row)
	x := g.intoShards(part, axis, row)
	var out ir.Type
	for _, a := range x.Type.Axes {
		if a.Name == row {
			out.Axes = append(out.Axes, ir.Axis{Name: g.micro, Size: g.m})
		}
		out.Axes = append(out.Axes, a)
	}
	r, err := g.b.TryEmit(op.ScatterAdd, []*ir.Value{x, g.number()}, ir.A("axis", ir.Name(g.micro), "out", sizesOf(out)))
	if err != nil {
		return nil, err
	}
	return g.joined(r[0], axis), nil
}

// joined is v, which has axis as shards, microbatches and rows, with axis as one.
func (g *grid) joined(v *ir.Value, axis string) *ir.Value {
	block := g.inner(axis, g.block)
	v = g.b.Emit(op.Merge, ir.A("axes", ir.Names{g.micro, g.inner(axis, g.row)}, "into", ir.Name(block)), v)
	return g.fromShards(v, axis, block)
}

func sizesOf(t ir.Type) (sizes ir.Sizes) {
	for _, a := range t.Axes {
		sizes = append(sizes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	return sizes
}

// join makes v whole: the parts one after the other, or the sum (maximum) of partial
// ones, accumulated where they are made.
func (s *splitter) join(v *ir.Value) (*ir.Value, error) {
	if w := s.whole[v]; w != nil {
		return w, nil
	}
	if s.given[v] || v.Def != nil && s.stage[v.Def] == anywhere {
		return s.again(v), nil
	}
	st := s.of[v]
	d := st.part.Def
	if st.kind == own {
		return nil, s.tooLate(d, v)
	}
	s.grid.b.Scope, s.grid.b.Pos, s.grid.b.Slot = d.Scope, d.Pos, d.Slot
	if d.Name == op.Leave {
		s.grid.b.Slot.Run = nil
	}
	defer func() { s.grid.b.Slot = ir.Slot{} }()
	x, by := st.part, op.Accumulate
	if st.axis != "" {
		pasted, err := s.grid.paste(x, st.axis)
		if err != nil {
			return nil, s.tooLate(d, v)
		}
		x = pasted
	} else if st.kind == "max" {
		by = op.AccumulateMax
	}
	w := s.grid.b.Emit(by, nil, x)
	s.stage[w.Def], s.phase[w.Def] = s.stage[d], s.phase[d]
	s.grid.b.Slot.Micro, s.grid.b.Slot.Phase = false, ir.Update // of all microbatches
	w = s.grid.b.Reorder(w, v.Type)
	s.whole[v] = w
	s.late[w] = cause{of: d, rows: st.axis != ""}
	return w, nil
}
