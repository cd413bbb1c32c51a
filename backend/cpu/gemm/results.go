package gemm

import "ptc/backend/kernel"

// sums are the sums of a task's tiles, in scratch.
type sums struct {
	*kBlock
	buf *kernel.Buffer // see scratch
}

// place is where row r of vector v of the product of tile t with panel p is.
func (g sums) place(t, p, r kernel.Index, v int64) kernel.Ref {
	at := r.Mul(g.nr).Plus(v * g.lanes)
	if g.accumulate {
		slot := p.Sub(g.panel0).Mul(g.mostTiles).Add(t.Sub(g.tile0))
		at = at.Add(slot.Mul(g.mr * g.nr))
	}
	return g.buf.At(at)
}

// finish hands the sums of tile t and panel p to Store.
func (g sums) finish(t, p kernel.Index) {
	row := g.row(t)
	rows := g.rowsOf(t, row)
	whole := g.N / g.lanes * g.lanes
	vecs := kernel.Int(g.vecs) // whole ones of the panel
	switch {
	case g.N%g.nr == 0:
	case g.panels == 1:
		vecs = kernel.Int(whole / g.lanes)
	default:
		vecs = g.b.MinIndex(kernel.Int(whole/g.lanes).Sub(p.Mul(g.vecs)), kernel.Int(g.vecs))
	}
	if whole > 0 {
		g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
			g.b.For(kernel.Between(kernel.Int(0), vecs), func(v kernel.Index) {
				g.hand(t, p, row, r, v.Mul(g.lanes), g.width, nil)
			})
		})
	}
	if whole == g.N {
		return
	}
	g.inLastPanel(p, func() {
		g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
			g.tail(kernel.Int(whole-(g.panels-1)*g.nr), g.N-whole, func(c kernel.Index, lanes int, mask *kernel.Value) {
				g.hand(t, p, row, r, c, lanes, mask)
			})
		})
	})
}

// hand gives lanes sums of row r of tile t, whose first row is row, from column
// c of panel p on, to Store.
func (g sums) hand(t, p, row, r, c kernel.Index, lanes int, mask *kernel.Value) {
	at := g.at
	at.M, at.N = row.Add(r), p.Mul(g.nr).Add(c)
	ref := g.place(t, p, r, 0)
	ref.Index = ref.Index.Add(c)
	g.Store(at, g.b.Load(ref, lanes), lanes, mask)
}
