package attention

import (
	"math"

	"ptc/backend/kernel"
)

// panels runs body for the panels of the columns of o: their number of vectors, the
// panel's number in the packed operand, and its first column in the sums.
func (g *gen) panels(o *Operand, body func(vecs int64, panel, col kernel.Index)) {
	vecs := g.panelVecs(o)
	nr, width := vecs*g.lanes, g.padded(o)
	whole, each := width/nr, ceil(width, nr)
	run := func(s kernel.Index) {
		if whole > 0 {
			g.b.For(kernel.Span(whole), func(q kernel.Index) {
				body(vecs, s.Mul(each).Add(q), s.Mul(width).Add(q.Mul(nr)))
			})
		}
		if whole < each {
			body((width-whole*nr)/g.lanes, s.Mul(each).Plus(whole), s.Mul(width).Plus(whole*nr))
		}
	}
	if n := product(o.Subs); n > 1 {
		g.b.For(kernel.Span(n), run)
	} else {
		run(kernel.Int(0))
	}
}

// resume takes the sums of the block's rows from where they are stored, suspend puts them
// back.
func (x *block) resume(i int) {
	x.stretch(i, func(at At, from kernel.Index) {
		x.columnsOf(i, at, func(at At, c kernel.Index, l Lanes) {
			x.b.Store(x.acc[i].At(from.Add(c)), x.Outs[i].Load(at, l))
		})
	})
}

func (x *block) suspend(i int) {
	x.stretch(i, func(at At, from kernel.Index) { x.storeColumns(i, at, from, nil) })
}

// stretch runs body for each row of the block, with the first of its sums.
func (x *block) stretch(i int, body func(at At, from kernel.Index)) {
	width := x.blocking.width(x.operand(x.Outs[i]))
	x.b.For(kernel.Between(kernel.Int(0), x.rows), func(r kernel.Index) {
		at := x.at
		at.Row = x.row.Add(r)
		x.Row(at, func() { body(at, r.Mul(width)) })
	})
}

