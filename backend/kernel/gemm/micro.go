package gemm

import "ptc/backend/kernel"

// panelsOf generates the products of the packed tile, of rows rows, with every
// panel of the block. The sums go to row out of the results and on.
func (g *gen) panelsOf(rows int64, left, out kernel.Index) {
	full := g.panels
	if g.tailVecs < g.vecs {
		full--
	}
	if full > 0 {
		to := g.panel1
		if full < g.panels {
			to = g.least(to, full)
		}
		g.b.For(kernel.Between(g.panel0, to), func(p kernel.Index) {
			g.micro(rows, g.vecs, left, out, p)
		})
	}
	if full < g.panels {
		g.inLastColumns(func() { g.micro(rows, g.tailVecs, left, out, kernel.Int(full)) })
	}
}

// micro generates the product of the packed tile with panel p of vecs vectors:
//
//	for k: for r: for v: acc[r][v] += left[r][k] · right[k][v]
//
// with the accumulators in registers throughout.
func (g *gen) micro(rows, vecs int64, left, out, p kernel.Index) {
	sum := func(r, v int64) kernel.Ref {
		col := p.Sub(g.panel0).Mul(g.nr).Plus(v * g.lanes)
		return g.results.At(out.Plus(r).Mul(g.resultStride()).Add(col))
	}
	acc := make([]*kernel.Value, 0, rows*vecs)
	for r := range rows {
		for v := range vecs {
			if g.accumulate {
				acc = append(acc, g.b.Load(sum(r, v), g.width))
			} else {
				acc = append(acc, g.b.F32(0, g.width))
			}
		}
	}
	load := g.rightVectors(p, vecs)
	depth := kernel.Between(kernel.Int(0), g.depthIn(g.K)).Unrolled(1) // the body is long enough
	acc = g.b.ForCarry(depth, acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		right := load(k)
		next := make([]*kernel.Value, 0, len(acc))
		for r := range rows {
			x := g.b.Load(g.leftElement(k, r, left).Strided(0), g.width)
			for v := range vecs {
				next = append(next, g.b.MulAdd(x, right[v], acc[int64(len(next))]))
			}
		}
		return next
	})
	for r := range rows {
		for v := range vecs {
			g.b.Store(sum(r, v), acc[r*vecs+v])
		}
	}
}

// leftElement is row r of step k of the tile packed at left.
func (g *gen) leftElement(k kernel.Index, r int64, left kernel.Index) kernel.Ref {
	if g.Left.Unit == AlongM {
		return g.left.At(k.Mul(g.tileStride()).Add(left).Plus(r))
	}
	return g.left.At(k.Add(left).Plus(r * g.depthStride()))
}

// rightVectors loads the vectors of panel p at a step of K: from the packed
// panel, or the operand itself if nothing is packed.
func (g *gen) rightVectors(p kernel.Index, vecs int64) func(k kernel.Index) []*kernel.Value {
	mask := make([]*kernel.Value, vecs)
	tail := g.N % g.lanes
	if g.direct && tail != 0 && (vecs == g.tailVecs) {
		left := kernel.Int(g.N).Sub(p.Mul(g.nr)).Plus(-(vecs - 1) * g.lanes)
		mask[vecs-1] = g.b.TailMask(left, g.width)
	}
	return func(k kernel.Index) []*kernel.Value {
		out := make([]*kernel.Value, vecs)
		for v := range vecs {
			if !g.direct {
				at := p.Sub(g.panel0).Mul(g.kc).Add(k).Mul(g.nr).Plus(v * g.lanes)
				out[v] = g.b.Load(g.right.At(at), g.width)
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
