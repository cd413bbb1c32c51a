package nest

import (
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

func (g *gen) i32(c int64) known { return g.constant(ir.I32, float64(int32(c))) }

// coordinate is the device's position among those that differ only on the mesh axes,
// major to minor.
func (g *gen) coordinate(over []string) known {
	sum := g.i32(0)
	for _, m := range over {
		size, at := fusion.MeshAxis(g.k.F, m)
		if at < 0 || g.mem.coords == nil {
			continue
		}
		c := g.load(g.mem.coords, []tile.Affine{tile.AtConst(int64(at))}, nil)
		sum = g.apply(op.Add, g.apply(op.Mul, sum, g.i32(int64(size))), c)
	}
	return sum
}

// offset is the global position of the first element that this device holds of axis a,
// or false where the axis is not sharded.
func (g *gen) offset(a ir.Axis) (known, bool) {
	if len(a.Mesh) == 0 {
		return known{}, false
	}
	return g.apply(op.Mul, g.coordinate(a.Mesh), g.i32(int64(a.Size))), true
}

// index is the global position along an axis.
func (g *gen) index(o *ir.Op) known {
	x := g.positions(g.at[o.Attrs.Text("axis")])
	if first, ok := g.offset(o.Result().Type.Axes[0]); ok {
		x = g.apply(op.Add, x, first)
	}
	if n := op.FirstOf(o, 0); n != 0 {
		x = g.apply(op.Add, x, g.i32(int64(n)))
	}
	return x
}

// positions are the numbers that x stands for.
func (g *gen) positions(x tile.Affine) known {
	if len(x.Terms) == 0 {
		return g.i32(x.Const)
	}
	var sum known
	for i, t := range x.Terms {
		term := g.place(nil, []*tile.Range{t.Range}, func([]*tile.Value) *tile.Value { return g.b.Index(t.Range) })
		if t.Coef != 1 {
			term = g.apply(op.Mul, term, g.i32(t.Coef))
		}
		if i > 0 {
			term = g.apply(op.Add, sum, term)
		}
		sum = term
	}
	if x.Const != 0 {
		sum = g.apply(op.Add, sum, g.i32(x.Const))
	}
	return sum
}

// random is Philox at the elements' global numbers, as the row of random defines it.
func (g *gen) random(o *ir.Op) known {
	t := o.Result().Type
	strides := fusion.Numbering(g.k.F, o)
	at := tile.AtConst(int64(strides.Offset))
	view := g.mem.joined(op.Strided{Axes: strides.Axes})
	for _, a := range view.Axes {
		if i := t.Index(a.Name); i < 0 || !fusion.Scattered(g.k.F, o, i) {
			at = at.Add(g.at[a.Name].Times(int64(a.Stride)))
		}
	}
	args := g.operands(o)
	moving := func(k known, stride int) {
		at = at.Add(tile.AtValue(k.x).Times(int64(stride)))
		args = append(args, k)
	}
	for i, a := range t.Axes {
		length, apart := op.RunOf(o, i, fusion.Shards(g.k.F, a))
		stride := strides.Axes[i].Stride // of the whole
		if length == 1 {
			stride /= apart
		}
		if fusion.Scattered(g.k.F, o, i) {
			moving(g.inRuns(g.globally(a, g.positions(g.at[a.Name])), length, apart), stride)
		} else if len(a.Mesh) > 0 {
			moving(g.inRuns(g.globally(a, g.i32(0)), length, apart), stride)
		}
		if a.Name == o.Attrs.Text(ir.AttrMoves) {
			moving(args[len(o.Args)-1], stride*length)
		}
	}
	site := g.i32(o.Attrs.Int(ir.AttrSite, 0))
	if o.Attrs.Has(ir.AttrEach) {
		site = g.apply(op.Add, site, g.apply(op.Mul, args[2], g.i32(o.Attrs.Int(ir.AttrEach, 0))))
	}
	args = append(args, site)
	return g.place(args, rangesOf([]tile.Affine{at}), func(x []*tile.Value) *tile.Value {
		return g.b.Random(x[0], x[1], x[len(x)-1], o.Attrs.Text("dist") == "normal", at)
	})
}

// globally is position x of the part that this device has of axis a, in all parts.
func (g *gen) globally(a ir.Axis, x known) known {
	if first, ok := g.offset(a); ok {
		return g.apply(op.Add, x, first)
	}
	return x
}

// inRuns is position x of a source in the whole, of which it has runs of length that begin
// apart after one another.
func (g *gen) inRuns(x known, length, apart int) known {
	switch {
	case length == apart:
		return x
	case length == 1:
		return g.apply(op.Mul, x, g.i32(int64(apart)))
	}
	run := g.apply(op.Div, x, g.i32(int64(length)))
	return g.apply(op.Add, x, g.apply(op.Mul, run, g.i32(int64(apart-length))))
}

// gather looks elements up; an index out of range gives zero.
func (g *gen) gather(o *ir.Op) known {
	axis := o.Attrs.Text("axis")
	table := o.Args[0]
	j := g.local(g.find(o.Args[1]), table.Type, axis)
	view := g.mem.view(table)
	return g.load(view, g.indicesWith(view, axis, tile.AtValue(j.x)), []known{j})
}

// local is the global position j along an axis of t as a position in the part that
// this device holds.
func (g *gen) local(j known, t ir.Type, axis string) known {
	if first, ok := g.offset(t.Axes[t.Index(axis)]); ok {
		return g.apply(op.Sub, j, first)
	}
	return j
}
