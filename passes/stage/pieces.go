package stage

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// source is what a microbatch has of o, which makes positions or random numbers along
// the cut axis: those of its elements in the whole.
func (s *splitter) source(o *ir.Op, args []*ir.Value, t ir.Type, axis string, at ir.Slot) []*ir.Value {
	s.b.Scope, s.b.Pos, s.b.Slot = o.Scope, o.Pos, at
	defer func() { s.b.Slot = ir.Slot{} }()
	note := func(v *ir.Value) *ir.Value {
		s.stage[v.Def], s.phase[v.Def] = s.stage[o], s.phase[o]
		return v
	}
	if len(args) == 0 { // index: element k of part i is k·m + i of the whole
		x := note(s.b.Emit(o.Name, o.Attrs.With("size", ir.Int(t.Size(axis)))))
		x = note(s.b.Scale(x, float64(s.m)))
		return []*ir.Value{note(s.b.Add(x, s.number()))}
	}
	// Position k of part i is k·m + i of the whole, for random numbers as well.
	var axes ir.Sizes
	for _, a := range t.Axes {
		axes = append(axes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	attrs := op.Window(o.Attrs.With("axes", axes), t, axis, t.Size(axis)*s.m, 0).
		With(ir.AttrRuns, ir.Sizes{{Name: axis, N: 1}}).With(ir.AttrMoves, ir.Name(axis))
	return []*ir.Value{note(s.b.Emit(o.Name, attrs, append(slices.Clone(args), s.number())...))}
}

// cut is what the microbatch has of v along axis, on a stage: v is split into
// [part, microbatch] once, of which each looks up its own.
func (s *splitter) cut(v *ir.Value, axis string, stage int) *ir.Value {
	key := fmt.Sprintf("%d %s", v.ID, axis)
	if s.wide[key] == nil {
		s.b.Slot = ir.Slot{}
		s.wide[key] = s.b.Emit(op.Split, ir.A("axis", ir.Name(axis), "into", ir.Sizes{{Name: axis, N: v.Type.Size(axis) / s.m}, {Name: microAxis, N: s.m}}), v)
		s.stage[s.wide[key].Def] = anywhere
	}
	s.b.Slot = ir.Slot{Stage: ir.At(max(0, stage)), Phase: ir.Forward, Micro: true}
	x := s.b.Emit(op.Gather, ir.A("axis", ir.Name(microAxis)), s.wide[key], s.number())
	s.b.Slot = ir.Slot{}
	return x
}

// paste is the inverse of cut for all microbatches: zeros but for the part.
func (s *splitter) paste(part *ir.Value, axis string) (*ir.Value, error) {
	var out ir.Sizes
	for _, a := range part.Type.Axes {
		out = append(out, ir.SizeOf{Name: a.Name, N: a.Size})
		if a.Name == axis {
			out = append(out, ir.SizeOf{Name: microAxis, N: s.m})
		}
	}
	x, err := s.b.TryEmit(op.ScatterAdd, []*ir.Value{part, s.number()}, ir.A("axis", ir.Name(microAxis), "out", out))
	if err != nil {
		return nil, err
	}
	return s.b.Emit(op.Merge, ir.A("axes", ir.Names{axis, microAxis}, "into", ir.Name(axis)), x[0]), nil
}

// join makes v whole: the parts one after the other, or the sum (maximum) of partial
// ones, accumulated where they are made.
func (s *splitter) join(v *ir.Value) (*ir.Value, error) {
	if w := s.whole[v]; w != nil {
		return w, nil
	}
	if s.given[v] {
		return s.again(v), nil
	}
	st := s.of[v]
	d := st.part.Def
	if st.kind == own {
		return nil, s.tooLate(d)
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
			return nil, s.tooLate(d)
		}
		x = pasted
	} else if st.kind == "max" {
		by = op.AccumulateMax
	}
	w := s.b.Emit(by, nil, x)
	s.stage[w.Def], s.phase[w.Def] = s.stage[d], s.phase[d]
	w = s.reordered(w, v.Type)
	s.whole[v] = w
	s.late[w] = true
	return w, nil
}

// reordered is w, of all microbatches, with the axes in the order of t.
func (s *splitter) reordered(w *ir.Value, t ir.Type) *ir.Value {
	s.b.Slot.Micro, s.b.Slot.Phase = false, ir.Update
	return s.b.Reorder(w, t)
}
