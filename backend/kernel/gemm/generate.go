package gemm

import (
	"errors"
	"fmt"

	"ptc/backend/kernel"
)

// Generate makes the kernel of s for m. The cut into tasks and blocks depends
// on the sizes and on m alone. The error is of a Spec that describes no
// product, or of a callback that builds no well-formed kernel.
func Generate(s Spec, m kernel.Machine) (*kernel.Kernel, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p := newBlocking(&s, m)
	g := &gen{Spec: &s, blocking: p, m: m, width: int(p.lanes)}
	g.b = s.Begin(p.outer * p.blocksM * p.blocksN)
	g.task()
	return g.b.Finish()
}

func (s *Spec) check() error {
	sizes := append(append([]int64{s.M, s.N, s.K}, s.Outer...), s.OuterK...)
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("gemm: a size is %d, must be at least 1", n)
		}
	}
	if s.Left.Load == nil || s.Right.Load == nil || s.Begin == nil || s.Store == nil {
		return errors.New("gemm: a callback is missing")
	}
	if s.Left.Unit == AlongN || s.Right.Unit == AlongM {
		return errors.New("gemm: an operand is contiguous along an axis it does not have")
	}
	return nil
}

// gen is the state of generating one kernel.
type gen struct {
	*Spec
	blocking
	m     kernel.Machine
	b     *kernel.Builder
	width int // lanes, as the Builder takes them

	left    *kernel.Buffer // a packed group of tiles: [row][k], or [tile][k][row] if contiguous along M
	right   *kernel.Buffer // packed panels of the block: [panel][k][column]
	results *kernel.Buffer // sums: of the block if accumulate, else of one row of tiles

	at     At           // the outer loops of the running code
	tile0  kernel.Index // first tile, end of tiles, first panel, end of panels of the task
	tile1  kernel.Index
	panel0 kernel.Index
	panel1 kernel.Index
}

// task generates the body: see the package comment.
func (g *gen) task() {
	g.allocate()
	g.position()
	if g.accumulate {
		g.clear()
	}
	g.contract(g.OuterK, func() {
		g.pack()
		g.b.For(kernel.Between(g.tile0, g.tile1).By(g.group), g.tileGroup)
	})
	if g.accumulate {
		first, end := g.row(g.tile0), g.row(g.tile1)
		g.finish(first, end.Sub(first))
	}
}

func (g *gen) allocate() {
	left := g.mr * g.depthStride()
	if g.Left.Unit == AlongM {
		left = g.group * g.kc * g.tileStride()
	}
	g.left = g.b.Scratch("left", kernel.F32, left)
	if !g.direct {
		g.right = g.b.Scratch("right", kernel.F32, g.perBlockN*g.kc*g.nr)
	}
	rows := g.mr
	if g.accumulate {
		rows *= g.perBlockM
	}
	g.results = g.b.Scratch("results", kernel.F32, rows*g.resultStride())
}

// position decodes the task number: outer loops, then blocks of N, then blocks
// of M, so that neighbours share the right block.
func (g *gen) position() {
	sizes := append(append([]int64(nil), g.Outer...), g.blocksN, g.blocksM)
	at := make([]kernel.Index, len(sizes))
	rest := g.b.Task()
	left := product(sizes)
	for i := len(sizes) - 1; i >= 0; i-- {
		switch {
		case sizes[i] == 1:
			continue
		case sizes[i] == left:
			at[i] = rest
		default:
			v := g.b.Value(rest)
			n := g.b.ConstInt(v.Type, sizes[i])
			at[i], rest = kernel.Of(g.b.Rem(v, n)), kernel.Of(g.b.Div(v, n))
		}
		left /= sizes[i]
	}
	outer := len(g.Outer)
	g.at.Outer = at[:outer]
	g.tile0, g.tile1 = g.share(at[outer+1], g.perBlockM, g.tiles)
	g.panel0, g.panel1 = g.share(at[outer], g.perBlockN, g.panels)
}

// share is the range of block i when n things are cut into blocks of each.
func (g *gen) share(i kernel.Index, each, n int64) (from, to kernel.Index) {
	from = i.Mul(each)
	to = from.Plus(each)
	if n%each != 0 {
		to = g.least(to, n)
	}
	return from, to
}

