package attention

import "ptc/backend/kernel"

// bound asks for the limits of the group at hand.
func (g *gen) bound() {
	if g.limited {
		g.limits = g.Limits(g.at)
	}
}

// sees is the range of keys of the block that any of the rows first to last sees, by
// its limits: to ≤ from where none does.
func (g *gen) sees(first, last kernel.Index) (from, to kernel.Index) {
	from, to = g.key0, g.key1
	for _, l := range g.limits {
		switch {
		case l.Upper && l.Row:
			to = g.lesser(to, last.Add(l.At).Plus(1))
		case l.Upper:
			to = g.lesser(to, l.At.Plus(1))
		case l.Row:
			from = g.greater(from, first.Add(l.At))
		default:
			from = g.greater(from, l.At)
		}
	}
	return from, g.greater(to, g.key0)
}

// lower and upper say whether anything bounds the keys of a row from there.
func (g *gen) lower() bool { return g.bounded(false) }
func (g *gen) upper() bool { return g.bounded(true) }

func (g *gen) bounded(upper bool) bool {
	for _, l := range g.limits {
		if l.Upper == upper {
			return true
		}
	}
	return false
}

// visible runs body where any of the rows from r on sees a key of the block.
func (g *gen) visible(r kernel.Index, rows int64, body func()) {
	if len(g.limits) == 0 {
		body()
		return
	}
	from, to := g.sees(r, r.Plus(rows-1))
	g.when(g.less(from, to), body)
}
