package gemm

import "ptc/backend/kernel"

// dots is how a product of few rows with a right operand that is contiguous along
// K is cut: every result is the sum of a vector of partial sums along K. The right
// operand is read once, each column from front to back, and nothing of it is
// packed or transposed.
type dots struct {
	lanes  int64
	cols   int64 // columns at a time: m·cols accumulators
	each   int64 // columns of a task, a multiple of lanes but in the last
	blocks int64
	outer  int64
}

// newDots says whether s is such a product.
func newDots(s *Spec, m kernel.Machine) (dots, bool) {
	d := dots{lanes: int64(m.Lanes(kernel.F32)), outer: product(s.Outer)}
	// The columns at hand or the rows are in registers, whichever are fewer, and
	// one of the others, besides the accumulators and a product.
	for c := int64(1); c <= 8 && s.M*c+min(s.M, c)+2 <= int64(m.Registers)-1; c++ {
		d.cols = c
	}
	if s.Right.Unit != AlongK || s.M > fewRows/2 || d.cols == 0 || product(s.OuterK) > 1 || s.K < 2*d.lanes || d.lanes < quad {
		return d, false
	}
	d.cols = min(d.cols, s.N)
	work := d.outer * s.M * s.N * s.K
	want := min(manyTasks, max(1, work/minWork))
	d.blocks = min(ceil(want, d.outer), ceil(s.N, d.lanes))
	d.each = ceil(ceil(s.N, d.blocks), d.lanes) * d.lanes
	d.blocks = ceil(s.N, d.each)
	return d, true
}

// dotGen is the state of generating one kernel of dots.
type dotGen struct {
	*kBlock // all of K, with the rows as one tile
	dots
	rows *kernel.Buffer // the left operand: [row][k]
	sums *kernel.Buffer // the results of a task: [row][column]

	col0, col1 kernel.Index // first column and end of columns of the task
}

// generate makes the kernel: a task is a block of N.
func (d dots) generate(s *Spec, m kernel.Machine) (*kernel.Kernel, error) {
	b := s.Begin(d.outer * d.blocks)
	all := caching{tiling: tiling{lanes: d.lanes, mr: s.M, tiles: 1, wide: 1}, kc: s.K, steps: 1}
	t := &task{code: code{b, m, int(d.lanes)}, Spec: s, blocking: blocking{caching: all}}
	g := &dotGen{kBlock: &kBlock{task: t}, dots: d}
	g.rows = b.Scratch("rows", kernel.F32, s.M*g.rowStride())
	g.sums = b.Scratch("sums", kernel.F32, s.M*d.each)
	at := b.Position(b.Task(), append(append([]int64(nil), s.Outer...), d.blocks))
	g.at.Outer = at[:len(s.Outer)]
	block := at[len(s.Outer)]
	g.col0, g.col1 = g.share(block, block.Plus(1), d.each, s.N)
	g.emit()
	return b.Finish()
}

func (g *dotGen) emit() {
	g.b.For(kernel.Span(g.M), g.copyRow)
	n := g.col1.Sub(g.col0)
	whole := n
	if g.cols > 1 {
		size := g.b.Value(n)
		whole = kernel.Of(g.b.Div(size, g.b.ConstInt(size.Type, g.cols))).Mul(g.cols)
	}
	g.b.For(kernel.Between(kernel.Int(0), whole).By(g.cols), func(c kernel.Index) { g.columns(c, g.cols) })
	if g.cols > 1 {
		g.b.For(kernel.Between(whole, n), func(c kernel.Index) { g.columns(c, 1) })
	}
	g.b.For(kernel.Span(g.M), g.store)
}

// copyRow copies row m of the left operand, which every column of the task reads.
func (g *dotGen) copyRow(m kernel.Index) {
	to := func(k kernel.Index) kernel.Ref { return g.rows.At(m.Mul(g.rowStride()).Add(k)) }
	if g.Left.Unit == AlongK {
		g.alongK(m, func(k kernel.Index, x *kernel.Value) { g.b.Store(to(k), x) })
		return
	}
	g.b.For(kernel.Span(g.K), func(k kernel.Index) {
		at := g.at
		at.K, at.M = k, m
		g.b.Store(to(k), g.Left.Load(at, AlongM, 1, nil))
	})
}

// columns computes cols columns from c of the task on.
func (g *dotGen) columns(c kernel.Index, cols int64) {
	whole := g.K / g.lanes * g.lanes
	acc := g.zeros(cols, g.width)
	acc = g.b.ForCarry(kernel.Span(whole).By(g.lanes).Unrolled(1), acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		return g.step(c, k, cols, g.width, nil, acc)
	})
	if whole < g.K && g.m.Masked {
		acc = g.step(c, kernel.Int(whole), cols, g.width, g.b.TailMask(kernel.Int(g.K-whole), g.width), acc)
	}
	rest := g.zeros(cols, 1)
	if whole < g.K && !g.m.Masked {
		rest = g.b.ForCarry(kernel.Between(kernel.Int(whole), kernel.Int(g.K)).Unrolled(1), rest, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
			return g.step(c, k, cols, 1, nil, acc)
		})
	}
	for i, x := range acc {
		m, j := int64(i)/cols, int64(i)%cols
		g.b.Store(g.sums.At(c.Plus(m*g.each+j)), g.b.Add(g.b.ReduceAdd(x), rest[i]))
	}
}

func (g *dotGen) zeros(cols int64, lanes int) (acc []*kernel.Value) {
	for range g.M * cols {
		acc = append(acc, g.b.F32(0, lanes))
	}
	return acc
}

// step adds the products of lanes steps of K from k on: masked lanes are zero in
// the right operand, and behind the rows there is room.
func (g *dotGen) step(c, k kernel.Index, cols int64, lanes int, mask *kernel.Value, acc []*kernel.Value) []*kernel.Value {
	right := make([]*kernel.Value, cols)
	at := g.at
	at.K = k
	for j := range cols {
		at.N = g.col0.Add(c).Plus(j)
		right[j] = g.Right.Load(at, AlongK, lanes, mask)
	}
	next := make([]*kernel.Value, 0, len(acc))
	for m := range g.M {
		x := g.b.Load(g.rows.At(k.Plus(m*g.rowStride())).Masked(mask), lanes)
		for j := range cols {
			next = append(next, g.b.MulAdd(x, right[j], acc[int64(len(next))]))
		}
	}
	return next
}

// store hands row m of the task's sums to Store.
func (g *dotGen) store(m kernel.Index) {
	at := g.at
	at.M = m
	hand := func(col kernel.Index, lanes int, mask *kernel.Value) {
		at.N = col
		g.Store(at, g.b.Load(g.sums.At(m.Mul(g.each).Add(col).Sub(g.col0)), lanes), lanes, mask)
	}
	whole := g.N / g.lanes * g.lanes
	if whole > 0 {
		g.b.For(kernel.Between(g.col0, g.b.MinIndex(g.col1, kernel.Int(whole))).By(g.lanes), func(col kernel.Index) { hand(col, g.width, nil) })
	}
	if whole < g.N {
		last := func() { g.tail(kernel.Int(whole), g.N-whole, hand) }
		if g.blocks == 1 {
			last()
			return
		}
		g.b.When(g.b.AtLeast(g.col1, g.N), last)
	}
}
