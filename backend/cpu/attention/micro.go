package attention

import "ptc/backend/kernel"

// tile is a product in registers:
//
//	for k: for r: for v: acc[r][v] += left[r][k] · right[k][v]
type tile struct {
	rows, vecs int64
	left       func(k kernel.Index, r int64) kernel.Ref
	right      func(k kernel.Index, v int64) kernel.Ref
	init       func(r, v int64) *kernel.Value
	done       func(r, v int64, sum *kernel.Value)
	// depth carries the sums through the loops over k.
	depth func(acc []*kernel.Value, step func(k kernel.Index, acc []*kernel.Value) []*kernel.Value) []*kernel.Value
}

func (g *gen) product(t tile) {
	acc := make([]*kernel.Value, 0, t.rows*t.vecs)
	for r := range t.rows {
		for v := range t.vecs {
			acc = append(acc, t.init(r, v))
		}
	}
	acc = t.depth(acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		right := make([]*kernel.Value, t.vecs)
		for v := range right {
			right[v] = g.b.Load(t.right(k, int64(v)), g.width)
		}
		next := make([]*kernel.Value, 0, len(acc))
		for r := range t.rows {
			x := g.b.Load(t.left(k, r).Strided(0), g.width)
			for v := range t.vecs {
				next = append(next, g.b.MulAdd(x, right[v], acc[len(next)]))
			}
		}
		return next
	})
	for r := range t.rows {
		for v := range t.vecs {
			t.done(r, v, acc[r*t.vecs+v])
		}
	}
}

// through is a depth of one loop.
func (g *gen) through(from, to kernel.Index) func([]*kernel.Value, func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
	return func(acc []*kernel.Value, step func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
		return g.b.ForCarry(kernel.Between(from, to).Unrolled(g.unroll), acc, step)
	}
}

// into generates the products of number i of Into: panels outside, so that a panel stays
// in L1 for all tiles.
func (x *block) into(i int) {
	in := x.Into[i]
	o := &x.ByKey[in.Key]
	stride := x.rowStride(in.Row)
	rel := func(k kernel.Index) kernel.Index { return k.Sub(x.key0) }
	x.b.For(kernel.Between(x.div(rel(x.lo), x.nr), x.div(rel(x.hi).Plus(x.nr-1), x.nr)), func(p kernel.Index) {
		x.each(func(t kernel.Index) {
			micro := func() {
				sum := func(r, v int64) kernel.Ref {
					return x.scores[i].At(t.Mul(x.mr).Plus(r).Mul(x.scoreStride()).Add(p.Mul(x.nr)).Plus(v * x.lanes))
				}
				first := x.packed0.Add(t.Mul(x.mr)).Mul(stride)
				panel := p.Mul(product(o.Subs) * o.Cols * x.nr)
				var sub kernel.Index
				x.product(tile{
					rows: x.mr, vecs: x.vecs,
					left: func(k kernel.Index, r int64) kernel.Ref {
						return x.packed[in.Row].At(first.Add(sub.Mul(x.padded(o))).Add(k).Plus(r * stride))
					},
					right: func(k kernel.Index, v int64) kernel.Ref {
						return x.across[in.Key].At(panel.Add(sub.Mul(o.Cols).Add(k).Mul(x.nr)).Plus(v * x.lanes))
					},
					init: func(_, _ int64) *kernel.Value { return x.b.F32(0, x.width) },
					done: func(r, v int64, s *kernel.Value) { x.b.Store(sum(r, v), s) },
					depth: func(acc []*kernel.Value, step func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
						if product(o.Subs) == 1 {
							return x.through(kernel.Int(0), kernel.Int(o.Cols))(acc, step)
						}
						return x.b.ForCarry(kernel.Span(product(o.Subs)), acc, func(i kernel.Index, acc []*kernel.Value) []*kernel.Value {
							sub = i
							return x.through(kernel.Int(0), kernel.Int(o.Cols))(acc, step)
						})
					},
				})
			}
			if len(x.limits) == 0 {
				micro()
				return
			}
			lo, hi := x.tile(t)
			first := x.key0.Add(p.Mul(x.nr))
			seen := x.b.And(x.less(first, hi), x.less(lo, first.Plus(x.nr)))
			x.when(seen, micro)
		})
	})
}
