package remat

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// uses are the readers of a value, through views.
type uses struct {
	forward  []*region // that have a node which reads it
	backward []*region // whose backward phase reads it
	stored   bool      // some reader cannot compute it in passing
}

// readers fills use.
func (b *builder) readers() {
	for _, o := range b.f.Ops {
		if b.free[o] || b.forward[o] && op.CanView(o) {
			continue
		}
		if b.forward[o] && (o.Name == ir.Enter || o.Name == ir.Leave) {
			b.carry(o)
			continue
		}
		class := op.Of(o).Class
		for _, a := range b.reads(o) {
			v := b.root(a)
			if v == nil || !b.forward[v.Def] {
				continue
			}
			u := b.use[v]
			if u == nil {
				u = &uses{}
				b.use[v] = u
			}
			u.stored = u.stored || class != op.Elementwise && class != op.Reduction || !sameNames(a, v)
			if b.forward[o] {
				u.forward = appendNew(u.forward, b.of[o])
				continue
			}
			r := b.byKey[b.name(keyOf(o.Scope), o)]
			if r == nil {
				r = b.of[v.Def]
			}
			u.backward = appendNew(u.backward, r)
		}
	}
}

// reads are o's operands, and in the backward phase, where one is over the queries and
// keys of an attention, all that it is computed of again.
func (b *builder) reads(o *ir.Op) (out []*ir.Value) {
	for _, a := range o.Args {
		if k := b.attentions.of[a]; k != nil && !b.forward[o] {
			out = append(out, inputs(k)...)
		} else {
			out = append(out, a)
		}
	}
	return out
}

// carry notes what enters the first instance of a run, or what leaves one, which is
// what enters the next.
func (b *builder) carry(o *ir.Op) {
	v := b.root(o.Args[len(o.Args)-1])
	if v == nil {
		return
	}
	b.carried[v] = true
	if o.Name == ir.Leave && v.Def.Name != ir.Enter {
		b.left[o.Args[0]], b.onward[v] = v, true
	}
}

// shared reports whether all instances of the run that r is of read one v.
func shared(v *ir.Value, r *region) bool {
	return r.run != nil && r.run.Stack.Count > 1 && v.In() != r.run.Stack
}

// findSame finds what enters the instances of a run under two names.
func (b *builder) findSame() {
	type pair struct{ first, then *ir.Value }
	known := map[pair]*ir.Value{}
	b.same = map[*ir.Value]*ir.Value{}
	for _, o := range b.f.Ops {
		if o.Name != ir.Leave || !b.forward[o] {
			continue
		}
		x := o.Args[0]
		k := pair{x.Def.Args[0], o.Args[1]}
		if first := known[k]; first != nil {
			b.same[x] = first
		} else {
			known[k] = x
		}
	}
}

// passed reports whether the instance before keeps v, which enters one, in any case:
// its backward phase reads what left it, or it could compute something again from that.
func (b *builder) passed(v *ir.Value) bool {
	y := b.left[v]
	return y != nil && b.use[y] != nil
}

// size is what keeping v takes for one instance.
func (b *builder) size(v *ir.Value) int64 {
	if b.passed(v) {
		return 0
	}
	return b.bytes(v)
}

func appendNew(list []*region, r *region) []*region {
	if slices.Contains(list, r) {
		return list
	}
	return append(list, r)
}

// sameNames reports whether the views between v and its root change no name.
func sameNames(v, root *ir.Value) bool {
	for v != root {
		if !op.Has(v.Def, op.ByName) {
			return false
		}
		v = v.Def.Args[0]
	}
	return true
}

// leaves reports whether v is read in the forward phase outside its region, or
// is a result of the step: then it is not rematerialized.
func (b *builder) leaves(v *ir.Value, r *region) bool {
	if b.result[v] || b.carried[v] {
		return true
	}
	if u := b.use[v]; u != nil {
		if slices.ContainsFunc(u.forward, func(x *region) bool { return x != r }) {
			return true
		}
	}
	return false
}

// holder is the region for which a value that leaves its own is kept on a
// device, and whether it is kept in any case: the backward phase reads it there,
// or several regions could, to compute something again, which are many where each
// instance of a run reads it, and two where it goes to the next one. It is kept from
// the first of them on.
func (b *builder) holder(v *ir.Value, device int) (h *region, fixed bool) {
	u := b.use[v]
	if u == nil {
		return nil, false
	}
	n := 0
	first := func(list []*region) {
		for _, x := range list {
			if b.device(x.stage) != device {
				continue
			}
			if n++; b.onward[v] || shared(v, x) {
				n++
			}
			if h == nil || x.at < h.at {
				h = x
			}
		}
	}
	if first(u.backward); h != nil {
		return h, true
	}
	first(u.forward)
	return h, n > 1
}

// countFixed adds what is kept in any case to the regions that it is kept for.
func (b *builder) countFixed(v *ir.Value) {
	u := b.use[v]
	if u == nil || !b.leaves(v, b.of[v.Def]) {
		return
	}
	done := map[int]bool{}
	for _, list := range [][]*region{u.backward, u.forward} {
		for _, x := range list {
			d := b.device(x.stage)
			if done[d] {
				continue
			}
			done[d] = true
			switch h, fixed := b.holder(v, d); {
			case fixed && shared(v, h):
				h.once += b.bytes(v)
			case fixed:
				h.fixed += b.size(v)
			}
		}
	}
}
