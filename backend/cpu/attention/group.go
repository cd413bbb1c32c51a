package attention

import (
	"slices"

	"ptc/backend/kernel"
)

// group is the rows of a task at one position of the loops around them, against a block of keys.
type group struct {
	*keyBlock
	at     At           // of the rows
	base   kernel.Index // number among acc's rows of the first row
	limits []Limit
}

// newGroup asks for the limits of the rows at at.
func (g *task) newGroup(k *keyBlock, at At, base kernel.Index) *group {
	x := &group{keyBlock: k, at: at, base: base}
	if g.limited {
		x.limits = g.Limits(at)
	}
	return x
}

// sees is the range of keys of the block that any of the rows first to last sees, by
// its limits: to ≤ from where none does.
func (g *group) sees(first, last kernel.Index) (from, to kernel.Index) {
	from, to = g.key0, g.key1
	for _, l := range g.limits {
		switch {
		case l.Upper && l.Row:
			to = g.b.MinIndex(to, last.Add(l.At).Plus(1))
		case l.Upper:
			to = g.b.MinIndex(to, l.At.Plus(1))
		case l.Row:
			from = g.b.MaxIndex(from, first.Add(l.At))
		default:
			from = g.b.MaxIndex(from, l.At)
		}
	}
	return from, g.b.MaxIndex(to, g.key0)
}

// bounded reports whether anything bounds the keys of a row from above, or below.
func (g *group) bounded(upper bool) bool {
	return slices.ContainsFunc(g.limits, func(l Limit) bool { return l.Upper == upper })
}

// visible runs body where any of the rows from r on sees a key of the block.
func (g *group) visible(r kernel.Index, rows int64, body func()) {
	if len(g.limits) == 0 {
		body()
		return
	}
	from, to := g.sees(r, r.Plus(rows-1))
	g.b.When(g.less(from, to), body)
}

// rowBlocks generates the blocks of rows that see keys of the block.
func (g *group) rowBlocks() {
	if g.Rows <= g.rb && g.row0.IsConst() {
		g.visible(g.row0, g.rb, func() { g.rowBlock(g.row0) })
		return
	}
	g.b.For(kernel.Between(g.row0, g.row1).By(g.rb), func(r kernel.Index) {
		g.visible(r, g.rb, func() { g.rowBlock(r) })
	})
}

// rowBlock generates the block of rows from r on.
func (g *group) rowBlock(r kernel.Index) {
	n := kernel.Int(g.rb)
	switch {
	case g.Rows <= g.rb:
		n = kernel.Int(g.Rows)
	case g.Rows%g.rb != 0:
		n = g.b.MinIndex(kernel.Int(g.Rows).Sub(r), n)
	}
	x := &block{group: g, row: r, rows: n, tiles: g.div(n.Plus(g.mr-1), g.mr), slot: g.base.Add(r)}
	x.lo, x.hi = g.sees(r, r.Plus(g.rb-1))
	if g.split {
		x.packed0 = x.slot
	} else {
		g.packRows(r, r.Add(n))
	}
	for i := range g.Into {
		x.into(i)
	}
	x.sweep()
	for i, o := range g.Outs {
		switch {
		case o.Over != OverKeys:
			x.overRows(i)
		case g.stored(o):
			x.resume(i)
			x.overKeys(i, kernel.Int(0))
			x.suspend(i)
		default:
			x.overKeys(i, x.slot)
		}
	}
}

// packRows copies the rows from first to before end of all row operands.
func (g *group) packRows(first, end kernel.Index) {
	for i := range g.ByRow {
		o := &g.ByRow[i]
		stride := g.rowStride(o)
		g.b.For(kernel.Between(kernel.Int(0), end.Sub(first)), func(j kernel.Index) {
			g.loop(o.Subs, func(sub []kernel.Index, s kernel.Index) {
				at := g.at
				at.Row, at.Sub = first.Add(j), sub
				to := j.Mul(stride).Add(s.Mul(g.padded(o)))
				g.columns(o, func(c kernel.Index, l Lanes) {
					at.Col = c
					g.b.Store(g.mem.packed[i].At(to.Add(c)), o.Load(at, AlongCols, l))
				})
			})
		})
	}
}
