package attention

import (
	"math"

	"ptc/backend/kernel"
)

// clearRows begins the sums by rows.
func (g *task) clearRows() {
	zero := g.b.F32(0, g.width)
	for i, o := range g.Outs {
		switch {
		case o.Over != OverKeys:
		case g.stored(o):
			g.eachRow(func(at At, _ kernel.Index) {
				g.columnsOf(i, at, func(at At, _ kernel.Index, l Lanes) { g.Store(i, at, zero, l) })
			})
		default:
			g.fill(g.mem.acc[i], 0)
		}
	}
	if g.Top {
		none := g.b.F32(float32(math.Inf(-1)), 1)
		g.b.For(kernel.Span(g.mem.top.Len), func(i kernel.Index) { g.b.Store(g.mem.top.At(i), none) })
	}
	if g.Sum {
		g.fill(g.mem.sum, 0)
	}
}

// finishRows stores the sums by rows of the task.
func (g *task) finishRows() {
	some := g.Top || g.Sum
	for _, o := range g.Outs {
		some = some || o.Over == OverKeys && !g.stored(o)
	}
	if some {
		g.eachRow(g.finishRow)
	}
}

// eachRow runs body for every row of the task, with its number among acc's rows.
func (g *task) eachRow(body func(at At, slot kernel.Index)) {
	rows := func(at At, base kernel.Index) {
		g.b.For(kernel.Between(g.row0, g.row1), func(r kernel.Index) {
			at.Row = r
			g.Row(at, func() { body(at, base.Add(r)) })
		})
	}
	if g.split {
		rows(g.at, g.row0.Mul(-1))
		return
	}
	at := g.at
	g.loop(g.Inner, func(inner []kernel.Index, i kernel.Index) {
		at.Inner = inner
		g.loop(g.Groups, func(group []kernel.Index, n kernel.Index) {
			at.Group = group
			rows(at, g.groupBase(i, n))
		})
	})
}

// finishRow completes one row. Of a row that has seen no key the plain operations make
// no number, where the largest score itself is taken off: −∞ less itself.
func (g *task) finishRow(at At, slot kernel.Index) {
	b := g.b
	var top, sum, none *kernel.Value
	if g.Sum {
		sum = b.ReduceAdd(b.Load(g.mem.sum.At(slot.Mul(g.lanes)), g.width))
	}
	if g.Top {
		top = b.Load(g.mem.top.At(slot), 1)
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
				g.storeColumns(i, at, slot.Mul(g.rowLen(g.operand(o))), none)
			}
		}
	})
}

// columnsOf runs body for the vectors of columns of Outs[i], with the place of each among
// the sums of a row.
func (g *task) columnsOf(i int, at At, body func(at At, from kernel.Index, l Lanes)) {
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
func (g *task) storeColumns(i int, at At, from kernel.Index, none *kernel.Value) {
	g.columnsOf(i, at, func(at At, c kernel.Index, l Lanes) {
		x := g.b.Load(g.mem.acc[i].At(from.Add(c)), g.width)
		if none != nil {
			x = g.b.Select(none, g.b.Like(x, math.NaN()), x)
		}
		g.Store(i, at, x, l)
	})
}

// panels runs body for the panels of the columns of o: their number of vectors, the
// panel's number in the packed operand, and its first column in the sums.
func (g *task) panels(o *Operand, body func(vecs int64, panel, col kernel.Index)) {
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
