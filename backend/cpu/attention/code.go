package attention

import "ptc/backend/kernel"

// code is a kernel that is being built.
type code struct {
	b     *kernel.Builder
	width int // lanes of a vector, as the Builder takes them
}

// floor is x, not negative, rounded down to whole vectors, ceil rounded up.
func (g *code) floor(x kernel.Index) kernel.Index {
	n := int64(g.width)
	return g.div(x, n).Mul(n)
}

func (g *code) ceil(x kernel.Index) kernel.Index { return g.floor(x.Plus(int64(g.width) - 1)) }

// div is x, not negative, divided by n.
func (g *code) div(x kernel.Index, n int64) kernel.Index {
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
func (g *code) less(x, y kernel.Index) *kernel.Value { return g.b.Lt(g.b.Value(x), g.b.Value(y)) }

// loop runs body for each position of sizes: the indices, and their number.
func (g *code) loop(sizes []int64, body func(at []kernel.Index, linear kernel.Index)) {
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
func (g *code) columns(o *Operand, body func(c kernel.Index, l Lanes)) {
	n := int64(g.width)
	whole := o.Cols / n * n
	if whole > 0 {
		g.b.For(kernel.Span(whole).By(n), func(c kernel.Index) { body(c, Lanes{N: g.width}) })
	}
	if whole < o.Cols {
		body(kernel.Int(whole), g.tail(o.Cols-whole))
	}
}

// tail is the first n of the lanes of a vector.
func (g *code) tail(n int64) Lanes {
	l := Lanes{N: g.width}
	if n < int64(g.width) {
		l.Mask = g.b.TailMask(kernel.Int(n), g.width)
	}
	return l
}

// fill stores v in all vectors of buf.
func (g *code) fill(buf *kernel.Buffer, v float64) {
	x, n := g.b.Const(kernel.Vec(kernel.F32, g.width), v), int64(g.width)
	g.b.For(kernel.Span(buf.Len/n*n).By(n), func(i kernel.Index) { g.b.Store(buf.At(i), x) })
}
