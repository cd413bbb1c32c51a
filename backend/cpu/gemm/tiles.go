package gemm

import "ptc/backend/kernel"

// Where a machine has tile registers, a register tile is up to 32 rows and 32 columns,
// four of them for sums, two for the left operand and two for the right one, so that four
// loads are used by four products (Intel, Optimization Reference Manual, volume 1, 20.5):
//
//	     6    7          sums 0 1    of rows  0 to 15
//	4    0    1               2 3    of rows 16 to 31
//	5    2    3
//
// They are always whole. Rows behind the last one, and columns, are what is in scratch,
// and their sums are not stored; steps behind the last one are zeros in both operands.
const (
	tileSize = 2 * kernel.TileRows
	tileVecs = 2

	leftTile  = 4
	rightTile = 6
)

// tileDepth is [blocking.depth] of tile registers: a panel takes all of L1, since tiles of
// the left operand pass by it ([kernel.Builder.TileStream]). Deeper ones make each load of
// theirs wait a quarter longer, which is less than to load and to store sums once more where
// these are all steps.
func (p *blocking) tileDepth(s *Spec, m kernel.Machine) int64 {
	unit := p.unit()
	most := int64(m.L1) / (2 * p.nr) / unit * unit
	if product(s.OuterK) == 1 && 3*s.K <= 4*most {
		return s.K
	}
	return max(most, 2*unit)
}

// tilesAtOnce says how much of what is packed stays in L2: tile registers take 64 bytes a
// cycle from there, and a quarter of it from what is behind.
func (p *blocking) tilesAtOnce(m kernel.Machine) {
	p.group = max(1, int64(m.L2)/8/(4*p.kc*p.rightStep()))
	p.fitTiles = max(1, int64(m.L2)/2/(4*p.slotStride()))
}

