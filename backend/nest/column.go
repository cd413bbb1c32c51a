package nest

import (
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
func (g *gen) column() {
	kept, reduced := g.k.Kept(), g.k.Reduce
	p, r := g.loops(kept), g.loops(reduced)
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
	var part *tile.Range // of sums side by side
	switch last := len(r) - 1; {
	case g.s.Split > 1 && last >= 0 && r[last].Size%g.s.Split == 0 && g.s.Over > 0:
		part = &tile.Range{Name: "beside", Axis: "beside", Extent: g.s.Split, Size: g.s.Split}
		inner = append([]*tile.Range{part}, inner...) // neighbours are columns
	case g.s.Over == 0:
		inner = append(inner, g.whole(r)...)
	}
	g.blocks(grid, loops, inner, func() {
		if part != nil {
			for i, v := range g.partial(reds, p, r, part) {
				g.know(reds[i].Result(), v)
			}
			g.storeAll()
			return
		}
		for i, x := range g.fold(reds, p, r, func() {}) {
			g.know(reds[i].Result(), x)
		}
		g.storeAll()
	})
}

// partial reduces the operands of reds over dims in as many parts as part has, which are carried
// side by side over what is in kept, and then folds these.
func (g *gen) partial(reds []*ir.Op, kept, dims []fusion.Loop, part *tile.Range) []*tile.Value {
	n := len(dims) - 1
	last := fusion.Loop{Axes: dims[n].Axes, Size: dims[n].Size / part.Extent}
	acc := make([]*tile.Value, len(reds))
	for i, o := range reds {
		acc[i] = g.b.Const(o.Result().Type.DType, identity(o), append([]*tile.Range{part}, g.along(o.Result(), kept)...)...)
	}
	sums := g.nest(dims[:n], acc, func(acc []*tile.Value) []*tile.Value {
		r := block(last, g.s.Over)
		return g.loop(r, int(g.s.Stages), acc, func(acc []*tile.Value) []*tile.Value {
			g.at[last.Name()] = tile.At(r).Times(part.Extent).Add(tile.At(part))
			out := make([]*tile.Value, len(acc))
			for i, o := range reds {
				x := g.over(o.Args[0], []*tile.Range{r, part})
				if r.Size > 1 {
					x = g.b.Reduce(tile.Kind(o.Name), x, r)
				}
				out[i] = g.b.Compute(folds[o.Name].combine, acc[i], x)
			}
			return out
		})
	})
	out := make([]*tile.Value, len(reds))
	for i, o := range reds {
		out[i] = g.b.Reduce(tile.Kind(o.Name), sums[i], part)
	}
	return out
}
