package attention

import "ptc/backend/kernel"

// lesser is the smaller of x and y, greater the larger.
func (g *gen) lesser(x, y kernel.Index) kernel.Index {
	if d := x.Sub(y); d.IsConst() {
		if d.Const <= 0 {
			return x
		}
		return y
	}
	return kernel.Of(g.b.Min(g.b.Value(x), g.b.Value(y)))
}

func (g *gen) greater(x, y kernel.Index) kernel.Index {
	if d := x.Sub(y); d.IsConst() {
		if d.Const >= 0 {
			return x
		}
		return y
	}
	return kernel.Of(g.b.Max(g.b.Value(x), g.b.Value(y)))
}

// floor is x, not negative, rounded down to whole vectors, ceil rounded up.
func (g *gen) floor(x kernel.Index) kernel.Index { return g.div(x, g.lanes).Mul(g.lanes) }
func (g *gen) ceil(x kernel.Index) kernel.Index  { return g.floor(x.Plus(g.lanes - 1)) }

// div is x, not negative, divided by n.
func (g *gen) div(x kernel.Index, n int64) kernel.Index {
	if x.IsConst() {
		return kernel.Int(x.Const / n)
	}
	if n == 1 {
		return x
	}
	whole := x.Const%n == 0
	for _, t := range x.Terms {
		whole = whole && t.Coef%n == 0
	}
	if whole {
		d := kernel.Int(x.Const / n)
		for _, t := range x.Terms {
			d = d.Add(kernel.Of(t.Var).Mul(t.Coef / n))
		}
		return d
	}
	v := g.b.Value(x)
	return kernel.Of(g.b.Div(v, g.b.ConstInt(v.Type, n)))
}

// less reports x < y, as a value of the form.
func (g *gen) less(x, y kernel.Index) *kernel.Value { return g.b.Lt(g.b.Value(x), g.b.Value(y)) }

// when runs body where cond holds.
func (g *gen) when(cond *kernel.Value, body func()) {
	g.b.If(cond, func() []*kernel.Value { body(); return nil }, nil)
}

// loop runs body for each position of sizes: the indices, and their number.
func (g *gen) loop(sizes []int64, body func(at []kernel.Index, linear kernel.Index)) {
	var nest func(at []kernel.Index, linear kernel.Index)
	nest = func(at []kernel.Index, linear kernel.Index) {
		d := len(at)
		switch {
		case d == len(sizes):
			body(at, linear)
		case sizes[d] == 1:
			nest(append(at, kernel.Int(0)), linear)
		default:
			g.b.For(kernel.Span(sizes[d]), func(i kernel.Index) {
				nest(append(at[:d:d], i), linear.Mul(sizes[d]).Add(i))
			})
		}
	}
	nest(nil, kernel.Int(0))
}

// columns runs body for the vectors of the columns of o at one position of Subs; the
// last may be of fewer columns.
func (g *gen) columns(o *Operand, body func(c kernel.Index, l Lanes)) {
	whole := o.Cols / g.lanes * g.lanes
	if whole > 0 {
		g.b.For(kernel.Span(whole).By(g.lanes), func(c kernel.Index) { body(c, Lanes{N: g.width}) })
	}
	if whole < o.Cols {
		body(kernel.Int(whole), Lanes{N: g.width, Mask: g.b.TailMask(kernel.Int(o.Cols-whole), g.width)})
	}
}
