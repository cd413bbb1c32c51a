package stage

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// sumFromZero has each microbatch start from zero what instances of a stack add up, as
// terms of the loss that each block has, if o adds a partial sum to it. What enters the
// first instance is a constant, which does not say that the sum is one of terms of the
// batch.
func (s *splitter) sumFromZero(o *ir.Op) {
	if o.Name != op.Add || o.Run == nil || len(o.Args) != 2 {
		return
	}
	for i, v := range o.Args {
		x := s.of[o.Args[1-i]]
		if x == nil || x.axis != "" || x.kind != "sum" || !s.startsAtZero(v, o) {
			continue
		}
		e, run := v.Def, o.Run
		s.text.rest[run] = slices.DeleteFunc(s.text.rest[run], func(r *ir.Op) bool { return r == e })
		zero := s.f.NewOp(op.Const, nil, ir.A("value", ir.Float(0), "dtype", ir.Name(v.Type.DType.String())), v.Type.Clone())
		zero.Scope, zero.Pos, zero.Slot = e.Scope, e.Pos, s.slot(e, true)
		s.stage[zero], s.phase[zero] = s.stage[e], s.phase[e]
		s.text.rest[run] = slices.Insert(s.text.rest[run], 0, zero) // which is in front of the run
		st := &state{kind: "sum"}
		st.part = s.one(e, zero.Results, []ir.Type{v.Type.Clone()}, []*state{st})[0]
		s.of[v] = st
	}
}

// startsAtZero reports whether v enters the instances of o's run, is 0 for the first one,
// and is read by o and by what leaves its result alone.
func (s *splitter) startsAtZero(v *ir.Value, o *ir.Op) bool {
	e := v.Def
	if e == nil || e.Name != op.Enter || e.Run != o.Run || s.of[v] != nil || !fusion.IsConst(e.Args[0], 0) {
		return false
	}
	left := false
	for _, u := range s.f.Ops {
		if u == o || !slices.Contains(u.Args, v) {
			continue
		}
		if u.Name != op.Leave || u.Args[0] != v || u.Args[1] != o.Result() {
			return false
		}
		left = true
	}
	return left
}