// overKeys adds the products of weights and keys of the block to Outs[i], whose sums begin
// with row slot.
func (x *block) overKeys(i int, slot kernel.Index) {
	out := x.Outs[i]
	o := x.operand(out)
	nr, width := x.panelVecs(o)*x.lanes, x.blocking.width(o)
	x.panels(o, func(vecs int64, panel, col kernel.Index) {
		x.each(func(t kernel.Index) {
			lo, hi := x.tile(t)
			first := t.Mul(x.mr)
			place := func(r, v int64) kernel.Ref {
				return x.acc[i].At(slot.Add(first).Plus(r).Mul(width).Add(col).Plus(v * x.lanes))
			}
			x.product(tile{
				rows: x.mr, vecs: vecs,
				left: func(k kernel.Index, r int64) kernel.Ref {
					return x.scores[out.Weights].At(first.Plus(r).Mul(x.scoreStride()).Add(k))
				},
				right: func(k kernel.Index, v int64) kernel.Ref {
					return x.along[out.Of].At(panel.Mul(x.kb).Add(k).Mul(nr).Plus(v * x.lanes))
				},
				init: func(r, v int64) *kernel.Value {
					sum := x.b.Load(place(r, v), x.width)
					if x.Top {
						sum = x.b.Mul(sum, x.b.Load(x.scale.At(first.Plus(r)).Strided(0), x.width))
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
	width, stride := x.blocking.width(o), x.rowStride(out.Of)
	from, to := x.floor(x.lo.Sub(x.key0)), x.hi.Sub(x.key0)
	x.panels(o, func(vecs int64, _, col kernel.Index) {
		x.b.For(kernel.Between(from, to).By(x.mr), func(key kernel.Index) {
			place := func(r, v int64) kernel.Ref {
				return x.acc[i].At(key.Plus(r).Mul(width).Add(col).Plus(v * x.lanes))
			}
			x.product(tile{
				rows: x.mr, vecs: vecs,
				left: func(k kernel.Index, r int64) kernel.Ref {
					return x.scores[out.Weights].At(k.Mul(x.scoreStride()).Add(key).Plus(r))
				},
				right: func(k kernel.Index, v int64) kernel.Ref {
					return x.packed[out.Of].At(k.Mul(stride).Add(col).Plus(v * x.lanes))
				},
				init:  func(r, v int64) *kernel.Value { return x.b.Load(place(r, v), x.width) },
				done:  func(r, v int64, sum *kernel.Value) { x.b.Store(place(r, v), sum) },
				depth: x.through(kernel.Int(0), x.rows),
			})
		})
	})
}

// fill stores v in the first n vectors of buf.
func (g *gen) fill(buf *kernel.Buffer, n int64, v float64) {
	x := g.b.Const(kernel.Vec(kernel.F32, g.width), v)
	g.b.For(kernel.Span(n*g.lanes).By(g.lanes), func(i kernel.Index) { g.b.Store(buf.At(i), x) })
}

// clearRows begins the sums by rows.
func (g *gen) clearRows() {
	zero := g.b.F32(0, g.width)
	for i, o := range g.Outs {
		switch {
		case o.Over != OverKeys:
		case g.stored(o):
			g.eachRow(func(at At, _ kernel.Index) {
				g.columnsOf(i, at, func(at At, _ kernel.Index, l Lanes) { g.Store(i, at, zero, l) })
			})
		default:
			g.fill(g.acc[i], g.acc[i].Len/g.lanes, 0)
		}
	}
	if g.Top {
		none := g.b.F32(float32(math.Inf(-1)), 1)
		g.b.For(kernel.Span(g.top.Len), func(i kernel.Index) { g.b.Store(g.top.At(i), none) })
	}
	if g.Sum {
		g.fill(g.sum, g.sum.Len/g.lanes, 0)
	}
}

// clearKeys begins the sums by keys.
func (g *gen) clearKeys(over Over) {
	for i, o := range g.Outs {
		if o.Over == over {
			g.fill(g.acc[i], g.acc[i].Len/g.lanes, 0)
		}
	}
}

// finishKeys stores the sums by keys of the block.
func (g *gen) finishKeys(over Over) {
	for i, o := range g.Outs {
		if o.Over != over {
			continue
		}
		width := g.blocking.width(g.operand(o))
		g.b.For(kernel.Between(g.key0, g.key1), func(k kernel.Index) {
			at := g.at
			at.Key = k
			g.storeColumns(i, at, k.Sub(g.key0).Mul(width), nil)
		})
	}
}

// columnsOf runs body for the vectors of columns of Outs[i], with the place of each among
// the sums of a row.
func (g *gen) columnsOf(i int, at At, body func(at At, from kernel.Index, l Lanes)) {
	o := g.operand(g.Outs[i])
	g.loop(o.Subs, func(sub []kernel.Index, s kernel.Index) {
		at.Sub = sub
		g.columns(o, func(c kernel.Index, l Lanes) {
			at.Col = c
			body(at, s.Mul(g.padded(o)).Add(c), l)
		})
	})
}

// storeColumns hands the sums from index from on to Store: where none holds, what are no
// numbers.
func (g *gen) storeColumns(i int, at At, from kernel.Index, none *kernel.Value) {
	g.columnsOf(i, at, func(at At, c kernel.Index, l Lanes) {
		x := g.b.Load(g.acc[i].At(from.Add(c)), g.width)
		if none != nil {
			x = g.b.Select(none, g.b.Like(x, math.NaN()), x)
		}
		g.Store(i, at, x, l)
	})
}

// finishRows stores the sums by rows of the task.
func (g *gen) finishRows() {
	some := g.Top || g.Sum
	for _, o := range g.Outs {
		some = some || o.Over == OverKeys && !g.stored(o)
	}
	if some {
		g.eachRow(g.finishRow)
	}
}

// eachRow runs body for every row of the task, with its number among acc's rows.
func (g *gen) eachRow(body func(at At, slot kernel.Index)) {
	group := func(base kernel.Index) {
		g.b.For(kernel.Between(g.row0, g.row1), func(r kernel.Index) {
			at := g.at
			at.Row = r
			g.Row(at, func() { body(at, base.Add(r)) })
		})
	}
	if g.split {
		group(g.base)
		return
	}
	g.loop(g.Inner, func(inner []kernel.Index, i kernel.Index) {
		g.at.Inner = inner
		g.loop(g.Groups, func(at []kernel.Index, n kernel.Index) {
			g.at.Group = at
			group(i.Mul(product(g.Groups)).Add(n).Mul(g.groupRows()))
		})
	})
}

// finishRow completes one row. Of a row that has seen no key the plain operations make
// no number, where the largest score itself is taken off: −∞ less itself.
func (g *gen) finishRow(at At, slot kernel.Index) {
	b := g.b
	var top, sum, none *kernel.Value
	if g.Sum {
		sum = b.ReduceAdd(b.Load(g.sum.At(slot.Mul(g.lanes)), g.width))
	}
	if g.Top {
		top = b.Load(g.top.At(slot), 1)
		nan := b.Like(top, math.NaN())
		base := g.Base(top)
		none = b.Eq(base, b.Like(base, math.Inf(-1)))
		if g.Sum {
			// A score that is no number was passed over.
			top = b.Select(b.And(b.Ne(sum, sum), b.Lt(top, b.Like(top, math.Inf(1)))), nan, top)
			sum = b.Select(none, nan, sum)
		}
	}
	g.Known(at, top, sum, func() {
		for i, o := range g.Outs {
			if o.Over == OverKeys && !g.stored(o) {
				g.storeColumns(i, at, slot.Mul(g.blocking.width(g.operand(o))), none)
			}
		}
	})
}
