package nest

import (
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// pieces is concat and pad: each operand is stored at its place along the axis, and
// what no operand covers is zero.
//
//	grid (outer…) { loop rest… { loop operand 0 { store }; loop operand 1 { store } … } }
//
// What is behind the axis is whole, or, where the schedule has blocks of the innermost axis, cut
// into them, and tasks of their own.
func (g *gen) pieces() {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	out := root.Result().Type
	at := out.Index(axis)
	before, after := fusion.Each(out.Axes[:at]), fusion.Each(out.Axes[at+1:])
	g.declare()
	grid, loops := g.outer(before)
	inner := g.whole
	if g.s.Over > 0 {
		inner = func(dims []fusion.Loop) []*tile.Range { return g.ranges(dims, g.s.Over) }
	}
	g.blocks(grid, loops, inner(after), func() {
		for _, p := range placed(root) {
			if p.n > 0 {
				g.piece(p, axis)
			}
		}
	})
}

// placement is a run along the axis: an operand, or zeros where it is nil.
type placement struct {
	v     *ir.Value
	at, n int64
}

func placed(root *ir.Op) []placement {
	axis := root.Attrs.Text("axis")
	if root.Name == op.Pad {
		n := int64(root.Args[0].Type.Size(axis))
		low, high := root.Attrs.Int("low", 0), root.Attrs.Int("high", 0)
		return []placement{{nil, 0, low}, {root.Args[0], low, n}, {nil, low + n, high}}
	}
	var out []placement
	at := int64(0)
	for _, v := range root.Args {
		n := int64(v.Type.Size(axis))
		out = append(out, placement{v, at, n})
		at += n
	}
	return out
}

func (g *gen) piece(p placement, axis string) {
	d := fusion.Loop{Axes: []string{axis}, Size: p.n}
	r := block(d, g.s.Cols)
	g.loop(r, 1, nil, func([]*tile.Value) []*tile.Value {
		g.set(d, r)
		t := g.k.Root.Result().Type
		x := g.constant(t.DType, 0)
		if p.v != nil {
			x = g.find(p.v)
		}
		at := g.indices(g.outs[0])
		for i, a := range g.outs[0].Axes {
			if a.Name == axis {
				at[i] = at[i].Plus(p.at)
			}
		}
		g.b.Store(g.outs[0], x.x, at...)
		return nil
	})
	delete(g.at, axis)
}
