package nest

import (
	"ptc/backend/tile"
	"ptc/ir/fusion"
)

// pieces is concat and pad: each operand is stored at its place along the axis, and
// what no operand covers is zero.
//
//	grid (outer…) { loop rest… { loop operand 0 { store }; loop operand 1 { store } … } }
//
// What is behind the axis is whole, or, where the schedule has blocks of the innermost axis, cut
// into them, and tasks of their own.
func pieces(g *gen) {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	out := root.Result().Type
	at := out.Index(axis)
	before, after := fusion.Each(out.Axes[:at]), fusion.Each(out.Axes[at+1:])
	g.mem.declare(nil)
	inner := g.whole
	if g.s.Over > 0 {
		inner = func(loops []fusion.Loop) []*tile.Range { return g.ranges(loops, g.s.Over) }
	}
	inBlocks(g, before, inner(after), func() {
		for _, p := range g.k.Pieces() {
			if p.Size > 0 {
				piece(g, p, axis)
			}
		}
	})
}

// piece stores what is at p along axis.
func piece(g *gen, p fusion.Piece, axis string) {
	d := fusion.Loop{Axes: []string{axis}, Size: p.Size}
	r := block(d, g.s.Cols)
	g.loop(r, 1, nil, func([]*tile.Value) []*tile.Value {
		g.set(d, r)
		t := g.k.Root.Result().Type
		x := g.constant(t.DType, 0)
		if p.Value != nil {
			x = g.find(p.Value)
		}
		g.b.Store(g.mem.outs[0], x.x, g.indicesWith(g.mem.outs[0], axis, g.at[axis].Plus(p.At))...)
		return nil
	})
	delete(g.at, axis)
}
