package attention

import "ptc/backend/kernel"

// block is a block of rows against the block of keys.
type block struct {
	*group
	row     kernel.Index // the first
	rows    kernel.Index // how many
	tiles   kernel.Index
	slot    kernel.Index // number of the first among acc's rows
	packed0 kernel.Index // and among packed rows
	lo, hi  kernel.Index // the keys that any of the rows sees
}

// each runs body for every tile.
func (x *block) each(body func(t kernel.Index)) {
	if x.tiles.IsConst() && x.tiles.Const == 1 {
		body(kernel.Int(0))
		return
	}
	x.b.For(kernel.Between(kernel.Int(0), x.tiles), body)
}

// tile is the keys that any row of tile t sees.
func (x *block) tile(t kernel.Index) (lo, hi kernel.Index) {
	first := x.row.Add(t.Mul(x.mr))
	return x.sees(first, first.Plus(x.mr-1))
}

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

// product generates t.
func (g *task) product(t tile) {
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
func (g *task) through(from, to kernel.Index) func([]*kernel.Value, func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
	return func(acc []*kernel.Value, step func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
		return g.b.ForCarry(kernel.Between(from, to).Unrolled(g.unroll), acc, step)
	}
}

// into generates the products of number i of Into: panels outside, so that a panel stays
// in L1 for all tiles.
func (x *block) into(i int) {
	in := x.Into[i]
	o := &x.ByKey[in.Key]
	stride := x.rowStride(&x.ByRow[in.Row])
	rel := func(k kernel.Index) kernel.Index { return k.Sub(x.key0) }
	x.b.For(kernel.Between(x.div(rel(x.lo), x.nr), x.div(rel(x.hi).Plus(x.nr-1), x.nr)), func(p kernel.Index) {
		x.each(func(t kernel.Index) {
			micro := func() {
				sum := func(r, v int64) kernel.Ref {
					return x.mem.scores[i].At(t.Mul(x.mr).Plus(r).Mul(x.scoreStride()).Add(p.Mul(x.nr)).Plus(v * x.lanes))
				}
				first := x.packed0.Add(t.Mul(x.mr)).Mul(stride)
				panel := p.Mul(product(o.Subs) * o.Cols * x.nr)
				var sub kernel.Index
				x.product(tile{
					rows: x.mr, vecs: x.vecs,
					left: func(k kernel.Index, r int64) kernel.Ref {
						return x.mem.packed[in.Row].At(first.Add(sub.Mul(x.padded(o))).Add(k).Plus(r * stride))
					},
					right: func(k kernel.Index, v int64) kernel.Ref {
						return x.mem.across[in.Key].At(panel.Add(sub.Mul(o.Cols).Add(k).Mul(x.nr)).Plus(v * x.lanes))
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
			x.b.When(seen, micro)
		})
	})
}

// overKeys adds the products of weights and keys of the block to Outs[i], whose sums begin
// with row slot.
func (x *block) overKeys(i int, slot kernel.Index) {
	out := x.Outs[i]
	o := x.operand(out)
	nr, width := x.panelVecs(o)*x.lanes, x.rowLen(o)
	x.panels(o, func(vecs int64, panel, col kernel.Index) {
		x.each(func(t kernel.Index) {
			lo, hi := x.tile(t)
			first := t.Mul(x.mr)
			place := func(r, v int64) kernel.Ref {
				return x.mem.acc[i].At(slot.Add(first).Plus(r).Mul(width).Add(col).Plus(v * x.lanes))
			}
			x.product(tile{
				rows: x.mr, vecs: vecs,
				left: func(k kernel.Index, r int64) kernel.Ref {
					return x.mem.scores[out.Weights].At(first.Plus(r).Mul(x.scoreStride()).Add(k))
				},
				right: func(k kernel.Index, v int64) kernel.Ref {
					return x.mem.along[out.Of].At(panel.Mul(x.kb).Add(k).Mul(nr).Plus(v * x.lanes))
				},
				init: func(r, v int64) *kernel.Value {
					sum := x.b.Load(place(r, v), x.width)
					if x.Top {
						sum = x.b.Mul(sum, x.b.Load(x.mem.scale.At(first.Plus(r)).Strided(0), x.width))
					}
					return sum
				},
				done:  func(r, v int64, sum *kernel.Value) { x.b.Store(place(r, v), sum) },
				depth: x.through(lo.Sub(x.key0), hi.Sub(x.key0)),
			})
		})
	})
}

// overRows adds the products of weights and rows of the block to Outs[i].
func (x *block) overRows(i int) {
	out := x.Outs[i]
	o := x.operand(out)
	width, stride := x.rowLen(o), x.rowStride(o)
	from, to := x.floor(x.lo.Sub(x.key0)), x.hi.Sub(x.key0)
	x.panels(o, func(vecs int64, _, col kernel.Index) {
		x.b.For(kernel.Between(from, to).By(x.mr), func(key kernel.Index) {
			place := func(r, v int64) kernel.Ref {
				return x.mem.acc[i].At(key.Plus(r).Mul(width).Add(col).Plus(v * x.lanes))
			}
			x.product(tile{
				rows: x.mr, vecs: vecs,
				left: func(k kernel.Index, r int64) kernel.Ref {
					return x.mem.scores[out.Weights].At(k.Mul(x.scoreStride()).Add(key).Plus(r))
				},
				right: func(k kernel.Index, v int64) kernel.Ref {
					return x.mem.packed[out.Of].At(k.Mul(stride).Add(col).Plus(v * x.lanes))
				},
				init:  func(r, v int64) *kernel.Value { return x.b.Load(place(r, v), x.width) },
				done:  func(r, v int64, sum *kernel.Value) { x.b.Store(place(r, v), sum) },
				depth: x.through(kernel.Int(0), x.rows),
			})
		})
	})
}

// resume takes the sums of the block's rows from where they are stored, suspend puts them
// back.
func (x *block) resume(i int) {
	x.stretch(i, func(at At, from kernel.Index) {
		x.columnsOf(i, at, func(at At, c kernel.Index, l Lanes) {
			x.b.Store(x.mem.acc[i].At(from.Add(c)), x.Outs[i].Load(at, l))
		})
	})
}

func (x *block) suspend(i int) {
	x.stretch(i, func(at At, from kernel.Index) { x.storeColumns(i, at, from, nil) })
}

// stretch runs body for each row of the block, with the first of its sums.
func (x *block) stretch(i int, body func(at At, from kernel.Index)) {
	width := x.rowLen(x.operand(x.Outs[i]))
	x.b.For(kernel.Between(kernel.Int(0), x.rows), func(r kernel.Index) {
		at := x.at
		at.Row = x.row.Add(r)
		x.Row(at, func() { body(at, r.Mul(width)) })
	})
}
