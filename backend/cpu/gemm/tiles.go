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

// tileDepth is [tiling.depth] of tile registers: a panel takes all of L1, since tiles of
// the left operand pass by it ([kernel.Builder.TileStream]). Deeper ones make each load of
// theirs wait a quarter longer, which is less than to load and to store sums once more where
// these are all steps.
func (t tiling) tileDepth(s *Spec, m kernel.Machine) int64 {
	unit := t.unit()
	most := int64(m.L1) / (2 * t.nr) / unit * unit
	if product(s.OuterK) == 1 && 3*s.K <= 4*most {
		return s.K
	}
	return max(most, 2*unit)
}

// tilesOfRows generates the product of tile t, of as many tile registers as its rows
// take, with panel p.
func (g *tileProduct) tilesOfRows(t, p kernel.Index, vecs int64) {
	if g.mr <= kernel.TileRows {
		g.microTiles(t, p, 1, vecs)
		return
	}
	g.ifBothHalves(t, func() { g.microTiles(t, p, 2, vecs) }, func() { g.microTiles(t, p, 1, vecs) })
}

// microTiles is [tileProduct.micro] by tile registers, halves of them along the rows of tile t
// and vecs along the columns of panel p.
func (g *tileProduct) microTiles(t, p kernel.Index, halves, vecs int64) {
	each := func(body func(tile int, sums kernel.Ref)) {
		for h := range halves {
			for v := range vecs {
				body(int(tileVecs*h+v), g.sums.place(t, p, kernel.Int(kernel.TileRows*h), v).Strided(g.nr))
			}
		}
	}
	zeros := func() { each(func(tile int, _ kernel.Ref) { g.b.TileZero(tile) }) }
	if g.accumulate {
		g.b.Either(g.b.AtLeast(g.depthDone(), 1), func() { each(func(tile int, sums kernel.Ref) { g.b.TileLoad(tile, sums) }) }, zeros)
	} else {
		zeros()
	}
	product := func(after func(i kernel.Index)) {
		g.b.For(kernel.Between(kernel.Int(0), g.registersIn()).Unrolled(1), func(i kernel.Index) {
			k := i.Mul(2 * line)
			for h := range halves {
				g.b.TileStream(leftTile+int(h), g.left.inTile(t, k, kernel.Int(kernel.TileRows*h)).Strided(line))
				for v := range vecs {
					if h == 0 {
						g.b.TileLoad(rightTile+int(v), g.right.place(p, k, v*g.lanes).Strided(g.nr))
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
		g.b.Either(g.b.AtLeast(g.depthDone(), g.lastDepth()), last, func() { product(func(kernel.Index) {}) })
	} else {
		last()
	}
	each(func(tile int, sums kernel.Ref) { g.b.TileStore(sums, tile) })
}

// registersIn is how many tile registers the steps of the block of K at hand take.
func (g *kBlock) registersIn() kernel.Index {
	n := g.depthIn(g.K)
	if n.IsConst() {
		return kernel.Int(ceil(n.Const, 2*line))
	}
	v := g.b.Value(n.Plus(2*line - 1))
	return kernel.Of(g.b.Div(v, g.b.ConstInt(v.Type, 2*line)))
}
