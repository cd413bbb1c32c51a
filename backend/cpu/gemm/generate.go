package gemm

import (
	"errors"
	"fmt"

	"ptc/backend/kernel"
)

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

	left    *kernel.Buffer // the packed block of the left operand: [tile][k][row]
	rows    *kernel.Buffer // rows of one tile on their way to it: [row][k]; nil where they are loaded in place
	right   *kernel.Buffer // packed panels of the group: [panel][k][column]
	stage   *kernel.Buffer // of tile registers: pairs on their way to the left block: [pair of steps][row]
	results *kernel.Buffer // sums: [panel][tile][row][column] of the block if accumulate, else of one tile

	whole bool // of the steps that are packed together, all exist

	at     At           // the outer loops of the running code
	tile0  kernel.Index // first tile, end of tiles, first panel, end of panels of the task
	tile1  kernel.Index
	panel0 kernel.Index
	panel1 kernel.Index
	group0 kernel.Index // first panel and end of panels of the group
	group1 kernel.Index
}

// task generates the body: see the package comment.
func (g *gen) task() {
	g.position()
	g.allocate()
	g.contract(g.OuterK, func() {
		g.packLeft()
		g.groups(func() {
			g.packRight()
			tiles, panels := kernel.Between(g.tile0, g.tile1), kernel.Between(g.group0, g.group1)
			if g.inPlace {
				g.b.For(tiles, func(t kernel.Index) {
					g.b.For(panels, func(p kernel.Index) { g.tile(t, p) })
				})
				return
			}
			g.b.For(panels, func(p kernel.Index) {
				g.b.For(tiles, func(t kernel.Index) { g.tile(t, p) })
			})
		})
	})
}

func (g *gen) allocate() {
	packed := kernel.F32
	if g.by != multiplyAdds {
		packed = kernel.I32
	}
	if !g.inPlace {
		g.left = g.b.Scratch("left", packed, g.mostTiles*g.slotStride())
	}
	if g.staged() {
		g.rows = g.b.Scratch("rows", kernel.F32, g.mr*g.rowStride())
	}
	if !g.direct {
		g.right = g.b.Scratch("right", packed, g.group*g.kc*g.rightStep())
	}
	sums := g.mr * g.nr
	if g.accumulate {
		sums *= g.mostTiles * g.mostPanels
	}
	if g.by == tiles && g.Left.Unit == AlongM {
		g.stage = g.b.Scratch("stage", kernel.I32, kernel.TileRows*line)
	}
	g.results = g.b.Scratch("results", kernel.F32, sums)
}

// position decodes the task number: outer loops, then rows of blocks, along N or along M,
// and which blocks of them are done at once.
func (g *gen) position() {
	x := g.grid(part{tiles: g.perBlockM, panels: g.perBlockN}, g.turns)
	at := decode(g.b, append(append([]int64(nil), g.Outer...), x.Rows, x.Row))
	outer := len(g.Outer)
	g.at.Outer = at[:outer]
	row, column := at[outer], at[outer+1]
	rowEnd, columnEnd := row.Plus(1), column.Plus(1)
	if x.Most > 1 || x.MostRows > 1 {
		count := g.b.Together(x).Sub(g.b.Task())
		columnEnd = g.least(column.Add(count), x.Row)
		if x.MostRows > 1 {
			n := g.b.Value(count)
			rowEnd = row.Add(kernel.Of(g.b.Max(g.b.Div(n, g.b.ConstInt(n.Type, x.Row)), g.b.ConstInt(n.Type, 1))))
		}
	}
	if g.turns.down {
		row, rowEnd, column, columnEnd = column, columnEnd, row, rowEnd
	}
	g.tile0, g.tile1 = g.share(row, rowEnd, g.perBlockM, g.tiles)
	g.panel0, g.panel1 = g.share(column, columnEnd, g.perBlockN, g.panels)
}

// decode is the position of the task in a space of the given sizes, the last of
// which varies fastest.
func decode(b *kernel.Builder, sizes []int64) []kernel.Index {
	at := make([]kernel.Index, len(sizes))
	rest := b.Task()
	left := product(sizes)
	for i := len(sizes) - 1; i >= 0; i-- {
		switch {
		case sizes[i] == 1:
			continue
		case sizes[i] == left:
			at[i] = rest
		default:
			v := b.Value(rest)
			n := b.ConstInt(v.Type, sizes[i])
			at[i], rest = kernel.Of(b.Rem(v, n)), kernel.Of(b.Div(v, n))
		}
		left /= sizes[i]
	}
	return at
}