// packTile copies tile t of the left operand: steps of K in 32 at a time, of which each
// row has 16 pairs.
func (g *gen) packTile(t kernel.Index) {
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
func (g *gen) inTile(t, k, r kernel.Index) kernel.Ref {
	return g.left.At(t.Sub(g.tile0).Mul(g.slotStride()).Add(k.Mul(g.leftStep())).Add(r.Mul(line)))
}

// packTurned is packTile of an operand that is contiguous along M: vectors of rows, of
// 16 pairs of steps, are transposed by way of a buffer, so that what is done before the
// product is generated once.
func (g *gen) packTurned(t kernel.Index) {
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
				exist = g.least(kernel.Of(g.b.Div(v, g.b.ConstInt(v.Type, 2))), line)
			}
			g.b.For(kernel.Between(kernel.Int(0), exist), func(i kernel.Index) {
				g.b.Store(g.stage.At(i.Mul(line)), g.packed(g.Left, at, k.Add(i.Mul(2)), AlongM, g.width, mask))
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

// ifBothHalves runs both where tile t has more rows than a tile register, and else one,
// if that is not nil. Only the last tile may have fewer.
func (g *gen) ifBothHalves(t kernel.Index, both, one func()) {
	last := g.M - (g.tiles-1)*g.mr
	switch {
	case last > kernel.TileRows:
		both()
	case g.tiles == 1:
		if one != nil {
			one()
		}
	case one == nil:
		g.when(g.b.Not(g.atLeast(t, g.tiles-1)), both)
	default:
		g.either(g.atLeast(t, g.tiles-1), one, both)
	}
}

// packWords copies the n columns of vector v of panel p from an operand that is contiguous
// along K: pairs of steps, as they lie there, are transposed in registers. A column that does
// not exist repeats the last one; steps behind the last one are zeros, up to the end of their
// tile register.
func (g *gen) packWords(p kernel.Index, v, n int64) {
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

// pairsAlong loads 32 steps of o from step k on, in pairs, of which so many exist; the
// others are zeros.
func (g *gen) pairsAlong(o Operand, at At, k kernel.Index, exist int64) *kernel.Value {
	half := func(first int64) *kernel.Value {
		at.K = g.at.K.Add(k).Plus(first)
		switch n := exist - first; {
		case n <= 0:
			return g.b.F32(0, g.width)
		case n < line:
			return o.Load(at, AlongK, g.width, g.b.TailMask(kernel.Int(n), g.width))
		}
		return o.Load(at, AlongK, g.width, nil)
	}
	return g.b.PackBF16(half(0), half(line))
}

// clearRight makes zeros of the steps behind the last one, up to the end of its tile
// register.
func (g *gen) clearRight() {
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

// tilesOfRows generates the product of tile t, of as many tile registers as its rows
// take, with panel p.
func (g *gen) tilesOfRows(t, p kernel.Index, vecs int64) {
	if g.mr <= kernel.TileRows {
		g.microTiles(t, p, 1, vecs)
		return
	}
	g.ifBothHalves(t, func() { g.microTiles(t, p, 2, vecs) }, func() { g.microTiles(t, p, 1, vecs) })
}

// microTiles is [gen.micro] by tile registers, halves of them along the rows of tile t
// and vecs along the columns of panel p.
func (g *gen) microTiles(t, p kernel.Index, halves, vecs int64) {
	each := func(body func(tile int, sums kernel.Ref)) {
		for h := range halves {
			for v := range vecs {
				body(int(tileVecs*h+v), g.sum(t, p, kernel.Int(kernel.TileRows*h), v).Strided(g.nr))
			}
		}
	}
	zeros := func() { each(func(tile int, _ kernel.Ref) { g.b.TileZero(tile) }) }
	if g.accumulate {
		g.either(g.atLeast(g.depthDone(), 1), func() { each(func(tile int, sums kernel.Ref) { g.b.TileLoad(tile, sums) }) }, zeros)
	} else {
		zeros()
	}
	product := func(after func(i kernel.Index)) {
		g.b.For(kernel.Between(kernel.Int(0), g.registersIn()).Unrolled(1), func(i kernel.Index) {
			k := i.Mul(2 * line)
			for h := range halves {
				g.b.TileStream(leftTile+int(h), g.inTile(t, k, kernel.Int(kernel.TileRows*h)).Strided(line))
				for v := range vecs {
					if h == 0 {
						g.b.TileLoad(rightTile+int(v), g.place(p, k, v*g.lanes).Strided(g.nr))
					}
					g.b.TileDot(int(tileVecs*h+v), leftTile+int(h), rightTile+int(v))
				}
			}
			g.prefetchShare(t, p, i)
			after(i)
		})
	}
	last := func() { product(func(i kernel.Index) { g.prefetchResults(t.Plus(1), p, i) }) }
	if g.accumulate {
		g.either(g.atLeast(g.depthDone(), g.lastDepth()), last, func() { product(func(kernel.Index) {}) })
	} else {
		last()
	}
	each(func(tile int, sums kernel.Ref) { g.b.TileStore(sums, tile) })
}

// registersIn is how many tile registers the steps of the block of K at hand take.
func (g *gen) registersIn() kernel.Index {
	n := g.depthIn(g.K)
	if n.IsConst() {
		return kernel.Int(ceil(n.Const, 2*line))
	}
	v := g.b.Value(n.Plus(2*line - 1))
	return kernel.Of(g.b.Div(v, g.b.ConstInt(v.Type, 2*line)))
}

// prefetchShare asks, while tile t is multiplied with panel p, for its share i of what is
// packed next: of the panel as far on in the next group, or behind the last one in the
// first group of the next block of K.
func (g *gen) prefetchShare(t, p, i kernel.Index) {
	first := t.Sub(g.tile0)
	ask := func(p, ahead kernel.Index) {
		column := p.Mul(g.nr)
		if g.Right.Unit == AlongN {
			rows := ceil(g.kc, g.mostTiles)
			each := ceil(rows, g.kc/(2*line))
			for r := range each {
				g.along(column, g.nr, func(n kernel.Index) {
					g.touch(g.Right, At{N: n, K: ahead.Add(first.Mul(rows)).Add(i.Mul(each)).Plus(r)})
				})
			}
			return
		}
		columns := ceil(g.nr, g.mostTiles)
		for c := range columns {
			g.along(i.Mul(2*line), 2*line, func(k kernel.Index) {
				g.touch(g.Right, At{N: column.Add(first.Mul(columns)).Plus(c), K: ahead.Add(k)})
			})
		}
	}
	next := func() {
		if g.steps > 1 {
			ask(p.Sub(g.group0).Add(g.panel0), kernel.Int(g.kc))
		}
	}
	if g.group >= g.mostPanels {
		next()
		return
	}
	behind := p.Plus(g.group)
	g.either(g.b.Ge(g.b.Value(behind), g.b.Value(g.panel1)), next, func() { ask(behind, kernel.Int(0)) })
}

// prefetchResults asks, while another tile is multiplied, for what Store reads and writes
// of its share i of the rows of tile t: a line or two of each, and rows lie far apart.
func (g *gen) prefetchResults(t, p, i kernel.Index) {
	each := ceil(g.mr, g.kc/(2*line))
	for r := range each {
		for v := range g.vecs {
			at := g.at
			at.M, at.N = g.row(t).Add(i.Mul(each)).Plus(r), p.Mul(g.nr).Plus(v*g.lanes)
			g.b.PrefetchRow(i, v*g.lanes, func() { g.Store(at, g.b.F32(0, 1), 1, nil) })
		}
	}
}
