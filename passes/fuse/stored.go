package fuse

import (
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// source is where operations are written.
type source struct {
	scope string
	pos   diag.Pos
}

// unmade is an attention that is found and is no kernel.
type unmade struct {
	core *fusion.Core
	why  string
}

// warnUnmade warns of them, once for all phases and steps, and returns where they are written.
func warnUnmade(c *pass.Context, failed []unmade) (said map[source]bool) {
	rings := map[source]bool{}
	for _, u := range failed {
		at := source{u.core.Exp.Scope, u.core.Exp.Pos}
		rings[at] = rings[at] || ofRing(u.core)
	}
	said = map[source]bool{}
	for _, u := range failed {
		at, what := source{u.core.Exp.Scope, u.core.Exp.Pos}, "attention"
		if rings[at] {
			what = "a step of ring attention"
		}
		if !said[at] {
			c.Warnf(u.core.Exp, "%s takes several kernels and stores its scores: %s", what, u.why)
		}
		said[at] = at.pos.IsValid()
	}
	return said
}

// warnStored warns of each attention that no core is: a softmax between a product of
// queries and keys and one that reads the weights, whose form is none that is known.
// known are exponentials of those that are, said where something was said of.
func warnStored(c *pass.Context, f *ir.Func, readers map[*ir.Value][]*ir.Op, known map[*ir.Op]bool, said map[source]bool) {
	for _, o := range f.Ops {
		at := source{o.Scope, o.Pos}
		if o.Name != op.Exp || known[o] || said[at] {
			continue
		}
		for _, key := range sumsOf(o, readers) {
			s := &softmax{key: key, readers: readers, seen: map[*ir.Value]bool{}}
			if s.madeOfProduct(o.Args[0]) && s.readByProduct(o.Result()) {
				said[at] = o.Pos.IsValid()
				why := "its softmax does not have the form exp(s - max(s)) / sum(exp(s - max(s)))"
				if s.through != nil {
					why = "its scores go through `" + s.through.Name + "`"
				}
				c.Warnf(o, "attention takes several kernels and stores its scores: %s", why)
				break
			}
		}
	}
}

// sumsOf are the axes over which exponentials are summed, each alone.
func sumsOf(exp *ir.Op, readers map[*ir.Value][]*ir.Op) (keys []string) {
	for _, r := range readers[exp.Result()] {
		if over := r.Attrs.Names("over"); r.Name == op.ReduceSum && len(over) == 1 {
			keys = append(keys, over[0])
		}
	}
	return keys
}

// softmax is what is known of one whose exponentials are summed over the key.
type softmax struct {
	key     string
	readers map[*ir.Value][]*ir.Op
	seen    map[*ir.Value]bool
	through *ir.Op // what is done with scores as a whole
}

// step reports whether a value over the keys is the same before and behind o, but for
// work on each element, and notes what is more.
func (s *softmax) step(o *ir.Op) bool {
	switch class := op.Of(o).Class; {
	case class == op.Movement:
		if !op.Has(o, op.ByName) && s.through == nil {
			s.through = o
		}
		return true
	default:
		return class == op.Elementwise
	}
}

// madeOfProduct reports whether v is made of a product of which one operand has the keys,
// and both an axis that is left, as heads.
func (s *softmax) madeOfProduct(v *ir.Value) bool {
	o := v.Def
	if o == nil || s.seen[v] || !v.Type.Has(s.key) {
		return false
	}
	s.seen[v] = true
	if op.Of(o).Class == op.Contraction {
		x, y := o.Args[0].Type, o.Args[1].Type
		return x.Has(s.key) != y.Has(s.key) && slices.ContainsFunc(v.Type.Axes, func(a ir.Axis) bool { return x.Has(a.Name) && y.Has(a.Name) })
	}
	return s.step(o) && slices.ContainsFunc(o.Args, s.madeOfProduct)
}

// readByProduct reports whether a product sums v, or what is made of it, over the keys,
// by what has no queries.
func (s *softmax) readByProduct(v *ir.Value) bool {
	if s.seen[v] {
		return false
	}
	s.seen[v] = true
	for _, r := range s.readers[v] {
		if op.Of(r).Class == op.Contraction {
			if slices.Contains(r.Attrs.Names("over"), s.key) {
				return true
			}
			continue
		}
		if len(r.Results) == 1 && r.Result().Type.Has(s.key) && s.step(r) && s.readByProduct(r.Result()) {
			return true
		}
	}
	return false
}
