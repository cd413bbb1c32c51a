package nest

import (
	"ptc/backend/tile"
	"ptc/ir/fusion"
)

// mapped is elementwise work: blocks of rows and columns, no stage.
//
//	grid (outer…, cols) { loop rest… { compute; store } }
func mapped(g *gen) {
	loops := g.k.Loops(g.k.Space)
	g.mem.declare(loops)
	if len(loops) == 0 {
		g.phase(nil, g.storeAll)
		return
	}
	n := len(loops) - 1
	inBlocks(g, loops[:n], g.ranges(loops[n:], g.s.Cols), g.storeAll)
}

// inBlocks is a phase whose tasks are single positions of outer loops, as many of these as the schedule
// says, and blocks of inner; in it is a nest of the other outer loops. The last of outer is in blocks of rows.
func inBlocks(g *gen, outer []fusion.Loop, inner []*tile.Range, body func()) {
	grid, loops := split(outer, g.s.Grid)
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
		n := len(loops) - 1
		g.nest(loops[:n], nil, func([]*tile.Value) []*tile.Value {
			r := block(loops[n], g.s.Rows)
			g.set(loops[n], r)
			g.loop(r, 1, nil, func([]*tile.Value) []*tile.Value { body(); return nil })
			return nil
		})
	})
}

// split separates loops outside of rows and columns into those that number tasks, of which a schedule
// says how many there are, and those that are loops in one; negative is all.
func split(outer []fusion.Loop, tasks int64) (grid, loops []fusion.Loop) {
	n := int64(len(outer))
	if tasks >= 0 {
		n = min(n, tasks)
	}
	return outer[:n:n], outer[n:]
}
