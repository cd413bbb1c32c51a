package gemm

import "ptc/backend/kernel"

// packLeft copies the tiles [from, to) of the left operand over the block of K.
func (g *gen) packLeft(from, to kernel.Index) {
	switch {
	case g.Left.Unit == AlongK:
		g.packRows(g.row(from), g.row(to))
	case g.M < g.tileStride():
		g.packNarrow()
	default:
		g.packWindows(from, to)
	}
}

// packRows copies rows [from, to) by loads along K.
func (g *gen) packRows(from, to kernel.Index) {
	whole := g.K / g.lanes * g.lanes
	g.b.For(kernel.Between(kernel.Int(0), to.Sub(from)), func(r kernel.Index) {
		at := g.at
		at.M = from.Add(r)
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
}

// window is where the window of whole vectors along M begins that covers tile
// t: at its first row, or earlier if it would end past M.
func (g *gen) window(t kernel.Index) kernel.Index {
	switch {
	case g.M < g.tileStride():
		return kernel.Int(0)
	case g.tiles == 1:
		return g.row(t)
	}
	return g.least(g.row(t), g.M-g.tileStride())
}

// strip is the number of steps of K that are copied of one tile or panel before
// the next: the rest of their cache lines, and the lines after them, are then
// still in L1, even if all steps are in one set of it.
const strip = 8

// strips runs body for the strips [first, end) of the block of K, and in each
// for every i in [from, to).
func (g *gen) strips(from, to kernel.Index, body func(i, first, end kernel.Index)) {
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(strip), func(first kernel.Index) {
		end := first.Plus(strip)
		if g.K%strip != 0 {
			end = g.lesser(end, g.depthIn(g.K))
		}
		g.b.For(kernel.Between(from, to), func(i kernel.Index) { body(i, first, end) })
	})
}

// packWindows copies the windows of tiles [from, to) by loads along M.
func (g *gen) packWindows(from, to kernel.Index) {
	size := g.tileStride()
	g.strips(from, to, func(t, first, end kernel.Index) {
		start := g.window(t)
		slot := t.Sub(from).Mul(g.kc)
		g.b.For(kernel.Between(first, end).Unrolled(4), func(k kernel.Index) {
			at := g.at
			at.K = at.K.Add(k)
			for v := int64(0); v < size; v += g.lanes {
				at.M = start.Plus(v)
				g.b.Store(g.left.At(slot.Add(k).Mul(size).Plus(v)), g.Left.Load(at, AlongM, g.width, nil))
			}
		})
	})
}

// packNarrow copies all of M, which is less than a window.
func (g *gen) packNarrow() {
	whole := g.M / g.lanes * g.lanes
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)), func(k kernel.Index) {
		at := g.at
		at.K = at.K.Add(k)
		vector := func(m kernel.Index, lanes int, mask *kernel.Value) {
			at.M = m
			g.b.Store(g.left.At(k.Mul(g.tileStride()).Add(m)), g.Left.Load(at, AlongM, lanes, mask))
		}
		for v := int64(0); v < whole; v += g.lanes {
			vector(kernel.Int(v), g.width, nil)
		}
		if whole < g.M {
			g.tail(kernel.Int(whole), g.M-whole, vector)
		}
	})
}
