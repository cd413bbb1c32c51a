package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
)

// scatter adds up updates. A task owns a block of the contiguous axis of the result,
// where that axis comes from the updates: it clears its part, and adds every update in
// order, so that the sums do not depend on threads. Where updates are added to a value, the
// task stores that in the place of zeros.
//
//	grid (cols) { store 0; loop summed…, shared… { loop free… { scatter } } }
func (g *gen) scatter() {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	out, idx := root.Result().Type, root.Args[1].Type
	// free axes of the result are the updates' alone, shared ones the indices' too;
	// summed ones are the indices' alone.
	var own, free, shared, summed []dim
	for i, a := range out.Axes {
		switch {
		case a.Name == axis || a.Size == 1:
		case idx.Has(a.Name):
			shared = append(shared, single([]ir.Axis{a})...)
		case i == len(out.Axes)-1:
			own = single([]ir.Axis{a})
		default:
			free = append(free, single([]ir.Axis{a})...)
		}
	}
	for _, a := range root.Args[0].Type.Axes {
		if !out.Has(a.Name) {
			summed = append(summed, single([]ir.Axis{a})...)
		}
	}
	g.declare()
	g.phase(g.ranges(own, g.s.Cols), func() {
		g.clear(own)
		g.sweep(slices.Concat(summed, shared), func() {
			j := g.local(g.find(root.Args[1]), out, axis)
			g.nest(free, nil, func([]*tile.Value) []*tile.Value {
				up := g.value(root.Args[0])
				at := g.indices(g.outs[0])
				for i, a := range g.outs[0].Axes {
					if a.Name == axis {
						at[i] = tile.AtValue(j.x)
					}
				}
				g.b.Scatter(g.outs[0], up, at...)
				return nil
			})
		})
	})
}

// clear stores zeros, or what the updates are added to, in the order in which the result lies, all of its axes but own.
func (g *gen) clear(own []dim) {
	root := g.k.Root
	axis := root.Attrs.Text("axis")
	var dims []dim
	for _, a := range root.Result().Type.Axes {
		if a.Name == axis || a.Size > 1 && !slices.ContainsFunc(own, func(d dim) bool { return d.last() == a.Name }) {
			dims = append(dims, dim{[]string{a.Name}, int64(a.Size)})
		}
	}
	n := len(dims) - 1
	g.nest(dims[:n], nil, func([]*tile.Value) []*tile.Value {
		r := dims[n].block(g.s.Rows)
		g.loop(r, 1, nil, func([]*tile.Value) []*tile.Value {
			g.set(dims[n], r)
			if into := g.k.Addend; into != nil {
				g.store(0, g.value(into))
			} else {
				g.store(0, g.constant(root.Result().Type.DType, 0).x)
			}
			return nil
		})
		return nil
	})
	delete(g.at, axis)
}

// sweep runs body over single positions of dims, and over blocks of the last one.
func (g *gen) sweep(dims []dim, body func()) {
	if len(dims) == 0 {
		body()
		return
	}
	n := len(dims) - 1
	g.nest(dims[:n], nil, func([]*tile.Value) []*tile.Value {
		r := dims[n].block(g.s.Over)
		g.loop(r, int(g.s.Stages), nil, func([]*tile.Value) []*tile.Value {
			g.set(dims[n], r)
			body()
			return nil
		})
		return nil
	})
}
