package ringattention

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// core is one attention: out = dot(w, values) over the keys, where w is a
// softmax over the keys, and what is proportional to it, such as dropout:
//
//	norm = e / l   with e = exp(scores − c), l the sum of e over the keys, and of sinks
//
// The constant c, usually the largest score, changes nothing, and is replaced.
type core struct {
	out     *ir.Op
	key     string // the name of the axis of keys
	weights *ir.Value
	values  *ir.Value
	left    bool // weights are the first operand of out
	norm    *ir.Op
	scores  *ir.Value
	sinks   []fusion.Sink
	seen    reach
}

// causal reports whether no query sees keys after it.
func (k *core) causal() bool { return k.seen.least >= 0 }

// refusal is an attention that stays as it is.
type refusal struct {
	at  *ir.Op
	why string
}

// cores lists the attentions along the ring's axis, and those that cannot be
// cut, with the reason.
func (w *rewriter) cores() (found []*core, refused []refusal) {
	for _, o := range w.f.Ops {
		key := w.keyOf(o)
		if key == "" {
			continue
		}
		k := w.match(o, key)
		why := ""
		switch size := o.Args[0].Type.Size(key); {
		case k == nil:
			why = fmt.Sprintf("the weights are not a softmax over `%s`", key)
		case size%w.devices != 0:
			why = fmt.Sprintf("%d positions of `%s` do not divide into %d equal blocks", size, w.axis, w.devices)
		case len(found) > 0 && size != w.size:
			why = fmt.Sprintf("`%s` has %d positions here and %d in another attention", w.axis, size, w.size)
		default:
			w.size = size
			why = w.inexpressible(k)
		}
		if why != "" {
			refused = append(refused, refusal{o, why})
		} else if w.c.May("a ring", o) {
			found = append(found, k)
		}
	}
	return found, refused
}

// keyOf is the axis of keys where o mixes values by weights of queries and
// keys, or empty.
func (w *rewriter) keyOf(o *ir.Op) string {
	if o.Name != op.Dot || len(o.Attrs.Names("over")) != 1 {
		return ""
	}
	key := o.Attrs.Names("over")[0]
	a, b := o.Args[0].Type, o.Args[1].Type
	if !w.keys[key] || a.Has(w.axis) == b.Has(w.axis) {
		return ""
	}
	if n := a.Size(w.axis) + b.Size(w.axis); n != a.Size(key) {
		w.c.Because(o, "no ring: %d queries meet %d keys", n, a.Size(key))
		return ""
	}
	return key
}

// match is the core that ends with o, or nil.
func (w *rewriter) match(o *ir.Op, key string) *core {
	k := &core{out: o, key: key, left: o.Args[0].Type.Has(w.axis)}
	k.weights, k.values = o.Args[0], o.Args[1]
	if !k.left {
		k.weights, k.values = k.values, k.weights
	}
	if k.norm = fusion.Softmax(k.weights, key); k.norm == nil {
		return nil
	}
	k.scores, k.sinks = fusion.SoftmaxOf(k.norm, key)
	k.seen = reachOf(w.masks(key).Scores(k.scores))
	return k
}

// position is the axis of which v is the logical position, or empty.
func (w *rewriter) position(v *ir.Value) string {
	if w.order != nil {
		if axis := w.order.positions[v]; axis != "" {
			return axis
		}
	}
	if o := v.Def; o != nil && o.Name == op.Index && !o.Attrs.Has("first") {
		if axis := o.Attrs.Text("axis"); axis == w.axis || w.keys[axis] {
			return axis
		}
	}
	return ""
}

// source reports whether v is computed from constants and positions alone.
func (w *rewriter) source(v *ir.Value) bool {
	if w.position(v) != "" {
		return true
	}
	if v.Def == nil {
		return false
	}
	d := op.Of(v.Def)
	if len(v.Def.Args) == 0 {
		return d.Class == op.Source
	}
	if d.Class != op.Elementwise {
		return false
	}
	for _, a := range v.Def.Args {
		if !w.source(a) {
			return false
		}
	}
	return true
}
