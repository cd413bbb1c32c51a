package attention

import (
	"errors"
	"fmt"

	"ptc/backend/kernel"
)

// Generate makes the kernel of s for m. The cut into tasks and blocks depends on the
// sizes, on m, and on s.Blocks, where there are any, alone. The error is of a Spec that
// describes no attention, of blocks that it cannot have, or of a callback that builds no
// well-formed kernel.
func Generate(s Spec, m kernel.Machine) (*kernel.Kernel, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	p, err := newBlocking(&s, m)
	if err != nil {
		return nil, err
	}
	g := &gen{Spec: &s, blocking: p, width: int(p.lanes)}
	tasks := product(s.Outer)
	if p.split {
		tasks *= product(s.Groups) * p.chunks
	}
	g.b = s.Begin(tasks)
	g.task()
	return g.b.Finish()
}

func (s *Spec) check() error {
	sizes := append(append(append([]int64{s.Rows, s.Keys}, s.Outer...), s.Inner...), s.Groups...)
	for _, o := range append(append([]Operand(nil), s.ByRow...), s.ByKey...) {
		sizes = append(append(sizes, o.Cols), o.Subs...)
		if o.Load == nil {
			return errors.New("attention: an operand has no loader")
		}
	}
	for _, n := range sizes {
		if n < 1 {
			return fmt.Errorf("attention: a size is %d, must be at least 1", n)
		}
	}
	if len(s.Into) == 0 || len(s.Outs) == 0 {
		return errors.New("attention: no product makes the scores, or none reads the weights")
	}
	if s.Begin == nil || s.Row == nil || s.Weights == nil || s.Known == nil || s.Store == nil || s.Top && (s.Score == nil || s.Base == nil) {
		return errors.New("attention: a callback is missing")
	}
	overRows := false
	for _, o := range s.Outs {
		overRows = overRows || o.Over != OverKeys
	}
	if overRows && (s.Top || s.Sum) {
		return errors.New("attention: a product over the rows of weights that are not complete")
	}
	if len(s.Inner) > 0 && !overRows {
		return errors.New("attention: inner loops, and nothing summed over them")
	}
	return nil
}

// gen is the state of generating one kernel.
type gen struct {
	*Spec
	blocking
	b     *kernel.Builder
	width int // lanes, as the Builder takes them

	packed []*kernel.Buffer // packed rows of the block: [row][column]
	across []*kernel.Buffer // packed keys of the block: [panel of keys][column][key]
	along  []*kernel.Buffer // the same: [panel of columns][key][column]
	scores []*kernel.Buffer // scores of the block, then weights: [row][key]
	acc    []*kernel.Buffer // sums: [row][column] or [key][column]
	top    *kernel.Buffer   // largest score of a row so far
	sum    *kernel.Buffer   // sum of its exponentials, in lanes
	scale  *kernel.Buffer   // what the sums of the row are multiplied by at this block

	at         At           // the position of the running code
	row0, row1 kernel.Index // rows of the task, in every group
	base       kernel.Index // number among acc's rows of the group's first row
	key0, key1 kernel.Index // keys of the block
	limits     []Limit      // of the group
}

// task generates the body: see the package comment.
func (g *gen) task() {
	g.allocate()
	g.position()
	g.clearRows()
	first, end := kernel.Int(0), kernel.Int(g.blocks)
	if g.split {
		g.key0, g.key1 = kernel.Int(0), kernel.Int(g.Keys)
		g.bound()
		if g.limited {
			lo, hi := g.sees(g.row0, g.row1.Plus(-1))
			first, end = g.div(lo, g.kb), g.div(hi.Plus(g.kb-1), g.kb)
		}
	}
	if g.split {
		g.packRows(g.row0, g.row1)
	}
	if g.blocks == 1 {
		g.keyBlock(kernel.Int(0))
	} else {
		g.b.For(kernel.Between(first, end), g.keyBlock)
	}
	g.finishRows()
}

