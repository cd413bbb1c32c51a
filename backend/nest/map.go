package nest

import (
	"ptc/backend/tile"
	"ptc/ir/fusion"
)

// mapped is elementwise work: blocks of rows and columns, no stage.
//
//	grid (outer…, cols) { loop rest… { compute; store } }
func (g *gen) mapped() {
	dims := g.loops(g.k.Space)
	g.declare()
	if len(dims) == 0 {
		g.phase(nil, g.storeAll)
		return
	}
	n := len(dims) - 1
	grid, loops := g.outer(dims[:n])
	g.blocks(grid, loops, g.ranges(dims[n:], g.s.Cols), g.storeAll)
}

// blocks is a phase over grid, whose dimensions are cut into single positions, or into
// blocks of rows where it is the last one, and then over inner; and in it a loop over
// each of loops.
func (g *gen) blocks(grid, loops []fusion.Loop, inner []*tile.Range, body func()) {
	rows := []int64{1}
	if len(loops) == 0 {
		rows[0] = g.s.Rows
	}
	all := append(g.ranges(grid, rows...), inner...)
	g.phase(all, func() {
		if len(loops) == 0 {
			body()
			return
		}
		g.nest(loops[:len(loops)-1], nil, func([]*tile.Value) []*tile.Value {
			last := loops[len(loops)-1]
			r := block(last, g.s.Rows)
			g.set(last, r)
			g.loop(r, 1, nil, func([]*tile.Value) []*tile.Value { body(); return nil })
			return nil
		})
	})
}
