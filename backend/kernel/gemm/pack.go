package gemm

import "ptc/backend/kernel"

// packLeft copies rows rows of the left operand, from row on, over the block of
// K. It returns where the tile starts within its window along M, if it is
// packed that way.
func (g *gen) packLeft(row, rows kernel.Index) (shift kernel.Index) {
	if g.Left.Unit == AlongM {
		return g.packLeftAlongM(row)
	}
	whole := g.K / g.lanes * g.lanes
	g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
		at := g.at
		at.M = row.Add(r)
		first := at.K
		vector := func(k kernel.Index, lanes int, mask *kernel.Value) {
			at.K = first.Add(k)
			x := g.Left.Load(at, AlongK, lanes, mask)
			g.b.Store(g.left.At(r.Mul(g.depthStride()).Add(k)), x)
		}
		if whole > 0 {
			to := g.depthIn(whole)
			g.b.For(kernel.Between(kernel.Int(0), to).By(g.lanes).Unrolled(4), func(k kernel.Index) { vector(k, g.width, nil) })
		}
		if whole < g.K {
			g.inLastDepth(func() { g.tail(g.depthIn(whole), g.K-whole, vector) })
		}
	})
	return kernel.Int(0)
}

// packLeftAlongM copies a window of whole vectors along M that covers the tile
// at row. Where the last tiles would read past M, the window begins earlier; a
// matrix with fewer rows than a window is read under a mask.
func (g *gen) packLeftAlongM(row kernel.Index) (shift kernel.Index) {
	window := g.tileStride()
	if g.M >= window {
		start := row
		if g.tiles > 1 {
			start = g.least(row, g.M-window)
		}
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).Unrolled(4), func(k kernel.Index) {
			at := g.at
			at.K = at.K.Add(k)
			for v := int64(0); v < window; v += g.lanes {
				at.M = start.Plus(v)
				g.b.Store(g.left.At(k.Mul(window).Plus(v)), g.Left.Load(at, AlongM, g.width, nil))
			}
		})
		return row.Sub(start)
	}
	// All of M is within one window.
	whole := g.M / g.lanes * g.lanes
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)), func(k kernel.Index) {
		at := g.at
		at.K = at.K.Add(k)
		vector := func(m kernel.Index, lanes int, mask *kernel.Value) {
			at.M = m
			g.b.Store(g.left.At(k.Mul(window).Add(m)), g.Left.Load(at, AlongM, lanes, mask))
		}
		for v := int64(0); v < whole; v += g.lanes {
			vector(kernel.Int(v), g.width, nil)
		}
		if whole < g.M {
			g.tail(kernel.Int(whole), g.M-whole, vector)
		}
	})
	return row
}
