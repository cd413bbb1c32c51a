package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
)

// column is reductions whose results keep the contiguous axis: a task owns a block of
// that and sweeps the reduced axes.
//
//	grid (outer…, cols) { loop reduced… { acc += x }; compute; store }
//
// Where the schedule splits the innermost reduced axis, so many sums of positions that are that far
// from each other are carried side by side, and added up at the end: threads need not wait for
// each other in the loop.
func column(g *gen) {
	x := newReducing(g)
	g.mem.declare(slices.Concat(x.kept, x.reduced))
	var reds []*ir.Op
	for _, o := range g.k.F.Ops {
		if g.k.Part[o] == fusion.PartRoot {
			reds = append(reds, o)
		}
	}
	n := max(0, len(x.kept)-1)
	inner := g.ranges(x.kept[n:], g.s.Cols)
	var part *tile.Range // of sums side by side
	switch last := len(x.reduced) - 1; {
	case g.s.Split > 1 && last >= 0 && x.reduced[last].Size%g.s.Split == 0 && g.s.Over > 0:
		part = &tile.Range{Name: "beside", Axis: "beside", Extent: g.s.Split, Size: g.s.Split}
		inner = append([]*tile.Range{part}, inner...) // neighbours are columns
	case g.s.Over == 0:
		inner = append(inner, g.whole(x.reduced)...)
	}
	inBlocks(g, x.kept[:n], inner, func() {
		if part != nil {
			x.partial(reds, part)
		} else {
			x.fold(reds, func() {})
		}
		g.storeAll()
	})
}
