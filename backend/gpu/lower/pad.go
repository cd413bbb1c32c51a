package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// size is that of r as layouts have it: a power of two, and no less than a matrix instruction takes that
// multiplies along it.
func (l *lowering) size(r *tile.Range) int {
	n := max(1, l.least[r])
	for int64(n) < r.Size {
		n *= 2
	}
	return n
}

func (l *lowering) sizes(dims []*tile.Range) []int {
	out := make([]int, len(dims))
	for i, r := range dims {
		out[i] = l.size(r)
	}
	return out
}

// shortestSpan is how many bytes next to each other a matrix of a warpgroup has at least ([layout.Spans]).
const shortestSpan = 32

// pad notes which ranges of the products of body, in which matrix instructions are wanted, are narrower than
// one: fewer than 8 columns, or 16 where a warpgroup reads columns next to each other, or 16 steps. Operands are zero
// where there is nothing.
func (l *lowering) pad(body *tile.Block) {
	d := l.p.Schedule.Dot
	if d.Kind != schedule.MMA && d.Kind != schedule.WGMMA || d.K != 0 && d.K != groupSteps && d.K != float8Steps {
		return
	}
	for _, o := range body.Ops {
		for _, inner := range inside(o) {
			l.pad(inner)
		}
		if o.Kind == tile.Dot {
			l.padProduct(o)
		}
	}
}

func (l *lowering) padProduct(o *tile.Op) {
	if !elementwise.Elem(o.Args[0].Type.DType).IsNarrow() || len(o.Result().Type.Dims) != 2 {
		return
	}
	over, dims := []*tile.Range(nil), o.Result().Type.Dims
	for _, r := range o.Over {
		if r.Size > 1 {
			over = append(over, r)
		}
	}
	rows, cols := dims[0], dims[1]
	if !o.Args[0].Type.Has(rows) {
		rows, cols = cols, rows
	}
	if len(over) != 1 || !o.Args[0].Type.Has(rows) || o.Args[0].Type.Has(cols) || o.Args[1].Type.Has(rows) || !o.Args[1].Type.Has(cols) ||
		l.size(rows) < 16 || cols.Size < 2 {
		return
	}
	x := product{o: o, over: over, as: l.p.Schedule.Dot.K}
	l.least[over[0]] = max(l.least[over[0]], x.depth())
	l.least[cols] = max(l.least[cols], 8)
	if right := o.Args[1]; l.p.Schedule.Dot.Kind == schedule.WGMMA && l.warps%groupWarps == 0 && l.size(rows) >= groupRows &&
		right.Type.Dims[l.fast(x, 1)] == cols {
		l.least[cols] = max(l.least[cols], shortestSpan/l.operandElem(right).Bytes())
	}
}
