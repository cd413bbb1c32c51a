package gemm

import "ptc/backend/kernel"

// code is a kernel that is being built for a machine.
type code struct {
	b     *kernel.Builder
	m     kernel.Machine
	width int // lanes of a vector, as the Builder takes them
}

// tail runs vector over the n < lanes positions from x on: as one masked
// vector, or one by one where the machine has no masks.
func (g *code) tail(x kernel.Index, n int64, vector func(x kernel.Index, lanes int, mask *kernel.Value)) {
	if g.m.Masked {
		vector(x, g.width, g.b.TailMask(kernel.Int(n), g.width))
		return
	}
	g.b.For(kernel.Between(x, x.Plus(n)), func(i kernel.Index) { vector(i, 1, nil) })
}

// task is the outermost scope of a kernel: the blocks of the result that a batch of tasks
// computes. The scopes within are a [kBlock], a group of panels ([rightPack]), and a tile ([tileProduct]).
type task struct {
	code
	*Spec
	blocking
	outer          []kernel.Index // the position in the loops of Spec.Outer
	tile0, tile1   kernel.Index   // first tile, end of tiles
	panel0, panel1 kernel.Index   // first panel, end of panels
}

// newTask decodes the task number: outer loops, then rows of blocks, along N or along M,
// and which blocks of them are in the batch.
func newTask(c code, s *Spec, p *blocking) *task {
	g := &task{code: c, Spec: s, blocking: *p}
	x := g.grid(g.part)
	at := g.b.Position(g.b.Task(), append(append([]int64(nil), g.Outer...), x.Rows, x.Row))
	outer := len(g.Outer)
	g.outer = at[:outer]
	row, column := at[outer], at[outer+1]
	rowEnd, columnEnd := row.Plus(1), column.Plus(1)
	if x.Most > 1 || x.MostRows > 1 {
		count := g.b.Batch(x).Sub(g.b.Task())
		columnEnd = g.b.MinIndex(column.Add(count), kernel.Int(x.Row))
		if x.MostRows > 1 {
			n := g.b.Value(count)
			rowEnd = row.Add(kernel.Of(g.b.Max(g.b.Div(n, g.b.ConstInt(n.Type, x.Row)), g.b.ConstInt(n.Type, 1))))
		}
	}
	if g.batch.down {
		row, rowEnd, column, columnEnd = column, columnEnd, row, rowEnd
	}
	g.tile0, g.tile1 = g.share(row, rowEnd, g.perBlockM, g.tiles)
	g.panel0, g.panel1 = g.share(column, columnEnd, g.perBlockN, g.panels)
	return g
}

// share is the range of blocks [i, end) when n things are cut into blocks of each.
func (g *code) share(i, end kernel.Index, each, n int64) (from, to kernel.Index) {
	from, to = i.Mul(each), end.Mul(each)
	if n%each != 0 {
		to = g.b.MinIndex(to, kernel.Int(n))
	}
	return from, to
}

// scratch is the thread-private memory of a task.
type scratch struct {
	left    *kernel.Buffer // the packed block of the left operand: [tile][k][row]
	rows    *kernel.Buffer // rows of one tile on their way to it: [row][k]; nil where they are loaded in place
	right   *kernel.Buffer // packed panels of the group: [panel][k][column]
	stage   *kernel.Buffer // of tile registers: pairs on their way to the left block: [pair of steps][row]
	results *kernel.Buffer // sums: [panel][tile][row][column] of the block if accumulate, else of one tile
}

// allocate declares what the blocking needs.
func (g *task) allocate() (mem scratch) {
	packed := kernel.F32
	if g.by != multiplyAdds {
		packed = kernel.I32
	}
	if !g.inPlace {
		mem.left = g.b.Scratch("left", packed, g.mostTiles*g.slotStride())
	}
	if g.staged(&g.Left) {
		mem.rows = g.b.Scratch("rows", kernel.F32, g.mr*g.rowStride())
	}
	if !g.direct {
		mem.right = g.b.Scratch("right", packed, g.group*g.kc*g.rightStep())
	}
	sums := g.mr * g.nr
	if g.accumulate {
		sums *= g.mostTiles * g.mostPanels
	}
	if g.by == tiles && g.Left.Unit == AlongM {
		mem.stage = g.b.Scratch("stage", kernel.I32, kernel.TileRows*line)
	}
	mem.results = g.b.Scratch("results", kernel.F32, sums)
	return mem
}

// contract runs body for every block of K at every position of the contracted loops outside it, of
// which sizes are left.
func (g *task) contract(sizes []int64, at At, body func(k *kBlock)) {
	if len(sizes) > 0 {
		g.b.For(kernel.Span(sizes[0]), func(i kernel.Index) {
			x := at
			x.OuterK = append(at.OuterK[:len(at.OuterK):len(at.OuterK)], i)
			g.contract(sizes[1:], x, body)
		})
		return
	}
	if g.steps == 1 {
		body(&kBlock{g, at})
		return
	}
	g.b.For(kernel.Span(g.steps), func(i kernel.Index) {
		at.K = i.Mul(g.kc)
		body(&kBlock{g, at})
	})
}

// rowsOf is how many rows tile t has, the first of which is row.
func (g *task) rowsOf(t, row kernel.Index) kernel.Index {
	if g.by == tiles {
		return g.b.MinIndex(kernel.Int(g.M).Sub(row), kernel.Int(g.mr))
	}
	return g.row(t.Plus(1)).Sub(row)
}

// row is the first row of tile t.
func (g *task) row(t kernel.Index) kernel.Index {
	if g.wide == g.tiles {
		return t.Mul(g.mr)
	}
	return t.Mul(g.mr - 1).Add(g.b.MinIndex(t, kernel.Int(g.wide)))
}

// ifBothHalves runs both where tile t has more rows than a tile register, and else one,
// if that is not nil. Only the last tile may have fewer.
func (g *task) ifBothHalves(t kernel.Index, both, one func()) {
	last := g.M - (g.tiles-1)*g.mr
	switch {
	case last > kernel.TileRows:
		both()
	case g.tiles == 1:
		if one != nil {
			one()
		}
	case one == nil:
		g.b.When(g.b.Not(g.b.AtLeast(t, g.tiles-1)), both)
	default:
		g.b.Either(g.b.AtLeast(t, g.tiles-1), one, both)
	}
}

// groups runs body for every group of panels of the task.
func (g *task) groups(body func(from, to kernel.Index)) {
	if g.group >= g.mostPanels {
		body(g.panel0, g.panel1)
		return
	}
	g.b.For(kernel.Between(g.panel0, g.panel1).By(g.group), func(p kernel.Index) {
		end := p.Plus(g.group)
		if g.panels%g.perBlockN != 0 || g.perBlockN%g.group != 0 {
			end = g.b.MinIndex(end, g.panel1)
		}
		body(p, end)
	})
}

// inLastPanel runs body where p is the last panel of the product.
func (g *task) inLastPanel(p kernel.Index, body func()) {
	if g.panels == 1 {
		body()
		return
	}
	g.b.When(g.b.AtLeast(p, g.panels-1), body)
}

// lastDepth is depthDone in the last block of K.
func (g *task) lastDepth() int64 {
	n := (g.steps - 1) * g.kc
	for _, size := range g.OuterK {
		n += size - 1
	}
	return n
}