// contract runs body for every position of the contracted loops beside K.
func (g *gen) contract(sizes []int64, body func()) {
	if len(sizes) == 0 {
		g.kBlocks(body)
		return
	}
	g.b.For(kernel.Span(sizes[0]), func(i kernel.Index) {
		g.at.OuterK = append(g.at.OuterK, i)
		g.contract(sizes[1:], body)
		g.at.OuterK = g.at.OuterK[:len(g.at.OuterK)-1]
	})
}

// kBlocks runs body for every block of K, with at.K where it begins.
func (g *gen) kBlocks(body func()) {
	g.at.K = kernel.Int(0)
	if g.steps == 1 {
		body()
		return
	}
	g.b.For(kernel.Span(g.steps), func(i kernel.Index) {
		g.at.K = i.Mul(g.kc)
		body()
	})
}

// row is the first row of tile t.
func (g *gen) row(t kernel.Index) kernel.Index {
	if g.wide == g.tiles {
		return t.Mul(g.mr)
	}
	return t.Mul(g.mr - 1).Add(g.least(t, g.wide))
}

// tileGroup packs the left operand of the group of tiles from first on, and
// generates their products.
func (g *gen) tileGroup(first kernel.Index) {
	if g.group == 1 {
		g.packLeft(first, first.Plus(1))
		g.tileRow(first, g.leftTile(first, first))
		return
	}
	end := g.lesser(first.Plus(g.group), g.tile1)
	g.packLeft(first, end)
	g.b.For(kernel.Between(first, end), func(t kernel.Index) { g.tileRow(t, g.leftTile(first, t)) })
}

// leftTile is where the packed tiles from first on have the first row of tile t.
func (g *gen) leftTile(first, t kernel.Index) kernel.Index {
	switch {
	case g.Left.Unit == AlongK:
		return kernel.Int(0)
	case g.M < g.tileStride():
		return g.row(t)
	}
	slot := t.Sub(first).Mul(g.kc * g.tileStride())
	return slot.Add(g.row(t)).Sub(g.window(t))
}

// tileRow generates the products of tile t, packed at left, with every panel of
// the block, and finishes them if nothing is to be added.
func (g *gen) tileRow(t, left kernel.Index) {
	row, next := g.row(t), g.row(t.Plus(1))
	rows := next.Sub(row)
	out := kernel.Int(0)
	if g.accumulate {
		out = row.Sub(g.row(g.tile0))
	}
	if g.wide == g.tiles {
		g.panelsOf(g.mr, left, out)
	} else {
		g.b.If(g.atLeast(t, g.wide),
			func() []*kernel.Value { g.panelsOf(g.mr-1, left, out); return nil },
			func() []*kernel.Value { g.panelsOf(g.mr, left, out); return nil })
	}
	if !g.accumulate {
		g.finish(row, rows)
	}
}

// clear zeroes the sums of the block.
func (g *gen) clear() {
	n := g.row(g.tile1).Sub(g.row(g.tile0)).Mul(g.resultStride())
	zero := g.b.F32(0, g.width)
	g.b.For(kernel.Between(kernel.Int(0), n).By(g.lanes), func(i kernel.Index) {
		g.b.Store(g.results.At(i), zero)
	})
}

// finish hands rows rows of results, from row of the product on, to Store.
func (g *gen) finish(row, rows kernel.Index) {
	first := g.panel0.Mul(g.nr)
	whole := g.N / g.lanes * g.lanes
	to := kernel.Int(whole)
	if g.blocksN > 1 {
		to = g.least(first.Plus(g.perBlockN*g.nr), whole)
	}
	g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
		at := g.at
		at.M = row.Add(r)
		from := r.Mul(g.resultStride()).Sub(first)
		vector := func(col kernel.Index, lanes int, mask *kernel.Value) {
			at.N = col
			g.Store(at, g.b.Load(g.results.At(from.Add(col)), lanes), lanes, mask)
		}
		if whole > 0 {
			g.b.For(kernel.Between(first, to).By(g.lanes), func(col kernel.Index) { vector(col, g.width, nil) })
		}
		if whole == g.N {
			return
		}
		g.inLastColumns(func() { g.tail(kernel.Int(whole), g.N-whole, vector) })
	})
}