// share is the range of blocks [i, end) when n things are cut into blocks of each.
func (g *gen) share(i, end kernel.Index, each, n int64) (from, to kernel.Index) {
	from, to = i.Mul(each), end.Mul(each)
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

// rowsOf is how many rows tile t has, the first of which is row.
func (g *gen) rowsOf(t, row kernel.Index) kernel.Index {
	if g.by == tiles {
		return g.least(kernel.Int(g.M).Sub(row), g.mr)
	}
	return g.row(t.Plus(1)).Sub(row)
}

// row is the first row of tile t.
func (g *gen) row(t kernel.Index) kernel.Index {
	if g.wide == g.tiles {
		return t.Mul(g.mr)
	}
	return t.Mul(g.mr - 1).Add(g.least(t, g.wide))
}

// groups runs body for every group of panels of the task, with group0 and group1
// where it begins and ends.
func (g *gen) groups(body func()) {
	if g.group >= g.mostPanels {
		g.group0, g.group1 = g.panel0, g.panel1
		body()
		return
	}
	g.b.For(kernel.Between(g.panel0, g.panel1).By(g.group), func(p kernel.Index) {
		g.group0, g.group1 = p, p.Plus(g.group)
		if g.panels%g.perBlockN != 0 || g.perBlockN%g.group != 0 {
			g.group1 = g.lesser(g.group1, g.panel1)
		}
		body()
	})
}

// tile generates the product of tile t with panel p, and hands it to Store if
// nothing is to be added.
func (g *gen) tile(t, p kernel.Index) {
	g.prefetchNext(t, p)
	ofRows := func(vecs int64) {
		if g.by == tiles {
			g.tilesOfRows(t, p, vecs)
			return
		}
		if g.wide == g.tiles {
			g.micro(t, p, g.mr, vecs)
			return
		}
		g.either(g.atLeast(t, g.wide),
			func() { g.micro(t, p, g.mr-1, vecs) },
			func() { g.micro(t, p, g.mr, vecs) })
	}
	switch {
	case g.tailVecs == g.vecs:
		ofRows(g.vecs)
	case g.panels == 1:
		ofRows(g.tailVecs)
	default:
		g.either(g.atLeast(p, g.panels-1),
			func() { ofRows(g.tailVecs) },
			func() { ofRows(g.vecs) })
	}
	if !g.accumulate {
		g.finish(t, p)
		return
	}
	g.when(g.atLeast(g.depthDone(), g.lastDepth()), func() { g.finish(t, p) })
}

// depthDone counts what has been added before the block of K at hand: 0 in the
// first, lastDepth in the last, in between in all others.
func (g *gen) depthDone() kernel.Index {
	n := g.at.K
	for _, i := range g.at.OuterK {
		n = n.Add(i)
	}
	return n
}

func (g *gen) lastDepth() int64 {
	n := (g.steps - 1) * g.kc
	for _, size := range g.OuterK {
		n += size - 1
	}
	return n
}

// sum is where row r of vector v of the product of tile t with panel p is.
func (g *gen) sum(t, p, r kernel.Index, v int64) kernel.Ref {
	at := r.Mul(g.nr).Plus(v * g.lanes)
	if g.accumulate {
		slot := p.Sub(g.panel0).Mul(g.mostTiles).Add(t.Sub(g.tile0))
		at = at.Add(slot.Mul(g.mr * g.nr))
	}
	return g.results.At(at)
}

// finish hands the sums of tile t and panel p to Store.
func (g *gen) finish(t, p kernel.Index) {
	row := g.row(t)
	rows := g.rowsOf(t, row)
	whole := g.N / g.lanes * g.lanes
	vecs := kernel.Int(g.vecs) // whole ones of the panel
	switch {
	case g.N%g.nr == 0:
	case g.panels == 1:
		vecs = kernel.Int(whole / g.lanes)
	default:
		vecs = g.least(kernel.Int(whole/g.lanes).Sub(p.Mul(g.vecs)), g.vecs)
	}
	if whole > 0 {
		g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
			g.b.For(kernel.Between(kernel.Int(0), vecs), func(v kernel.Index) {
				g.hand(t, p, row, r, v.Mul(g.lanes), g.width, nil)
			})
		})
	}
	if whole == g.N {
		return
	}
	g.inLastPanel(p, func() {
		g.b.For(kernel.Between(kernel.Int(0), rows), func(r kernel.Index) {
			g.tail(kernel.Int(whole-(g.panels-1)*g.nr), g.N-whole, func(c kernel.Index, lanes int, mask *kernel.Value) {
				g.hand(t, p, row, r, c, lanes, mask)
			})
		})
	})
}

// hand gives lanes sums of row r of tile t, whose first row is row, from column
// c of panel p on, to Store.
func (g *gen) hand(t, p, row, r, c kernel.Index, lanes int, mask *kernel.Value) {
	at := g.at
	at.M, at.N = row.Add(r), p.Mul(g.nr).Add(c)
	ref := g.sum(t, p, r, 0)
	ref.Index = ref.Index.Add(c)
	g.Store(at, g.b.Load(ref, lanes), lanes, mask)
}
