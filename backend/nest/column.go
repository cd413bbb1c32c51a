package nest

import (
	"ptc/ir"
	"ptc/ir/fusion"
)

// column is reductions whose results keep the contiguous axis: a task owns a block of
// that and sweeps the reduced axes.
//
//	grid (outer…, cols) { loop reduced… { acc += x }; compute; store }
func (g *gen) column() {
	kept, reduced := g.split()
	p, r := g.dims(kept), g.dims(reduced)
	g.declare()
	var reds []*ir.Op
	for _, o := range g.k.F.Ops {
		if g.k.Part[o] == fusion.PartRoot {
			reds = append(reds, o)
		}
	}
	n := max(0, len(p)-1)
	grid, loops := g.outer(p[:n])
	inner := g.ranges(p[n:], g.s.Cols)
	if g.s.Over == 0 {
		inner = append(inner, g.whole(r)...)
	}
	g.blocks(grid, loops, inner, func() {
		for i, x := range g.fold(reds, p, r, func() {}) {
			g.know(reds[i].Result(), x)
		}
		g.storeAll()
	})
}
