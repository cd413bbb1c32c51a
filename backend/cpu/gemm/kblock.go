package gemm

import "ptc/backend/kernel"

// kBlock is a block of K within a task.
type kBlock struct {
	*task
	at At // the loops outside it, and where in K it begins
}

// depthIn is how many of the first n steps of K lie in the block at hand. No
// block but the last, where n is, has less than kc.
func (g *kBlock) depthIn(n int64) kernel.Index {
	if n == g.steps*g.kc {
		return kernel.Int(g.kc)
	}
	if g.steps == 1 {
		return kernel.Int(n)
	}
	return g.b.MinIndex(kernel.Int(n).Sub(g.at.K), kernel.Int(g.kc))
}

// inLastDepth runs body in the last block of K only.
func (g *kBlock) inLastDepth(body func()) {
	if g.steps == 1 {
		body()
		return
	}
	g.b.When(g.b.AtLeast(g.at.K, (g.steps-1)*g.kc), body)
}

// depthDone counts what has been added before the block of K at hand: 0 in the
// first, lastDepth in the last, in between in all others.
func (g *kBlock) depthDone() kernel.Index {
	n := g.at.K
	for _, i := range g.at.OuterK {
		n = n.Add(i)
	}
	return n
}

// alongK loads row m of the left operand by vectors along K and hands them to
// store, which may be of one lane where the machine has no masks.
func (g *kBlock) alongK(m kernel.Index, store func(k kernel.Index, x *kernel.Value)) {
	whole := g.K / g.lanes * g.lanes
	at := g.at
	at.M = m
	vector := func(k kernel.Index, lanes int, mask *kernel.Value) {
		at.K = g.at.K.Add(k)
		store(k, g.Left.Load(at, AlongK, lanes, mask))
	}
	if whole > 0 {
		g.b.For(kernel.Between(kernel.Int(0), g.depthIn(whole)).By(g.lanes).Unrolled(4), func(k kernel.Index) { vector(k, g.width, nil) })
	}
	if whole < g.K {
		g.inLastDepth(func() { g.tail(g.depthIn(whole), g.K-whole, vector) })
	}
}

// strip is the number of steps of K that are copied of one tile or panel before
// the next: the rest of their cache lines, and the lines after them, are then
// still in L1, even if all steps are in one set of it.
const strip = 8

// strips runs body for the strips [first, end) of the block of K, and in each
// for every i in [from, to).
func (g *kBlock) strips(from, to kernel.Index, body func(i, first, end kernel.Index)) {
	g.b.For(kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(strip), func(first kernel.Index) {
		end := first.Plus(strip)
		if g.K%strip != 0 {
			end = g.b.MinIndex(end, g.depthIn(g.K))
		}
		g.b.For(kernel.Between(from, to), func(i kernel.Index) { body(i, first, end) })
	})
}

// packed is what is packed of step k of operand o, whose other indices are at: its
// elements, or the words of these and those of the next steps, which exist or are zeros.
func (g *kBlock) packed(o Operand, at At, k kernel.Index, along Along, lanes int, mask *kernel.Value, exist bool) *kernel.Value {
	at.K = g.at.K.Add(k)
	steps := []*kernel.Value{o.Load(at, along, lanes, mask)}
	for i := int64(1); i < g.by.step(); i++ {
		next := at
		next.K = at.K.Plus(i)
		if g.K%g.by.step() == 0 || exist {
			steps = append(steps, o.Load(next, along, lanes, mask))
			continue
		}
		behind := g.b.AtLeast(next.K, g.K)
		next.K = g.b.MinIndex(next.K, kernel.Int(g.K-1))
		x := o.Load(next, along, lanes, mask)
		steps = append(steps, g.b.Select(behind, g.b.Like(x, 0), x))
	}
	return g.together(steps, 0)
}

// together is what is packed of steps i and on, of which steps has one vector each;
// behind the last one that exists they are zero.
func (g *kBlock) together(steps []*kernel.Value, i int64) *kernel.Value {
	switch g.by.step() {
	case 1:
		return steps[i]
	case 2:
		if g.by == tiles {
			return g.b.ZipBF16(steps[i], steps[i+1])
		}
		return g.b.PairBF16(steps[i], steps[i+1])
	}
	first, second := g.b.PairBF16(steps[i], steps[i+1]), g.b.PairBF16(steps[i+2], steps[i+3])
	var lanes []int
	for l := range first.Type.Lanes {
		lanes = append(lanes, l, first.Type.Lanes+l)
	}
	return g.b.Shuffle(first, second, lanes...)
}

// pairsAlong loads 32 steps of o from step k on, in pairs, of which so many exist; the
// others are zeros.
func (g *kBlock) pairsAlong(o Operand, at At, k kernel.Index, exist int64) *kernel.Value {
	half := func(first int64) *kernel.Value {
		at.K = g.at.K.Add(k).Plus(first)
		switch n := exist - first; {
		case n <= 0:
			return g.b.F32(0, g.width)
		case n < line:
			return o.Load(at, AlongK, g.width, g.b.TailMask(kernel.Int(n), g.width))
		}
		return o.Load(at, AlongK, g.width, nil)
	}
	return g.b.PackBF16(half(0), half(line))
}

// clear makes a vector of elements zero, or as many words as are packed of one.
func (g *kBlock) clear(to kernel.Ref) {
	lanes := g.width
	if to.Buf.Elem == kernel.I32 {
		lanes *= int(g.by.words())
	}
	g.b.Store(to, g.b.Const(kernel.Vec(to.Buf.Elem, lanes), 0))
}
