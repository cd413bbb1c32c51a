package gemm

import "ptc/backend/kernel"

// Packing waits for memory, and the innermost loops need none, so what is packed is
// asked for before. Rows of a left operand that is contiguous along K are so while other tiles
// are packed: were all of a block asked for earlier, rows a power of two apart would
// drive each other, and what is in use, out of L2.

// ahead is how many tiles before its own a row is asked for.
const ahead = 4

// prefetchRows asks for the rows of tile t in the block of K, which need not exist.
func (g *leftPack) prefetchRows(t kernel.Index) {
	row := g.row(t)
	g.b.For(kernel.Span(g.mr), func(r kernel.Index) {
		g.along(kernel.Int(0), g.kc, func(k kernel.Index) { g.touch(g.Left, At{M: row.Add(r), K: k}) })
	})
}

// prefetchNext asks for what the next block of K packs, while tile t is multiplied with
// panel p: for its share of that panel, and with the last panel for the left operand,
// if that is contiguous along M.
func (g *tileProduct) prefetchNext(t, p kernel.Index) {
	if g.steps == 1 || g.direct || g.inPlace || g.by == tiles {
		return
	}
	next := g.at.K.Plus(g.kc)
	g.b.When(g.b.Not(g.b.AtLeast(next, g.K)), func() {
		if g.Left.Unit == AlongM {
			g.b.When(g.b.Eq(g.b.Value(p), g.b.Value(g.panel1.Plus(-1))), func() {
				row := g.row(t)
				g.b.For(kernel.Span(g.kc).Unrolled(4), func(k kernel.Index) { g.touch(g.Left, At{M: row, K: k.Plus(g.kc)}) })
			})
		}
		first := t.Sub(g.tile0)
		if g.mostTiles == g.perBlockM {
			g.prefetchPanel(p, first)
			return
		}
		g.b.When(g.b.Not(g.b.AtLeast(first, g.perBlockM)), func() { g.prefetchPanel(p, first) })
	})
}

// prefetchPanel asks for the lines of panel p in the next block of K of which the number
// is first, or as many more as a task has tiles.
func (g *tileProduct) prefetchPanel(p, first kernel.Index) {
	column := p.Mul(g.nr)
	if g.Right.Unit == AlongN {
		g.b.For(kernel.Between(first, kernel.Int(g.kc)).By(g.perBlockM), func(k kernel.Index) {
			g.along(column, g.nr, func(n kernel.Index) { g.touch(g.Right, At{N: n, K: k.Plus(g.kc)}) })
		})
		return
	}
	g.b.For(kernel.Between(first, kernel.Int(g.nr)).By(g.perBlockM), func(n kernel.Index) {
		g.along(kernel.Int(g.kc), g.kc, func(k kernel.Index) { g.touch(g.Right, At{N: column.Add(n), K: k}) })
	})
}

// along runs body for the first element of each cache line among n from first on.
func (g *kBlock) along(first kernel.Index, n int64, body func(i kernel.Index)) {
	for i := int64(0); i < n; i += line {
		body(first.Plus(i))
	}
}

// touch asks for the element of o at a position of which K counts from the block at hand.
func (g *kBlock) touch(o Operand, at At) {
	at.Outer, at.OuterK, at.K = g.at.Outer, g.at.OuterK, g.at.K.Add(at.K)
	g.b.Prefetch(func() { o.Load(at, o.Unit, 1, nil) })
}

// prefetchShare asks, while tile t is multiplied with panel p, for its share i of what is
// packed next: of the panel as far on in the next group, or behind the last one in the
// first group of the next block of K.
func (g *tileProduct) prefetchShare(t, p, i kernel.Index) {
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
			ask(p.Sub(g.right.group0).Add(g.panel0), kernel.Int(g.kc))
		}
	}
	if g.group >= g.mostPanels {
		next()
		return
	}
	behind := p.Plus(g.group)
	g.b.Either(g.b.Ge(g.b.Value(behind), g.b.Value(g.panel1)), next, func() { ask(behind, kernel.Int(0)) })
}

// prefetchResults asks, while another tile is multiplied, for what Store reads and writes
// of its share i of the rows of tile t: a line or two of each, and rows lie far apart.
func (g *tileProduct) prefetchResults(t, p, i kernel.Index) {
	each := ceil(g.mr, g.kc/(2*line))
	for r := range each {
		for v := range g.vecs {
			at := g.at
			at.M, at.N = g.row(t).Add(i.Mul(each)).Plus(r), p.Mul(g.nr).Plus(v*g.lanes)
			g.b.PrefetchRow(i, v*g.lanes, func() { g.Store(at, g.b.F32(0, 1), 1, nil) })
		}
	}
}
