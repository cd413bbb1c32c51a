package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// Limit is a limit of an attention in tiles: what it compares, and Plus and Minus of its bound.
type Limit struct {
	Cond        *tile.Value
	Plus, Minus []*tile.Value // the same for all rows and keys
}

// attention is products around a softmax, all of a problem at once: how many scores there are at a
// time is the lowering's own, which folds them as [fusion.Attention] says.
//
//	grid (outer…) { scores = dot …; compute; reduce; compute; dot …; compute; store }
func attention(g *gen, out *Nest) {
	a := g.k.Attention
	l := g.k.AttentionLoops(a.Outs)
	all := l.All()
	g.mem.declare(all)
	for _, o := range g.k.F.Ops {
		if g.k.Part[o] == fusion.PartRoot {
			g.instead[o.Result()] = func() known { return g.complete(o, all) }
		}
	}
	problem := g.ranges(l.Outer)
	g.phase(slices.Concat(problem, g.whole(all[len(l.Outer):])), func() {
		for _, o := range a.Body {
			g.value(o.Result())
		}
		g.storeAll()
		for _, x := range l.Limits {
			out.Limits = append(out.Limits, Limit{g.value(x.Source.Value), g.firsts(l, x.At.Plus), g.firsts(l, x.At.Minus)})
		}
		for v, x := range g.scopes[0] {
			out.Tiles[v] = x.x
		}
	})
	out.note(g, all)
}

// complete is a product or a reduction of entire axes, of which all are loops.
func (g *gen) complete(o *ir.Op, all []fusion.Loop) known {
	var over []fusion.Loop
	for _, l := range all {
		if slices.Contains(o.Attrs.Names("over"), l.Last()) {
			over = append(over, l)
		}
	}
	operand := func(v *ir.Value) *tile.Value { return g.over(v, g.along(v, all)) }
	ranges := g.along(o.Args[0], over)
	if op.Of(o).Class == op.Reduction {
		return known{g.b.Reduce(tile.Kind(o.Name), operand(o.Args[0]), ranges...), g.b.Depth()}
	}
	return known{g.b.Dot(operand(o.Args[0]), operand(o.Args[1]), nil, o.Result().Type.DType, ranges...), g.b.Depth()}
}

// first is a value of Plus or Minus of a limit: itself, or the first position that the device has.
func (g *gen) first(l *fusion.AttentionLoops, v *ir.Value) known {
	if l.Varies(v) {
		first, _ := g.offset(v.Type.Axes[0])
		return first
	}
	return g.find(v)
}

func (g *gen) firsts(l *fusion.AttentionLoops, vs []*ir.Value) (out []*tile.Value) {
	for _, v := range vs {
		out = append(out, g.first(l, v).x)
	}
	return out
}