func (g *gen) allocate() {
	f32 := kernel.F32
	for i := range g.ByRow {
		n := g.rb
		if g.split {
			n = g.chunk
		}
		g.packed = append(g.packed, g.b.Scratch("rows", f32, n*g.rowStride(i)))
	}
	g.across = make([]*kernel.Buffer, len(g.ByKey))
	g.along = make([]*kernel.Buffer, len(g.ByKey))
	for i := range g.ByKey {
		o := &g.ByKey[i]
		if g.blocking.across(g.Spec, i) {
			g.across[i] = g.b.Scratch("across", f32, g.kb*product(o.Subs)*o.Cols)
		}
		if g.blocking.along(g.Spec, i) {
			n := product(o.Subs) * ceil(g.padded(o), g.panelVecs(o)*g.lanes) * g.panelVecs(o) * g.lanes
			g.along[i] = g.b.Scratch("along", f32, g.kb*n)
		}
	}
	weights := 0
	for _, o := range g.Outs {
		weights = max(weights, o.Weights+1)
	}
	for range max(weights, len(g.Into), g.scoreAt()+1) {
		g.scores = append(g.scores, g.b.Scratch("scores", f32, g.rb*g.scoreStride()))
	}
	for _, o := range g.Outs {
		n := g.accRows()
		if o.Over != OverKeys {
			n = g.kb + g.mr
		} else if g.stored(o) {
			n = g.rb
		}
		g.acc = append(g.acc, g.b.Scratch("sums", f32, n*g.blocking.width(g.operand(o))))
	}
	if g.Top {
		g.top = g.b.Scratch("top", f32, g.accRows())
		g.scale = g.b.Scratch("scale", f32, g.rb)
	}
	if g.Sum {
		g.sum = g.b.Scratch("sum", f32, g.accRows()*g.lanes)
	}
}

// stored reports whether the sums of o wait where they are stored: where a task has all
// rows, of which scratch would have to hold as many.
func (g *gen) stored(o Out) bool { return o.Load != nil && !g.split }

// operand is what the weights of o are multiplied by.
func (g *gen) operand(o Out) *Operand {
	if o.Over == OverKeys {
		return &g.ByKey[o.Of]
	}
	return &g.ByRow[o.Of]
}

// accRows is the number of rows of a task, of all groups, in whole tiles.
func (g *gen) accRows() int64 {
	if g.split {
		return g.chunk
	}
	return product(g.Inner) * product(g.Groups) * g.groupRows()
}

// groupRows is the distance between groups in the sums by rows.
func (g *gen) groupRows() int64 { return ceil(g.Rows, g.mr) * g.mr }

// rowStride is the distance in f32 between packed rows of row operand i.
func (g *gen) rowStride(i int) int64 { return g.spread(g.blocking.width(&g.ByRow[i])) }

// scoreStride is the distance in f32 between rows of scores: there is room for a tile of
// keys past the last.
func (g *gen) scoreStride() int64 { return g.spread(g.kb + ceil(g.mr, g.lanes)*g.lanes) }

// position decodes the task number.
func (g *gen) position() {
	sizes := append([]int64(nil), g.Outer...)
	if g.split {
		sizes = append(append(sizes, g.Groups...), g.chunks)
	}
	at := make([]kernel.Index, len(sizes))
	rest, left := g.b.Task(), product(sizes)
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
	g.at.Outer = at[:len(g.Outer)]
	g.row0, g.row1, g.base = kernel.Int(0), kernel.Int(g.Rows), kernel.Int(0)
	if g.split {
		g.at.Group = at[len(g.Outer) : len(sizes)-1]
		g.row0 = g.order(at[len(sizes)-1]).Mul(g.chunk)
		if g.chunks > 1 {
			g.row1 = g.row0.Plus(g.chunk)
			if g.Rows%g.chunk != 0 {
				g.row1 = g.lesser(g.row1, kernel.Int(g.Rows))
			}
		}
		g.base = g.row0.Mul(-1)
	}
}

