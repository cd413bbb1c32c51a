package gemm

import "ptc/backend/kernel"

// packTile copies tile t of the left operand: steps of K in 32 at a time, of which each
// row has 16 pairs.
func (g *leftPack) packTile(t kernel.Index) {
	if g.Left.Unit == AlongM {
		g.packTurned(t)
		return
	}
	const deep = 2 * line
	row := g.row(t)
	whole := g.K / deep * deep
	g.b.For(kernel.Between(kernel.Int(0), g.rowsOf(t, row)), func(r kernel.Index) {
		at := g.at
		at.M = row.Add(r)
		steps := func(k kernel.Index, exist int64) {
			g.b.Store(g.inTile(t, k, r), g.pairsAlong(g.Left, at, k, exist))
		}
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(whole)).By(deep), func(k kernel.Index) { steps(k, deep) })
		if whole < g.K {
			g.inLastDepth(func() { steps(g.depthIn(whole), g.K-whole) })
		}
	})
}

// inTile is where the packed block has the 16 pairs of row r of tile t from step k on, a
// multiple of 32.
func (g *leftPack) inTile(t, k, r kernel.Index) kernel.Ref {
	return g.buf.At(t.Sub(g.tile0).Mul(g.slotStride()).Add(k.Mul(g.leftStep())).Add(r.Mul(line)))
}

// packTurned is packTile of an operand that is contiguous along M: vectors of rows, of
// 16 pairs of steps, are transposed by way of a buffer, so that what is done before the
// product is generated once.
func (g *leftPack) packTurned(t kernel.Index) {
	half := func(first int64) {
		var mask *kernel.Value
		if g.M%line != 0 {
			mask = g.b.TailMask(kernel.Int(g.M).Sub(g.row(t)).Plus(-first), g.width)
		}
		at := g.at
		at.M = g.row(t).Plus(first)
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(2*line), func(k kernel.Index) {
			exist := kernel.Int(line) // pairs, of which the last may have a step alone
			if g.K%(2*line) != 0 {
				left := g.depthIn(g.K).Sub(k).Plus(1)
				v := g.b.Value(left)
				exist = g.b.MinIndex(kernel.Of(g.b.Div(v, g.b.ConstInt(v.Type, 2))), kernel.Int(line))
			}
			g.b.For(kernel.Between(kernel.Int(0), exist), func(i kernel.Index) {
				g.b.Store(g.stage.At(i.Mul(line)), g.packed(g.Left, at, k.Add(i.Mul(2)), AlongM, g.width, mask, false))
			})
			if !exist.IsConst() {
				g.b.For(kernel.Between(exist, kernel.Int(line)), func(i kernel.Index) { g.clear(g.stage.At(i.Mul(line))) })
			}
			pairs := make([]*kernel.Value, line)
			for i := range pairs {
				pairs[i] = g.b.Load(g.stage.At(kernel.Int(int64(i)*line)), g.width)
			}
			for r, x := range transpose(g.b, pairs) {
				g.b.Store(g.inTile(t, k, kernel.Int(first+int64(r))), x)
			}
		})
	}
	half(0)
	if g.mr > kernel.TileRows {
		g.ifBothHalves(t, func() { half(kernel.TileRows) }, nil)
	}
}

// packWords copies the n columns of vector v of panel p from an operand that is contiguous
// along K: pairs of steps, as they lie there, are transposed in registers. A column that does
// not exist repeats the last one; steps behind the last one are zeros, up to the end of their
// tile register.
func (g *rightPack) packWords(p kernel.Index, v, n int64) {
	const deep = 2 * line
	whole := g.K / deep * deep
	square := func(k kernel.Index, exist int64) {
		columns := make([]*kernel.Value, line)
		for i := range columns {
			at := g.at
			at.N = p.Mul(g.nr).Plus(v*g.lanes + min(int64(i), n-1))
			columns[i] = g.pairsAlong(g.Right, at, k, exist)
		}
		for i, x := range transpose(g.b, columns) {
			g.b.Store(g.place(p, k.Plus(2*int64(i)), v*g.lanes), x)
		}
	}
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(whole)).By(deep), func(k kernel.Index) { square(k, deep) })
	if whole < g.K {
		g.inLastDepth(func() { square(g.depthIn(whole), g.K-whole) })
	}
}

// clearBehind makes zeros of the steps behind the last one, up to the end of its tile
// register.
func (g *rightPack) clearBehind() {
	first, end := ceil(g.K, 2)*2, ceil(g.K, 2*line)*2*line
	if first == end || g.Right.Unit == AlongK {
		return
	}
	g.inLastDepth(func() {
		base := g.depthIn(g.K).Plus(-g.K) // where step 0 of K would be
		g.b.For(kernel.Between(g.group0, g.group1), func(p kernel.Index) {
			g.b.For(kernel.Between(kernel.Int(first), kernel.Int(end)).By(2), func(k kernel.Index) {
				for v := range g.vecs {
					g.clear(g.place(p, base.Add(k), v*g.lanes))
				}
			})
		})
	})
}
