package assign

import (
	"ptc/backend/elementwise"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// shortestSpan is how many bytes next to each other a matrix of a warpgroup has at least ([layout.Spans]).
const shortestSpan = 32

// pad notes which ranges of the products of body, in which matrix instructions are wanted, are narrower than
// one: fewer than 8 columns, or 16 where a warpgroup reads columns next to each other, or 16 steps. Operands are zero
// where there is nothing.
func (p *products) pad(body *tile.Block) {
	if d := p.dot; d.Kind != schedule.MMA && d.Kind != schedule.WGMMA || d.K != 0 && d.K != groupSteps && d.K != float8Steps {
		return
	}
	for _, o := range body.Ops {
		for _, inner := range inside(o) {
			p.pad(inner)
		}
		if o.Kind == tile.Dot {
			p.padProduct(o)
		}
	}
}

func (p *products) padProduct(o *tile.Op) {
	if !elementwise.Elem(o.Args[0].Type.DType).IsNarrow() || len(o.Result().Type.Dims) != 2 {
		return
	}
	over, dims := summedRanges(o), o.Result().Type.Dims
	rows, cols := dims[0], dims[1]
	if !o.Args[0].Type.Has(rows) {
		rows, cols = cols, rows
	}
	if len(over) != 1 || !o.Args[0].Type.Has(rows) || o.Args[0].Type.Has(cols) || o.Args[1].Type.Has(rows) || !o.Args[1].Type.Has(cols) ||
		p.Size(rows) < 16 || cols.Size < 2 {
		return
	}
	x := &Product{Op: o, Over: over, deep: p.dot.K == float8Steps}
	p.least[over[0]] = max(p.least[over[0]], x.depth())
	p.least[cols] = max(p.least[cols], 8)
	if right := o.Args[1]; p.dot.Kind == schedule.WGMMA && p.Threads.Warps%GroupWarps == 0 && p.Size(rows) >= GroupRows &&
		right.Type.Dims[x.fast(1)] == cols {
		p.least[cols] = max(p.least[cols], shortestSpan/p.Elem(right).Bytes())
	}
}