// order is the chunk that is number n of the tasks: where rows see different keys, the
// first and the last, the second and the last but one take turns, so that contiguous
// shares of the tasks have about the same work.
func (g *gen) order(n kernel.Index) kernel.Index {
	if !g.limited || g.chunks < 3 {
		return n
	}
	half := g.b.Value(g.div(n, 2))
	even := g.b.Eq(g.b.Value(n), g.b.Value(kernel.Of(half).Mul(2)))
	return kernel.Of(g.b.Select(even, half, g.b.Value(kernel.Int(g.chunks-1).Sub(kernel.Of(half)))))
}

// keyBlock generates block number n of the keys.
func (g *gen) keyBlock(n kernel.Index) {
	g.key0 = n.Mul(g.kb)
	g.key1 = g.key0.Plus(g.kb)
	if g.Keys%g.kb != 0 {
		g.key1 = g.lesser(g.key1, kernel.Int(g.Keys))
	}
	if g.split {
		g.packKeys()
		g.rowBlocks()
		return
	}
	g.clearKeys(OverAll)
	g.loop(g.Inner, func(inner []kernel.Index, i kernel.Index) {
		g.at.Inner = inner
		g.packKeys()
		g.clearKeys(OverRows)
		g.loop(g.Groups, func(group []kernel.Index, n kernel.Index) {
			g.at.Group = group
			g.base = i.Mul(product(g.Groups)).Add(n).Mul(g.groupRows())
			g.bound()
			g.rowBlocks()
		})
		g.finishKeys(OverRows)
	})
	g.finishKeys(OverAll)
}

// rowBlocks generates the blocks of rows of the group at hand, of those that see keys of
// the block.
func (g *gen) rowBlocks() {
	if g.Rows <= g.rb && g.row0.IsConst() {
		g.visible(g.row0, g.rb, func() { g.rowBlock(g.row0) })
		return
	}
	g.b.For(kernel.Between(g.row0, g.row1).By(g.rb), func(r kernel.Index) {
		g.visible(r, g.rb, func() { g.rowBlock(r) })
	})
}

// rowBlock generates the block of rows from r on.
func (g *gen) rowBlock(r kernel.Index) {
	n := kernel.Int(g.rb)
	switch {
	case g.Rows <= g.rb:
		n = kernel.Int(g.Rows)
	case g.Rows%g.rb != 0:
		n = g.lesser(kernel.Int(g.Rows).Sub(r), n)
	}
	x := &block{gen: g, row: r, rows: n, tiles: g.div(n.Plus(g.mr-1), g.mr), slot: g.base.Add(r)}
	x.lo, x.hi = g.sees(r, r.Plus(g.rb-1))
	if g.split {
		x.packed0 = x.slot
	} else {
		g.packRows(r, r.Add(n))
	}
	for i := range g.Into {
		x.into(i)
	}
	x.sweep()
	for i, o := range g.Outs {
		switch {
		case o.Over != OverKeys:
			x.overRows(i)
		case g.stored(o):
			x.resume(i)
			x.overKeys(i, kernel.Int(0))
			x.suspend(i)
		default:
			x.overKeys(i, x.slot)
		}
	}
}

// block is a block of rows against the block of keys.
type block struct {
	*gen
	row     kernel.Index // the first
	rows    kernel.Index // how many
	tiles   kernel.Index
	slot    kernel.Index // number of the first among acc's rows
	packed0 kernel.Index // and among packed rows
	lo, hi  kernel.Index // the keys that any of the rows sees
}

// each runs body for every tile.
func (x *block) each(body func(t kernel.Index)) {
	if x.tiles.IsConst() && x.tiles.Const == 1 {
		body(kernel.Int(0))
		return
	}
	x.b.For(kernel.Between(kernel.Int(0), x.tiles), body)
}

// tile is the keys that any row of tile t sees.
func (x *block) tile(t kernel.Index) (lo, hi kernel.Index) {
	first := x.row.Add(t.Mul(x.mr))
	return x.sees(first, first.Plus(x.mr-1))
}
