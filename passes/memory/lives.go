package memory

import (
	"ptc/ir"
	"ptc/ir/op"
)

// lives are those of the values of f, in iterations as seen from place k of instance k.
// `enter` and `leave` are no instructions and read nothing. Gradients are read
// when they are computed, so being a result does not keep them. What a started
// collective sends is in use until that is done, if it does not receive in the same
// place. What a call has that is alone in its run is in use for all instances at once. What all instances of a run read is in use until they are through, and what is
// in use between ticks, from the first tick through the last.
func lives(t *timeline, elsewhere map[*ir.Value]bool) map[*ir.Value]life {
	out := map[*ir.Value]life{}
	for _, a := range t.f.Args {
		out[a.Value] = life{from: never, to: never, read: never}
	}
	for i, o := range t.f.Ops {
		for _, v := range o.Results {
			m := t.of(i, 0)
			if o.Name == op.Leave {
				m = t.whole(i)
			}
			out[v] = life{from: m, to: m, read: m}
			if t.alone[o] {
				out[v] = life{from: moment{m.seg, -through, m.pos}, to: t.whole(i), read: never}
			}
		}
		if ends(o) {
			continue
		}
		for _, v := range o.Args {
			l, m := out[v], t.use(i, v)
			l.to, l.read = later(l.to, m), later(l.read, m)
			out[v] = l
		}
	}
	for i, o := range t.f.Ops {
		if !op.Has(o, op.Completes) {
			continue
		}
		x := o.Args[0].Def
		for _, v := range x.Args {
			l, m := out[v], t.use(i, v)
			if l.to = later(l.to, m); l.read != never && l.read.before(m) && l.read != t.use(t.at(x), v) {
				l.read = never
			}
			out[v] = l
		}
	}
	t.between(out, elsewhere)
	for _, r := range t.f.Results {
		if r.Role != ir.RoleGrad {
			l := out[r.Value]
			l.to, l.read = t.end(), t.end()
			out[r.Value] = l
		}
	}
	return out
}

// use is when operation i uses v.
func (t *timeline) use(i int, v *ir.Value) moment {
	if v.In() == nil || t.alone[t.f.Ops[i]] {
		return t.whole(i)
	}
	return t.of(i, 0)
}

// ends reports whether o is at the end of a run or of a tick, and no instruction.
func ends(o *ir.Op) bool {
	switch o.Name {
	case op.Enter, op.Leave, op.EnterTick, op.LeaveTick:
		return true
	}
	return false
}
