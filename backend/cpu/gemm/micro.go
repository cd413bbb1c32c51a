package gemm

import "ptc/backend/kernel"

// tileProduct multiplies tiles with panels, over the block of K.
type tileProduct struct {
	*kBlock
	left  *leftPack
	right *rightPack
	sums  sums
}

// tile generates the product of tile t with panel p, and hands it to Store if
// nothing is to be added.
func (g *tileProduct) tile(t, p kernel.Index) {
	g.prefetchNext(t, p)
	ofRows := func(vecs int64) {
		if g.by == tiles {
			g.tilesOfRows(t, p, vecs)
			return
		}
		if g.wide == g.tiles {
			g.micro(t, p, g.mr, vecs)
			return
		}
		g.b.Either(g.b.AtLeast(t, g.wide),
			func() { g.micro(t, p, g.mr-1, vecs) },
			func() { g.micro(t, p, g.mr, vecs) })
	}
	switch {
	case g.tailVecs == g.vecs:
		ofRows(g.vecs)
	case g.panels == 1:
		ofRows(g.tailVecs)
	default:
		g.b.Either(g.b.AtLeast(p, g.panels-1),
			func() { ofRows(g.tailVecs) },
			func() { ofRows(g.vecs) })
	}
	if !g.accumulate {
		g.sums.finish(t, p)
		return
	}
	g.b.When(g.b.AtLeast(g.depthDone(), g.lastDepth()), func() { g.sums.finish(t, p) })
}

// micro generates the product of tile t, of rows rows, with panel p, of vecs
// vectors, over the block of K:
//
//	for k: for r: for v: acc[r][v] += left[k][r] · right[k][v]
//
// with the accumulators in registers throughout; two steps at a time where they are
// packed in pairs.
func (g *tileProduct) micro(t, p kernel.Index, rows, vecs int64) {
	if g.by == matrices {
		g.microMatrices(t, p, rows, vecs)
		return
	}
	acc := g.before(t, p, rows, vecs)
	left := g.leftElements(t)
	load := g.rightVectors(p, vecs)
	depth := kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(g.by.step()).Unrolled(g.m.Steps(rows * vecs))
	acc = g.b.ForCarry(depth, acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		right := load(k)
		next := make([]*kernel.Value, 0, len(acc))
		for r := range rows {
			x := left(k, r)
			for v := range vecs {
				next = append(next, g.multiplyAdd(acc[int64(len(next))], x, right[v]))
			}
		}
		return next
	})
	for r := range rows {
		for v := range vecs {
			g.b.Store(g.sums.place(t, p, kernel.Int(r), v), acc[r*vecs+v])
		}
	}
}

// before is what the product of tile t with panel p is added to: zeros in the
// first block of K, the sums so far in the others.
func (g *tileProduct) before(t, p kernel.Index, rows, vecs int64) []*kernel.Value {
	zeros := func() (acc []*kernel.Value) {
		for range rows * vecs {
			acc = append(acc, g.b.F32(0, g.width))
		}
		return acc
	}
	if !g.accumulate {
		return zeros()
	}
	return g.b.If(g.b.AtLeast(g.depthDone(), 1), func() (acc []*kernel.Value) {
		for r := range rows {
			for v := range vecs {
				acc = append(acc, g.b.Load(g.sums.place(t, p, kernel.Int(r), v), g.width))
			}
		}
		return acc
	}, zeros)
}

// leftElements loads row r of tile t at a step of K, in every lane.
func (g *tileProduct) leftElements(t kernel.Index) func(k kernel.Index, r int64) *kernel.Value {
	if !g.inPlace {
		return func(k kernel.Index, r int64) *kernel.Value {
			return g.b.Load(g.left.place(t, k, kernel.Int(r)).Strided(0), g.width)
		}
	}
	row := g.row(t)
	return func(k kernel.Index, r int64) *kernel.Value {
		at := g.at
		at.K, at.M = at.K.Add(k), row.Plus(r)
		return g.b.Splat(g.Left.Load(at, AlongK, 1, nil), g.width)
	}
}

// rightVectors loads the vectors of panel p at a step of K: from the packed
// panel, or the operand itself if nothing is packed.
func (g *tileProduct) rightVectors(p kernel.Index, vecs int64) func(k kernel.Index) []*kernel.Value {
	mask := make([]*kernel.Value, vecs)
	tail := g.N % g.lanes
	if g.direct && tail != 0 && vecs == g.tailVecs {
		left := kernel.Int(g.N).Sub(p.Mul(g.nr)).Plus(-(vecs - 1) * g.lanes)
		mask[vecs-1] = g.b.TailMask(left, g.width)
	}
	return func(k kernel.Index) []*kernel.Value {
		out := make([]*kernel.Value, vecs)
		for v := range vecs {
			if !g.direct {
				out[v] = g.b.Load(g.right.place(p, k, v*g.lanes), g.width)
				continue
			}
			at := g.at
			at.K = at.K.Add(k)
			at.N = p.Mul(g.nr).Plus(v * g.lanes)
			out[v] = g.Right.Load(at, AlongN, g.width, mask[v])
		}
		return out
	}
}

// multiplyAdd adds the products of a step, or of a pair, to sum.
func (g *tileProduct) multiplyAdd(sum, left, right *kernel.Value) *kernel.Value {
	if g.by == pairs {
		return g.b.DotBF16(sum, left, right)
	}
	return g.b.MulAdd(left, right, sum)
}
