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
	s.b.Scope, s.b.Pos, s.b.Slot = o.Scope, o.Pos, at
	defer func() { s.b.Slot = ir.Slot{} }()
	from := len(s.out)
	var x *ir.Value
	if len(args) == 0 {
		x = s.positions(o, axis, t.Size(axis)/s.shards)
	} else {
		x = s.numbers(o, args, t, axis)
	}
	for _, n := range s.out[from:] {
		s.stage[n], s.phase[n] = s.stage[o], s.phase[o]
	}
	return []*ir.Value{x}
}

// positions are those of the microbatch's rows, so many of each shard.
func (s *splitter) positions(o *ir.Op, axis string, rows int) *ir.Value {
	row := s.inner(axis, s.names.row)
	index := func(axis string, size int) *ir.Value {
		return s.b.Emit(o.Name, ir.A("axis", ir.Name(axis), "size", ir.Int(size)))
	}
	x := s.b.Add(index(row, rows), s.b.Scale(s.number(), float64(rows)))
	if s.shards > 1 {
		x = s.b.Add(s.b.Scale(index(axis, s.shards), float64(s.m*rows)), x)
	}
	return s.fromShards(x, axis, row)
}

// numbers are the random ones of the microbatch's rows: so many of each shard follow one
// another in the whole batch.
func (s *splitter) numbers(o *ir.Op, args []*ir.Value, t ir.Type, axis string) *ir.Value {
	rows := t.Size(axis) / s.shards
	attrs := op.Window(o.Attrs.With("axes", sizesOf(t)), t, axis, t.Size(axis)*s.m, 0).
		With(ir.AttrRuns, ir.Sizes{{Name: axis, N: rows}}).With(ir.AttrMoves, ir.Name(axis))
	return s.b.Emit(o.Name, attrs, append(slices.Clone(args), s.number())...)
}

// cut is what the microbatch has of v along axis, on a stage: v is split once, and each
// microbatch looks up its own part.
func (s *splitter) cut(v *ir.Value, axis string, stage int) *ir.Value {
	key := fmt.Sprintf("%d %s", v.ID, axis)
	row, block := s.inner(axis, s.names.row), s.inner(axis, s.names.block)
	if s.wide[key] == nil {
		s.b.Slot = ir.Slot{}
		from := len(s.out)
		x := s.intoShards(v, axis, block)
		s.wide[key] = s.b.Emit(op.Split, ir.A("axis", ir.Name(block), "into", ir.Sizes{{Name: s.names.micro, N: s.m}, {Name: row, N: x.Type.Size(block) / s.m}}), x)
		for _, o := range s.out[from:] {
			s.stage[o] = anywhere
		}
	}
	s.b.Slot = ir.Slot{Stage: ir.At(max(0, stage)), Phase: ir.Forward, Micro: true}
	x := s.b.Emit(op.Gather, ir.A("axis", ir.Name(s.names.micro)), s.wide[key], s.number())
	x = s.fromShards(x, axis, row)
	s.b.Slot = ir.Slot{}
	return x
}

// paste is the inverse of cut for all microbatches: zeros but for the part.
func (s *splitter) paste(part *ir.Value, axis string) (*ir.Value, error) {
	row := s.inner(axis, s.names.row)
	x := s.intoShards(part, axis, row)
	var out ir.Type
	for _, a := range x.Type.Axes {
		if a.Name == row {
			out.Axes = append(out.Axes, ir.Axis{Name: s.names.micro, Size: s.m})
		}
		out.Axes = append(out.Axes, a)
	}
	r, err := s.b.TryEmit(op.ScatterAdd, []*ir.Value{x, s.number()}, ir.A("axis", ir.Name(s.names.micro), "out", sizesOf(out)))
	if err != nil {
		return nil, err
	}
	return s.joined(r[0], axis), nil
}

// joined is v, which has axis as shards, microbatches and rows, with axis as one.
func (s *splitter) joined(v *ir.Value, axis string) *ir.Value {
	block := s.inner(axis, s.names.block)
	v = s.b.Emit(op.Merge, ir.A("axes", ir.Names{s.names.micro, s.inner(axis, s.names.row)}, "into", ir.Name(block)), v)
	return s.fromShards(v, axis, block)
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
	s.b.Scope, s.b.Pos, s.b.Slot = d.Scope, d.Pos, d.Slot
	if d.Name == op.Leave {
		s.b.Slot.Run = nil
	}
	defer func() { s.b.Slot = ir.Slot{} }()
	x, by := st.part, op.Accumulate
	if st.axis != "" {
		pasted, err := s.paste(x, st.axis)
		if err != nil {
			return nil, s.tooLate(d, v)
		}
		x = pasted
	} else if st.kind == "max" {
		by = op.AccumulateMax
	}
	w := s.b.Emit(by, nil, x)
	s.stage[w.Def], s.phase[w.Def] = s.stage[d], s.phase[d]
	w = s.reordered(w, v.Type)
	s.whole[v] = w
	s.late[w] = cause{of: d, rows: st.axis != ""}
	return w, nil
}

// reordered is w, of all microbatches, with the axes in the order of t.
func (s *splitter) reordered(w *ir.Value, t ir.Type) *ir.Value {
	s.b.Slot.Micro, s.b.Slot.Phase = false, ir.Update
	return s.b.Reorder(w, t)
}
