package fuse

import (
	"maps"
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// fewReaders are looked through each time; of what is read in every layer it is noted
// which groups do.
const fewReaders = 8

// storage decides which of the values that other kernels read are stored and
// which the readers compute again: for each group it looks for one value w of
// the group such that storing w alone, and computing the others from it, moves
// the fewest bytes. It is the one-cut case of choosing what the backward pass
// keeps by minimum cut (Chen et al., "Training Deep Nets with Sublinear Memory
// Cost", 2016, where elementwise work is the first to be repeated).
type storage struct {
	c       *pass.Context
	in      *facts
	groups  *grouping
	again   map[*ir.Value]bool            // rematerialized by readers, not stored
	keep    map[*ir.Value]bool            // stored so that others can be rematerialized
	readBys map[*ir.Value]map[*group]bool // see readBy: by values with many readers
}

func newStorage(c *pass.Context, groups *grouping) *storage {
	p := &storage{c, groups.in, groups, map[*ir.Value]bool{}, map[*ir.Value]bool{}, map[*ir.Value]map[*group]bool{}}
	for o, x := range p.in.ops {
		if x.castFirst {
			p.keep[o.Result()] = true
		}
	}
	if c.Target.Join != nil { // other software stores what its kernels produce
		return p
	}
	for _, g := range groups.list {
		for range 4 { // one choice may make another worthwhile
			if !p.recomputeGroup(g) {
				break
			}
		}
	}
	return p
}

// choice is a value to store and the values rematerialized from it.
type choice struct {
	keep    *ir.Value // nil: nothing that is not stored anyway
	again   []*ir.Value
	between map[*ir.Value]bool // values on the way to those, read by nobody else
	savings int64              // bytes
}

// path is what computing a value again reads and passes through.
type path struct{ leaves, between map[*ir.Value]bool }

func (p *storage) recomputeGroup(g *group) bool {
	var shared []*ir.Value
	for _, o := range g.ops {
		for _, v := range o.Results {
			if v.Type.Bytes() >= againBytes && !p.in.result[v] && !p.again[v] && !p.keep[v] && p.groups.readOutside(v, g) && p.readByName(v) {
				shared = append(shared, v)
			}
		}
	}
	if len(shared) == 0 {
		return false
	}
	best := p.evaluate(nil, shared)
	for _, o := range g.ops {
		for _, w := range o.Results {
			if g.class != fusion.Attend && spaceOf(w.Type.Axes) == g.space && !p.again[w] {
				if c := p.evaluate(w, shared); c.savings > best.savings {
					best = c
				}
			}
		}
	}
	if best.savings <= 0 || len(best.again) == 0 || !p.c.May("compute again", best.again[0].Def) {
		return false
	}
	if best.keep != nil {
		p.keep[best.keep] = true
	}
	for _, v := range best.again {
		best.between[v] = true
	}
	maps.Copy(p.again, best.between)
	return true
}

// evaluate supposes that w is stored and every other shared value computed
// again, takes back those that cannot be, and counts the bytes saved.
func (p *storage) evaluate(w *ir.Value, shared []*ir.Value) choice {
	keepBefore := w != nil && p.keep[w]
	if w != nil {
		p.keep[w] = true
	}
	var try []*ir.Value
	for _, v := range shared {
		if v != w {
			try = append(try, v)
			p.again[v] = true
		}
	}
	paths := map[*ir.Value]path{}
	for changed := true; changed; {
		changed = false
		kept := try[:0]
		for _, v := range try {
			l := path{map[*ir.Value]bool{}, map[*ir.Value]bool{}}
			if p.repeatCost(v, l, p.budget(v)) >= 0 {
				paths[v] = l
				kept = append(kept, v)
				continue
			}
			delete(p.again, v)
			changed = true
		}
		try = kept
	}
	c := choice{keep: w, again: slices.Clone(try), between: map[*ir.Value]bool{}}
	for _, v := range try {
		delete(p.again, v)
		maps.Copy(c.between, paths[v].between)
	}
	if w != nil && !keepBefore {
		delete(p.keep, w)
	}
	c.savings = p.savings(c, paths)
	return c
}

// budget is the flops per element that may be repeated for v: little where it
// is packed for a contraction, which may happen several times.
func (p *storage) budget(v *ir.Value) int64 {
	if slices.ContainsFunc(p.in.readers(v), func(r reader) bool { return op.Of(r.o).Class == op.Contraction }) {
		return packFlops
	}
	return againFlops
}

// savings counts bytes: each value not written, and for each reading group
// what it reads less, minus what it reads more.
func (p *storage) savings(c choice, paths map[*ir.Value]path) int64 {
	var total int64
	if c.keep != nil && !p.isStored(c.keep) {
		total -= int64(c.keep.Type.Bytes())
	}
	more := map[*group]map[*ir.Value]bool{}
	small := map[*ir.Value]bool{}
	for _, v := range c.again {
		total += int64(v.Type.Bytes())
		seen := map[*group]bool{p.groups.of[v.Def]: true}
		for _, r := range p.in.readers(v) {
			g := p.groups.of[r.o]
			if seen[g] {
				continue
			}
			seen[g] = true
			total += int64(v.Type.Bytes())
			if more[g] == nil {
				more[g] = map[*ir.Value]bool{}
			}
			maps.Copy(more[g], paths[v].leaves)
		}
		for l := range paths[v].leaves {
			if l != c.keep && !p.isStored(l) {
				small[l] = true
			}
		}
	}
	for g, ls := range more {
		for l := range ls {
			if !p.readBy(g, l) {
				total -= int64(l.Type.Bytes())
			}
		}
	}
	for l := range small {
		total -= int64(l.Type.Bytes())
	}
	return total
}

// readBy reports whether an operation of g reads v already.
func (p *storage) readBy(g *group, v *ir.Value) bool {
	readers := p.in.readers(v)
	if len(readers) <= fewReaders {
		return slices.ContainsFunc(readers, func(r reader) bool { return p.groups.of[r.o] == g })
	}
	groups := p.readBys[v]
	if groups == nil {
		groups = make(map[*group]bool, len(readers))
		p.readBys[v] = groups
		for _, r := range readers {
			groups[p.groups.of[r.o]] = true
		}
	}
	return groups[g]
}

// readByName reports whether every reader can take a computed value in the
// place of v.
func (p *storage) readByName(v *ir.Value) bool {
	return !slices.ContainsFunc(p.in.readers(v), func(r reader) bool {
		c := op.Of(r.o).Class
		return !r.byName || c == op.Indexed || c == op.Movement || alone(r.o) || stackOf(r.o) != stackOf(v.Def)
	})
}

// repeatCost is what remains of the budget of flops per element after
// computing v from stored values, which it adds to the path's leaves; negative
// if v cannot be computed so. A value much smaller than v may become a leaf
// even if nothing else would have it stored.
func (p *storage) repeatCost(v *ir.Value, l path, budget int64) int64 {
	o := v.Def
	if o == nil || op.Of(o).Class != op.Elementwise || len(o.Results) != 1 {
		return -1
	}
	budget -= max(1, flopsPerElement(o))
	for _, a := range o.Args {
		if budget < 0 {
			return -1
		}
		w := p.in.stored(a)
		switch {
		case w.Def != nil && p.in.ops[w.Def].free:
		case p.again[w]:
			if w != a {
				return -1
			}
			budget = p.repeatCost(w, l, budget)
		case p.isStored(w) || w.Type.Elems() <= v.Type.Elems()/smallLeaf && p.canStore(w):
			l.leaves[w] = true
		case w != a:
			return -1
		default:
			l.between[w] = true
			budget = p.repeatCost(w, l, budget)
		}
	}
	return budget
}

// canStore reports whether the kernel that computes v can write it: a value
// over its space, or over the kept axes of its reductions.
func (p *storage) canStore(v *ir.Value) bool {
	g, s := p.groups.of[v.Def], spaceOf(v.Type.Axes)
	switch g.class {
	case fusion.Row:
		return s == g.space || s == g.kept
	case fusion.Column:
		return s == g.kept
	case fusion.Attend:
		return false // but for what it stores anyway
	}
	return s == g.space
}

// isStored reports whether v is in memory: an argument, a result, chosen to be
// kept, or read by another kernel that does not compute it again.
func (p *storage) isStored(v *ir.Value) bool {
	return v.Def == nil || p.in.result[v] || p.keep[v] || p.groups.readOutside(v, p.groups.of[v.Def]) && !p.again[v]
}
