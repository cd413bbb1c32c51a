package gemm

import "ptc/backend/kernel"

// leftPack is the packed block of the left operand, [tile][k][row], which the innermost loop
// reads from front to back.
type leftPack struct {
	*kBlock
	buf, rows, stage *kernel.Buffer // see scratch
}

// pack copies the task's tiles of the left operand over the block of K, as
// [tile][k][row]: the micro-kernel reads it from front to back.
//
// A vector that is stored may reach past the rows of its step, where the next
// step's are stored later; that of the last step reaches into the room between
// tiles.
func (g *leftPack) pack() {
	switch {
	case g.inPlace:
	case g.by == tiles:
		g.b.For(kernel.Between(g.tile0, g.tile1), func(t kernel.Index) {
			if g.Left.Unit == AlongK {
				g.prefetchRows(t.Plus(ahead))
			}
			g.packTile(t)
		})
	case g.Left.Unit == AlongM:
		g.strips(g.tile0, g.tile1, g.packAcross)
	case g.mr == 1 && g.by == multiplyAdds:
		g.b.For(kernel.Between(g.tile0, g.tile1), g.packVector)
	case g.squares():
		g.b.For(kernel.Between(g.tile0, g.tile1), func(t kernel.Index) {
			g.prefetchRows(t.Plus(ahead))
			g.packSquares(t)
		})
	default:
		g.b.For(kernel.Between(g.tile0, g.tile1), func(t kernel.Index) {
			g.packSteps(t, kernel.Int(0), g.depthIn(g.K))
		})
	}
}

// place is where the packed block has row r of step k of tile t.
func (g *leftPack) place(t, k, r kernel.Index) kernel.Ref {
	return g.buf.At(t.Sub(g.tile0).Mul(g.slotStride()).Add(k.Mul(g.leftStep())).Add(r.Mul(g.by.words())))
}

// packAcross copies steps [first, end) of tile t by loads along M. The vectors
// of the last tiles would end past M: they are masked, or copied one by one.
func (g *leftPack) packAcross(t, first, end kernel.Index) {
	lanes := g.narrow()
	vecs := ceil(g.mr, lanes)
	row := g.row(t)
	copies := func(mask *kernel.Value) {
		unroll := 4
		if mask != nil {
			unroll = 1
		}
		g.b.For(kernel.Between(first, end).By(g.by.step()).Unrolled(unroll), func(k kernel.Index) {
			for v := range vecs {
				at := g.at
				at.M = row.Plus(v * lanes)
				g.b.Store(g.place(t, k, kernel.Int(v*lanes)), g.packed(g.Left, at, k, AlongM, int(lanes), mask, false))
			}
		})
	}
	last := func() {
		if g.m.Masked && vecs == 1 {
			copies(g.b.TailMask(kernel.Int(g.M).Sub(row), int(lanes)))
			return
		}
		g.packSteps(t, first, end)
	}
	if g.M < vecs*lanes {
		last()
		return
	}
	g.b.Either(g.b.AtLeast(row, g.M-vecs*lanes+1), last, func() { copies(nil) })
}

// packSteps copies steps [first, end) of tile t one by one.
func (g *leftPack) packSteps(t, first, end kernel.Index) {
	row := g.row(t)
	rows := g.row(t.Plus(1)).Sub(row)
	g.b.For(kernel.Between(first, end).By(g.by.step()).Unrolled(1), func(k kernel.Index) {
		g.b.For(kernel.Between(kernel.Int(0), rows).Unrolled(1), func(r kernel.Index) {
			at := g.at
			at.M = row.Add(r)
			g.b.Store(g.place(t, k, r), g.packed(g.Left, at, k, g.Left.Unit, 1, nil, false))
		})
	})
}

// packVector copies the only row of tile t by loads along K.
func (g *leftPack) packVector(t kernel.Index) {
	g.alongK(t, func(k kernel.Index, x *kernel.Value) { g.b.Store(g.place(t, k, kernel.Int(0)), x) })
}

// packSquares copies tile t by squares of as many rows as steps, loaded
// along K and transposed in registers. A row that a tile does not have repeats
// another.
func (g *leftPack) packSquares(t kernel.Index) {
	row, lanes := g.row(t), g.narrow()
	if g.staged(&g.Left) {
		g.b.For(kernel.Between(kernel.Int(0), g.row(t.Plus(1)).Sub(row)), func(r kernel.Index) {
			g.zerosBehind(r)
			g.alongK(row.Add(r), func(k kernel.Index, x *kernel.Value) {
				g.b.Store(g.rows.At(r.Mul(g.rowStride()).Add(k)), x)
			})
		})
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(lanes).Unrolled(1), func(k kernel.Index) {
			g.square(t, k, lanes, func(r int64) *kernel.Value {
				return g.b.Load(g.rows.At(k.Plus(r*g.rowStride())), int(lanes))
			})
		})
		return
	}
	whole := g.K / lanes * lanes
	load := func(k kernel.Index, mask *kernel.Value) func(r int64) *kernel.Value {
		return func(r int64) *kernel.Value {
			at := g.at
			at.K, at.M = at.K.Add(k), row.Plus(r)
			if r == g.mr-1 && g.wide < g.tiles {
				at.M = g.b.MinIndex(at.M, kernel.Int(g.M-1))
			}
			return g.Left.Load(at, AlongK, int(lanes), mask)
		}
	}
	if whole > 0 {
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(whole)).By(lanes).Unrolled(1), func(k kernel.Index) {
			g.square(t, k, lanes, load(k, nil))
		})
	}
	if whole == g.K {
		return
	}
	g.inLastDepth(func() {
		k := g.depthIn(whole)
		if g.m.Masked {
			g.square(t, k, g.K-whole, load(k, g.b.TailMask(kernel.Int(g.K-whole), int(lanes))))
			return
		}
		g.packSteps(t, k, g.depthIn(g.K))
	})
}

// zerosBehind makes zeros of the steps behind the last one in staged row r, which the
// last steps are packed with. Masked vectors have them by themselves.
func (g *leftPack) zerosBehind(r kernel.Index) {
	whole := g.K / g.lanes * g.lanes
	if g.by == multiplyAdds || g.m.Masked || whole == g.K {
		return
	}
	g.inLastDepth(func() {
		g.clear(g.rows.At(r.Mul(g.rowStride()).Add(g.depthIn(whole))))
	})
}

// square stores the first n steps of a square, from k on, of tile t, whose row r load
// loads.
func (g *leftPack) square(t, k kernel.Index, n int64, load func(r int64) *kernel.Value) {
	lanes := g.narrow()
	var columns [][]*kernel.Value
	for from := int64(0); from < g.mr; from += lanes {
		rows := make([]*kernel.Value, lanes)
		for i := range lanes {
			if from+i >= g.mr {
				rows[i] = rows[i-1]
				continue
			}
			rows[i] = load(from + i)
		}
		columns = append(columns, transpose(g.b, rows))
	}
	for i := int64(0); i < n; i += g.by.step() {
		for q, x := range columns {
			g.b.Store(g.place(t, k.Plus(i), kernel.Int(int64(q)*lanes)), g.together(x, i))
		}
	}
}
