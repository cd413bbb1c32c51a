package gemm

import "ptc/backend/kernel"

// rightPack is the packed group of panels of the right operand over the block of K, [panel][k][column].
type rightPack struct {
	*kBlock
	group0, group1 kernel.Index   // first panel and end of panels of the group
	buf            *kernel.Buffer // nil where the operand is loaded in place
}

// pack copies the group's panels of the right operand over the block of K,
// as [panel][k][column]. Columns past N in the last vector are zero or repeat
// another; their sums are never stored.
func (g *rightPack) pack() {
	if g.direct {
		return
	}
	fullVecs := g.N / g.lanes // along N
	perPanel := fullVecs / g.vecs
	to := g.group1
	if perPanel < g.panels {
		to = g.b.MinIndex(to, kernel.Int(perPanel))
	}
	if g.Right.Unit == AlongN {
		g.strips(g.group0, to, func(p, first, end kernel.Index) { g.copyVectors(p, g.vecs, first, end) })
	} else {
		g.b.For(kernel.Between(g.group0, to), func(p kernel.Index) { g.packVectors(p, g.vecs) })
	}
	if g.by == tiles {
		g.clearBehind()
	}
	if perPanel == g.panels {
		return
	}
	g.inLastPanel(g.group1.Plus(-1), func() {
		last := kernel.Int(g.panels - 1)
		if v := fullVecs % g.vecs; v > 0 {
			g.packVectors(last, v)
		}
		if n := g.N % g.lanes; n > 0 {
			g.packColumns(last, fullVecs%g.vecs, n)
		}
	})
}

// place is where the packed group has step k of column c of panel p.
func (g *rightPack) place(p, k kernel.Index, c int64) kernel.Ref {
	return g.buf.At(p.Sub(g.group0).Mul(g.kc).Add(k).Mul(g.rightStep()).Plus(c * g.by.words()))
}

// packVectors copies the first vecs vectors of panel p, all of which exist.
func (g *rightPack) packVectors(p kernel.Index, vecs int64) {
	if g.Right.Unit == AlongN {
		g.copyVectors(p, vecs, kernel.Int(0), g.depthIn(g.K))
		return
	}
	for v := range vecs {
		g.packTransposed(p, v, g.lanes)
	}
}

// copyVectors copies the first vecs vectors of panel p, steps [first, end) of
// K, by loads along N.
func (g *rightPack) copyVectors(p kernel.Index, vecs int64, first, end kernel.Index) {
	steps := func(first, end kernel.Index, exist bool) {
		g.b.For(kernel.Between(first, end).By(g.by.step()).Unrolled(4), func(k kernel.Index) {
			for v := range vecs {
				g.copyStep(p, k, v, g.lanes, exist)
			}
		})
	}
	if g.by != tiles || g.K%g.by.step() == 0 {
		steps(first, end, false)
		return
	}
	// Few of the steps are in a word that has less than it could: the others ask for nothing.
	whole := g.b.MinIndex(end, g.depthIn(g.K/g.by.step()*g.by.step()))
	steps(first, whole, true)
	steps(kernel.Of(g.b.Max(g.b.Value(first), g.b.Value(whole))), end, false)
}

// packColumns copies the n < lanes columns of vector v of panel p.
func (g *rightPack) packColumns(p kernel.Index, v, n int64) {
	if g.Right.Unit == AlongK {
		g.packTransposed(p, v, n)
		return
	}
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(g.by.step()), func(k kernel.Index) { g.copyStep(p, k, v, n, false) })
}

// copyStep copies the n columns of vector v of panel p at step k by loads
// along N.
func (g *rightPack) copyStep(p, k kernel.Index, v, n int64, exist bool) {
	first := p.Mul(g.nr).Plus(v * g.lanes)
	vector := func(c kernel.Index, lanes int, mask *kernel.Value) {
		at := g.at
		at.N = first.Add(c)
		to := g.place(p, k, v*g.lanes)
		to.Index = to.Index.Add(c.Mul(g.by.words()))
		g.b.Store(to, g.packed(g.Right, at, k, AlongN, lanes, mask, exist))
	}
	if n == g.lanes {
		vector(kernel.Int(0), g.width, nil)
		return
	}
	if !g.m.Masked {
		g.clear(g.place(p, k, v*g.lanes))
	}
	g.tail(kernel.Int(0), n, vector)
}

// packTransposed copies the n columns of vector v of panel p from an operand
// that is contiguous along K: squares of lanes columns by lanes steps are
// loaded along K and transposed in registers, where a column that does not
// exist repeats the last one; what is left of K is loaded across.
func (g *rightPack) packTransposed(p kernel.Index, v, n int64) {
	if g.by == tiles {
		g.packWords(p, v, n)
		return
	}
	whole := int64(0)
	if g.squares() {
		whole = g.K / g.lanes * g.lanes
	}
	if whole > 0 {
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(whole)).By(g.lanes).Unrolled(1), func(k kernel.Index) {
			at := g.at
			at.K = at.K.Add(k)
			rows := make([]*kernel.Value, g.lanes)
			for i := range g.lanes {
				at.N = p.Mul(g.nr).Plus(v*g.lanes + min(i, n-1))
				rows[i] = g.Right.Load(at, AlongK, g.width, nil)
			}
			columns := transpose(g.b, rows)
			for i := int64(0); i < g.lanes; i += g.by.step() {
				g.b.Store(g.place(p, k.Plus(i), v*g.lanes), g.together(columns, i))
			}
		})
	}
	across := func(from kernel.Index) {
		g.b.For(kernel.Between(from, g.depthIn(g.K)).By(g.by.step()), func(k kernel.Index) { g.copyStep(p, k, v, n, false) })
	}
	switch whole {
	case g.K:
	case 0:
		across(kernel.Int(0))
	default:
		g.inLastDepth(func() { across(g.depthIn(whole)) })
	}
}
