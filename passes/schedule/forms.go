package schedule

import (
	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// One tensor may be needed on another device in several forms: in another dtype,
// with other axes, a shard of it. The smallest that determines the others is sent,
// once: what makes a value smaller is done before it is sent (shrink), and what is
// another form of what arrives is done behind it (remade).

// reforms reports whether o is another form of one value, which costs next to
// nothing to make.
func reforms(o *ir.Op) bool {
	if o == nil || len(o.Args) != 1 || len(o.Results) != 1 {
		return false
	}
	return o.Name == op.Cast || o.Name == collective.ShardSlice || op.Of(o).Class == op.Movement
}

// shrink moves operations that make a smaller form of a value to the device that
// sends it, where nothing else reads the value on theirs.
func (s *splitter) shrink() {
	readers := map[*ir.Value]map[int]int{} // how many operations of each device
	note := func(v *ir.Value, o *ir.Op, by int) {
		if d, ok := s.on(o); ok {
			if readers[v] == nil {
				readers[v] = map[int]int{}
			}
			readers[v][d] += by
		}
	}
	floats := map[*ir.Value]bool{} // read by what every device does for itself
	for _, o := range s.f.Ops {
		for _, v := range o.Args {
			if _, ok := s.on(o); !ok {
				floats[v] = true
			}
			note(v, o, 1)
		}
	}
	for _, o := range s.f.Ops {
		if o.Run != nil || !reforms(o) || o.Result().Type.Bytes() >= o.Args[0].Type.Bytes() {
			continue
		}
		v := o.Args[0]
		to, ok := s.on(o)
		from, known := s.keeper(v)
		if !ok || !known || from == to || readers[v][to] != 1 || floats[v] {
			continue
		}
		note(v, o, -1)
		at := ir.Slot{Stage: ir.At(s.place.Stages(from)[0]), Phase: ir.Forward}
		switch {
		case v.Def != nil && v.Def.Accumulates() != "": // it is there behind the last microbatch
			at = ir.Slot{Stage: v.Def.Stage, Phase: ir.Update}
		case v.Def != nil:
			at = v.Def.Slot
		}
		at.Remat, at.Run = at.Remat || o.Remat, nil
		o.Slot = at
		note(v, o, 1)
	}
}

// on is the device of o; false for what every device does for itself.
func (s *splitter) on(o *ir.Op) (int, bool) {
	at, ok := o.Stage.Get()
	if !ok {
		return 0, false
	}
	return s.device(at), true
}

// keeper is the device that makes v or keeps it; false where all do.
func (s *splitter) keeper(v *ir.Value) (int, bool) {
	if v.Def != nil {
		return s.on(v.Def)
	}
	for _, a := range s.f.Args {
		if a.Value == v && (a.Role == ir.RoleParam || a.Role == ir.RoleState) {
			return s.keeps(a), true
		}
	}
	return 0, false
}

// remade are the values among those that device d needs of others which it makes
// itself, out of another form: one that it needs or has anyway, one that several of
// them are made of, or a smaller one.
func (s *splitter) remade(d int, wanted []*ir.Value, home map[*ir.Value]int) map[*ir.Value]bool {
	here := map[*ir.Value]bool{}
	made := map[*ir.Value]int{} // bytes of what is wanted and made of a value
	for _, v := range wanted {
		here[v] = true
		for _, x := range forms(v)[1:] {
			made[x] += v.Type.Bytes()
		}
	}
	out := map[*ir.Value]bool{}
	for _, v := range wanted {
		chain, best := forms(v), 0
		for i, x := range chain[1:] {
			if at, ok := home[x]; !ok || at == d || here[x] {
				best = i + 1
				break
			}
			if n := x.Type.Bytes(); n < chain[best].Type.Bytes() || made[x] > v.Type.Bytes() && n < made[x] {
				best = i + 1
			}
		}
		for _, x := range chain[:best] {
			out[x] = true
		}
	}
	return out
}

// forms are v and what it is another form of, in turn.
func forms(v *ir.Value) []*ir.Value {
	out := []*ir.Value{v}
	for reforms(v.Def) {
		v = v.Def.Args[0]
		out = append(out, v)
	}
	return out
}
