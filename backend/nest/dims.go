package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// block is a range along l in blocks of the given size; 0 is all of it.
func block(l fusion.Loop, size int64) *tile.Range {
	if size == 0 {
		size = l.Size
	}
	return &tile.Range{Name: l.Name(), Axis: l.Name(), Extent: l.Size, Size: min(size, l.Size)}
}

// loops are those of axes, given in loop order; views made from now on have them.
func (g *gen) loops(axes []ir.Axis) []fusion.Loop {
	out := g.k.Loops(axes)
	g.merge(out)
	return out
}

// merge has views made from now on have the axes of each of loops as one.
func (g *gen) merge(loops []fusion.Loop) {
	for _, l := range loops {
		if len(l.Axes) > 1 {
			g.merged = append(g.merged, l)
		}
	}
}

// joined is s with the axes of size 1 left out, unless positions are looked up along them, and those that became one merged.
func (g *gen) joined(s op.Strided) op.Strided {
	out := op.Strided{Offset: s.Offset}
	done := map[string]bool{}
	for _, a := range s.Axes {
		if a.Size == 1 && !g.looked[a.Name] || done[a.Name] {
			continue
		}
		x := a
		for _, d := range g.merged {
			if !slices.Contains(d.Axes, a.Name) {
				continue
			}
			inner, _ := s.Axis(d.Last())
			x = op.StridedAxis{Name: d.Name(), Size: int(d.Size), Stride: inner.Stride}
			for _, n := range d.Axes {
				done[n] = true
			}
		}
		out.Axes = append(out.Axes, x)
	}
	return out
}

// declare makes the views of the results; all merging is done by then.
func (g *gen) declare() {
	g.outs = make([]*tile.View, len(g.results))
	for _, i := range g.stored {
		g.outs[i] = g.b.View(g.results[i].Name, g.results[i], g.joined(op.Dense(g.k.F.Results[i].Value.Type)))
	}
}
