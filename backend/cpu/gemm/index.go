package gemm

import "ptc/backend/kernel"

// depthIn is how many of the first n steps of K lie in the block at hand. No
// block but the last, where n is, has less than kc.
func (g *gen) depthIn(n int64) kernel.Index {
	if n == g.steps*g.kc {
		return kernel.Int(g.kc)
	}
	if g.steps == 1 {
		return kernel.Int(n)
	}
	return g.least(kernel.Int(n).Sub(g.at.K), g.kc)
}

// inLastDepth runs body in the last block of K only.
func (g *gen) inLastDepth(body func()) {
	if g.steps == 1 {
		body()
		return
	}
	g.when(g.atLeast(g.at.K, (g.steps-1)*g.kc), body)
}

// inLastPanel runs body where p is the last panel of the product.
func (g *gen) inLastPanel(p kernel.Index, body func()) {
	if g.panels == 1 {
		body()
		return
	}
	g.when(g.atLeast(p, g.panels-1), body)
}

func (g *gen) atLeast(x kernel.Index, n int64) *kernel.Value {
	v := g.b.Value(x)
	return g.b.Ge(v, g.b.ConstInt(v.Type, n))
}

func (g *gen) when(cond *kernel.Value, body func()) {
	g.b.If(cond, func() []*kernel.Value { body(); return nil }, nil)
}

func (g *gen) either(cond *kernel.Value, then, els func()) {
	g.b.If(cond, func() []*kernel.Value { then(); return nil }, func() []*kernel.Value { els(); return nil })
}

// lesser is the smaller of x and y.
func (g *gen) lesser(x, y kernel.Index) kernel.Index {
	if y.IsConst() {
		return g.least(x, y.Const)
	}
	return kernel.Of(g.b.Min(g.b.Value(x), g.b.Value(y)))
}

// least is the smaller of x and n.
func (g *gen) least(x kernel.Index, n int64) kernel.Index {
	if x.IsConst() {
		return kernel.Int(min(x.Const, n))
	}
	v := g.b.Value(x)
	return kernel.Of(g.b.Min(v, g.b.ConstInt(v.Type, n)))
}

// tail runs vector over the n < lanes positions from x on: as one masked
// vector, or one by one where the machine has no masks.
func (g *gen) tail(x kernel.Index, n int64, vector func(x kernel.Index, lanes int, mask *kernel.Value)) {
	if g.m.Masked {
		vector(x, g.width, g.b.TailMask(kernel.Int(n), g.width))
		return
	}
	g.b.For(kernel.Between(x, x.Plus(n)), func(i kernel.Index) { vector(i, 1, nil) })
}
