package attention

import "ptc/backend/kernel"

// keyBlock is a block of keys within a task.
type keyBlock struct {
	*task
	at         At // the loops that its operands vary along
	key0, key1 kernel.Index
}

// newKeyBlock is block number n of the keys.
func (g *task) newKeyBlock(n kernel.Index) *keyBlock {
	from := n.Mul(g.kb)
	to := from.Plus(g.kb)
	if g.Keys%g.kb != 0 {
		to = g.b.MinIndex(to, kernel.Int(g.Keys))
	}
	return &keyBlock{g, g.at, from, to}
}

// pack copies the block of keys of all key operands, in the orders they are used.
func (g *keyBlock) pack() {
	for i := range g.ByKey {
		if g.mem.across[i] != nil {
			g.packAcross(i)
		}
		if g.mem.along[i] != nil {
			g.packAlong(i)
		}
	}
}

// packAlong copies keys by loads along columns.
func (g *keyBlock) packAlong(i int) {
	o := &g.ByKey[i]
	nr := g.panelVecs(o) * g.lanes
	g.loop(o.Subs, func(sub []kernel.Index, s kernel.Index) {
		first := s.Mul(ceil(g.padded(o), nr))
		whole := o.Cols / nr
		copyTo := func(panel, key kernel.Index, v int64, at At, l Lanes) {
			to := first.Add(panel).Mul(g.kb).Add(key.Sub(g.key0)).Mul(nr).Plus(v)
			g.b.Store(g.mem.along[i].At(to), o.Load(at, AlongCols, l))
		}
		each := func(body func(at At)) {
			g.b.For(kernel.Between(g.key0, g.key1), func(k kernel.Index) {
				at := g.at
				at.Key, at.Sub = k, sub
				body(at)
			})
		}
		if whole > 0 {
			each(func(at At) {
				g.b.For(kernel.Span(whole), func(q kernel.Index) {
					for v := int64(0); v < nr; v += g.lanes {
						at.Col = q.Mul(nr).Plus(v)
						copyTo(q, at.Key, v, at, Lanes{N: g.width})
					}
				})
			})
		}
		if whole*nr < o.Cols {
			each(func(at At) {
				for c := whole * nr; c < o.Cols; c += g.lanes {
					at.Col = kernel.Int(c)
					copyTo(kernel.Int(whole), at.Key, c-whole*nr, at, g.tail(o.Cols-c))
				}
			})
		}
	})
}

// packAcross copies keys with lanes along them. Keys past the last repeat it: what is
// made of them is never read.
func (g *keyBlock) packAcross(i int) {
	o := &g.ByKey[i]
	g.loop(o.Subs, func(sub []kernel.Index, s kernel.Index) {
		panels := g.div(g.key1.Sub(g.key0).Plus(g.nr-1), g.nr)
		g.b.For(kernel.Between(kernel.Int(0), panels), func(p kernel.Index) {
			at := g.at
			at.Sub = sub
			to := p.Mul(product(o.Subs)).Add(s).Mul(o.Cols * g.nr)
			for v := int64(0); v < g.nr; v += g.lanes {
				at.Key = g.key0.Add(p.Mul(g.nr)).Plus(v)
				place := func(c kernel.Index) kernel.Ref { return g.mem.across[i].At(c.Mul(g.nr).Add(to).Plus(v)) }
				if o.Unit == AlongKeys {
					g.copyAcross(o, at, place)
				} else {
					g.transposed(o, at, place)
				}
			}
		})
	})
}

// copyAcross copies the vector of keys at at, column by column.
func (g *keyBlock) copyAcross(o *Operand, at At, place func(c kernel.Index) kernel.Ref) {
	l := Lanes{N: g.width}
	if g.Keys%g.nr != 0 {
		l.Mask = g.b.TailMask(kernel.Int(g.Keys).Sub(at.Key), g.width)
	}
	g.b.For(kernel.Span(o.Cols), func(c kernel.Index) {
		at.Col = c
		g.b.Store(place(c), o.Load(at, AlongKeys, l))
	})
}

// transposed copies the same by loads along columns, in squares that are transposed in
// registers.
func (g *keyBlock) transposed(o *Operand, at At, place func(c kernel.Index) kernel.Ref) {
	keys := make([]kernel.Index, g.lanes)
	for i := range keys {
		keys[i] = at.Key.Plus(int64(i))
		if g.Keys%g.nr != 0 {
			keys[i] = g.b.MinIndex(keys[i], kernel.Int(g.Keys-1))
		}
	}
	square := func(c kernel.Index, n int64) {
		rows := make([]*kernel.Value, g.lanes)
		at.Col = c
		for i := range rows {
			at.Key = keys[i]
			rows[i] = o.Load(at, AlongCols, g.tail(n))
		}
		transpose(g.b, rows)
		for j := range n {
			g.b.Store(place(c.Plus(j)), rows[j])
		}
	}
	whole := o.Cols / g.lanes * g.lanes
	if whole > 0 {
		g.b.For(kernel.Span(whole).By(g.lanes).Unrolled(1), func(c kernel.Index) { square(c, g.lanes) })
	}
	if whole < o.Cols {
		square(kernel.Int(whole), o.Cols-whole)
	}
}

// clear begins the sums by keys.
func (g *keyBlock) clear(over Over) {
	for i, o := range g.Outs {
		if o.Over == over {
			g.fill(g.mem.acc[i], 0)
		}
	}
}

// finish stores the sums by keys.
func (g *keyBlock) finish(over Over) {
	for i, o := range g.Outs {
		if o.Over != over {
			continue
		}
		width := g.rowLen(g.operand(o))
		g.b.For(kernel.Between(g.key0, g.key1), func(k kernel.Index) {
			at := g.at
			at.Key = k
			g.storeColumns(i, at, k.Sub(g.key0).Mul(width), nil)
		})
	}
}

// transpose turns n vectors of n elements, a power of two, into the vectors of their
// first, second, … elements: squares of half the size change places, then those of a
// quarter in each of them.
func transpose(b *kernel.Builder, rows []*kernel.Value) {
	n := len(rows)
	for w := n / 2; w > 0; w /= 2 {
		low, high := make([]int, n), make([]int, n)
		for l := range n {
			if l&w == 0 {
				low[l], high[l] = l, l+w
			} else {
				low[l], high[l] = n+l-w, n+l
			}
		}
		for i := range n {
			if i&w == 0 {
				x, y := rows[i], rows[i+w]
				rows[i], rows[i+w] = b.Shuffle(x, y, low...), b.Shuffle(x, y, high...)
			}
		}
	}
}
