package nest

import (
	"maps"
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// scatter adds up updates. A task owns a block of the contiguous axis of the result,
// where that axis comes from the updates: it clears its part, and adds every update in
// order, so that the sums do not depend on threads. Where updates are added to a value, the
// task stores that in the place of zeros.
//
//	grid (cols) { store 0; loop summed…, shared… { loop free… { scatter } } }
//
// With blocks of positions along the axis that is looked up, tasks own these as well. Each looks
// at all updates, a block of them at a time, and goes through the updates of a block only
// where one of them is its own.
//
//	grid (rows, cols) { store 0; loop blocks { if any { loop updates { if own { loop free… { scatter } } } } } }
func scatter(g *gen) {
	root, loops := g.k.Root, g.k.Scattering()
	out, axis := root.Result().Type, loops.Axis.Name()
	g.mem.declare(nil)
	x := &adding{gen: g, axis: loops.Axis}
	var grid []*tile.Range
	if g.s.Task > 0 {
		x.mine = block(x.axis, g.s.Task)
		grid = append(grid, x.mine)
	}
	g.phase(append(grid, g.ranges(loops.Own, g.s.Cols)...), func() {
		x.clear(loops.Own)
		x.sweep(slices.Concat(loops.Summed, loops.Shared), func() {
			j := g.local(g.find(root.Args[1]), out, axis)
			g.nest(loops.Free, nil, func([]*tile.Value) []*tile.Value {
				up := g.value(root.Args[0])
				g.b.Scatter(g.mem.outs[0], up, g.indicesWith(g.mem.outs[0], axis, tile.AtValue(j.x))...)
				return nil
			})
		})
	})
}

// adding is the state of generating a scatter.
type adding struct {
	*gen
	axis fusion.Loop // that is looked up
	mine *tile.Range // the task's positions along it; nil for all
}

// clear stores zeros, or what the updates are added to, in the order in which the result lies, all of its axes but own.
func (x *adding) clear(own []fusion.Loop) {
	g, root := x.gen, x.k.Root
	var loops []fusion.Loop
	for _, a := range root.Result().Type.Axes {
		if a.Name == x.axis.Name() || a.Size > 1 && !slices.ContainsFunc(own, func(d fusion.Loop) bool { return d.Last() == a.Name }) {
			loops = append(loops, fusion.Loop{Axes: []string{a.Name}, Size: int64(a.Size)})
		}
	}
	store := func() {
		v := g.constant(root.Result().Type.DType, 0).x
		if into := g.k.Addend(); into != nil {
			v = g.value(into)
		}
		at := g.at[x.axis.Name()]
		if x.mine != nil {
			at = tile.AtValue(g.positions(at).x) // which of them the text says in the bounds of the loop
		}
		g.b.Store(g.mem.outs[0], v, g.indicesWith(g.mem.outs[0], x.axis.Name(), at)...)
	}
	var clear func(loops []fusion.Loop)
	clear = func(loops []fusion.Loop) {
		if len(loops) == 0 {
			store()
			return
		}
		d, size, l := loops[0], int64(1), tile.Loop{Stages: 1}
		switch {
		case d.Name() == x.axis.Name() && x.mine != nil:
			first, last := x.bounds()
			l.From, l.To = first.x, g.apply(op.Add, last, g.i32(1)).x
		case len(loops) == 1:
			size = 0 // whole
		}
		r := block(d, size)
		g.loopOf(r, l, nil, func([]*tile.Value) []*tile.Value {
			g.set(d, r)
			clear(loops[1:])
			return nil
		})
	}
	clear(loops)
	delete(g.at, x.axis.Name())
}

// bounds are the first and the last of the task's positions.
func (x *adding) bounds() (first, last known) {
	one := func(emit func(r *tile.Range) *tile.Value) known {
		return x.place(nil, []*tile.Range{x.mine}, func([]*tile.Value) *tile.Value { return emit(x.mine) })
	}
	return one(x.b.First), one(x.b.Last)
}

// sweep runs body over single positions of loops; where tasks own positions, only for the
// updates that are the task's.
func (x *adding) sweep(loops []fusion.Loop, body func()) {
	g := x.gen
	if len(loops) == 0 {
		x.whenMine(body)
		return
	}
	n := len(loops) - 1
	g.nest(loops[:n], nil, func([]*tile.Value) []*tile.Value {
		r := block(loops[n], g.s.Over)
		g.loop(r, int(g.s.Stages), nil, func([]*tile.Value) []*tile.Value {
			g.set(loops[n], r)
			if r.Size == 1 || x.mine == nil {
				x.whenMine(body)
			} else {
				x.each(loops[n], r, body)
			}
			return nil
		})
		return nil
	})
}

// each runs body for the positions of block r of d that are the task's, in order, if there is
// one.
func (x *adding) each(d fusion.Loop, r *tile.Range, body func()) {
	g := x.gen
	top := len(g.scopes) - 1
	before := maps.Clone(g.scopes[top])
	number := g.place([]known{x.isMine()}, nil, func(v []*tile.Value) *tile.Value { return g.b.Cast(v[0], ir.I32) })
	most := g.place([]known{number}, []*tile.Range{r}, func(v []*tile.Value) *tile.Value { return g.b.Reduce(op.ReduceMax, v[0], r) })
	any := g.apply(op.Gt, most, g.i32(0))
	g.scopes[top] = before // what was computed is of the whole block
	g.when(any, func() {
		one := block(d, 1)
		bound := func(emit func(r *tile.Range) *tile.Value) known {
			return g.place(nil, []*tile.Range{r}, func([]*tile.Value) *tile.Value { return emit(r) })
		}
		l := tile.Loop{Stages: 1, From: bound(g.b.First).x, To: g.apply(op.Add, bound(g.b.Last), g.i32(1)).x}
		g.loopOf(one, l, nil, func([]*tile.Value) []*tile.Value {
			g.set(d, one)
			x.whenMine(body)
			return nil
		})
	})
}

// isMine says of updates whether they go to the task's positions.
func (x *adding) isMine() known {
	j := x.local(x.find(x.k.Root.Args[1]), x.k.Root.Result().Type, x.axis.Name())
	first, last := x.bounds()
	return x.apply(op.And, x.apply(op.Ge, j, first), x.apply(op.Le, j, last))
}

// whenMine runs body for an update that is the task's.
func (x *adding) whenMine(body func()) {
	if x.mine == nil {
		body()
		return
	}
	x.when(x.isMine(), body)
}
