package fuse

import (
	"ptc/ir"
	"ptc/ir/op"
)

// recompute marks the values that readers compute again instead of reading:
// elementwise work of a bounded cost that needs to read at most one stored
// value of its own size. Storing those would cost a write, a buffer that lives
// from the forward to the backward pass, and as many reads.
func (p *program) recompute() {
	for _, g := range p.groups {
		for _, o := range g.ops {
			v := o.Results[0]
			if p.result[v] || !p.readOutside(v, g) || !p.readByName(v) {
				continue
			}
			leaves := map[*ir.Value]bool{}
			if cost := p.repeatCost(v, leaves, againFlops); cost < 0 {
				continue
			}
			big := 0
			for l := range leaves {
				if l.Type.Elems() >= v.Type.Elems() {
					big++
				}
			}
			if big <= mayBeShared {
				p.again[v] = true
			}
		}
	}
}

func (p *program) readOutside(v *ir.Value, g *group) bool {
	for _, r := range p.readers(v) {
		if p.of[r.o] != g {
			return true
		}
	}
	return false
}

// readByName reports whether every reader can take a computed value in the
// place of v.
func (p *program) readByName(v *ir.Value) bool {
	for _, r := range p.readers(v) {
		c := op.Of(r.o).Class
		if !r.byName || c == op.Indexed || c == op.Movement {
			return false
		}
		if c == op.Contraction && flopsPerElement(v.Def) > cheapFlops {
			return false
		}
	}
	return true
}

// repeatCost is what remains of the budget of flops per element after
// computing v from stored values, which it adds to leaves; negative if v
// cannot be computed so.
func (p *program) repeatCost(v *ir.Value, leaves map[*ir.Value]bool, budget int64) int64 {
	o := v.Def
	if o == nil || op.Of(o).Class != op.Elementwise || len(o.Results) != 1 {
		return -1
	}
	budget -= max(1, flopsPerElement(o))
	for _, a := range o.Args {
		if budget < 0 {
			return -1
		}
		w := a
		if view := p.views[a]; view != nil {
			w = view.base
			if p.again[w] {
				return -1
			}
		}
		switch {
		case w.Def != nil && p.free[w.Def]:
		case p.again[w]:
			if budget = p.repeatCost(w, leaves, budget); budget < 0 {
				return -1
			}
		case p.isStored(w):
			leaves[w] = true
		default:
			if budget = p.repeatCost(w, leaves, budget); budget < 0 {
				return -1
			}
		}
	}
	return budget
}

// isStored reports whether v is in memory whatever recompute decides: an
// argument, a result, read by another kernel, or the result of work that is
// never repeated and stored for another reader.
func (p *program) isStored(v *ir.Value) bool {
	if v.Def == nil || p.result[v] {
		return true
	}
	return p.readOutside(v, p.of[v.Def]) && !p.again[v]
}
