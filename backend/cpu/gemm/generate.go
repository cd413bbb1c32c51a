package gemm

import "ptc/backend/kernel"

// Generate makes the kernel of s for m. The cut into tasks and blocks depends
// on the sizes, on m, and on s.Blocks, where there are any, alone. The error is of a Spec
// that describes no product, of blocks that it cannot have, or of a callback that builds
// no well-formed kernel.
func Generate(s Spec, m kernel.Machine) (*kernel.Kernel, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if d, ok := newDots(&s, m); ok {
		return d.generate(&s, m)
	}
	p, err := newBlocking(&s, m)
	if err != nil {
		return nil, err
	}
	c := code{b: s.Begin(product(s.Outer) * p.blocksM * p.blocksN), m: m, width: int(p.lanes)}
	t := newTask(c, &s, &p)
	mem := t.allocate()
	t.contract(s.OuterK, At{Outer: t.outer}, func(k *kBlock) { k.multiply(mem) })
	return c.b.Finish()
}

// multiply generates the block of K of a task: see the package comment.
func (g *kBlock) multiply(mem scratch) {
	left := &leftPack{kBlock: g, buf: mem.left, rows: mem.rows, stage: mem.stage}
	left.pack()
	g.groups(func(from, to kernel.Index) {
		right := &rightPack{kBlock: g, group0: from, group1: to, buf: mem.right}
		right.pack()
		x := &tileProduct{kBlock: g, left: left, right: right, sums: sums{g, mem.results}}
		if g.inPlace {
			g.b.For(kernel.Between(g.tile0, g.tile1), func(t kernel.Index) {
				g.b.For(kernel.Between(from, to), func(p kernel.Index) { x.tile(t, p) })
			})
			return
		}
		g.b.For(kernel.Between(from, to), func(p kernel.Index) {
			g.b.For(kernel.Between(g.tile0, g.tile1), func(t kernel.Index) { x.tile(t, p) })
		})
	})
}
