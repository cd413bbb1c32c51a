package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// move takes the elements x of a tile from one layout to another, through shared memory: each
// element is written by one thread, and read by those that have it then.
func (c code) move(x []*thread.Value, t tile.Type, from, to *layout.Layout) []*thread.Value {
	// Of a slice, only those registers are moved that have it.
	var fixed []layout.Basis
	for _, b := range from.Reg {
		if to.From != nil && !layout.Has(to.Reg, b) && !layout.Has(to.Lane, b) && !layout.Has(to.Warp, b) {
			fixed = append(fixed, b)
		}
	}
	if len(fixed) > 0 {
		part, regs := from.Slice(fixed, to.From)
		all := x
		x = make([]*thread.Value, len(regs))
		for i, r := range regs {
			x[i] = all[r]
		}
		from = part
	}
	if from.Equal(to) {
		return x
	}
	e := elementwise.Register(t.DType, 1).Elem
	truth := e == kernel.I1
	if truth {
		e = kernel.I32
		x = append([]*thread.Value(nil), x...)
		for r, y := range x {
			x[r] = c.Convert(y, kernel.I32)
		}
	}
	in := layout.Dense(from.Sizes, first(to), fixed...)
	dims := t.Dims
	p := placed{dims: dims, in: in}
	bytes := func(at *layout.Layout) int {
		p.mem = thread.Shared{Elem: e}
		x := c.reach(p, dims, at)
		return x.width(x.regs) * e.Bytes()
	}
	in.Swizzle(assign.Vec(e), together(to, bytes(to)), together(from, bytes(from)))
	var out []*thread.Value
	c.Overlay(func() {
		p.mem = c.NewShared(e, in.Elems, 128)
		c.Sync()
		c.reach(p, dims, from).write(x, c.once(from))
		c.Sync()
		out = c.reach(p, dims, to).read(to.Regs())
	})
	if truth {
		for r := range out {
			out[r] = c.Ne(out[r], c.i32(0))
		}
	}
	return out
}

// first is the dimension along which the first registers, or else lanes, go on.
func first(at *layout.Layout) int {
	for _, bases := range [][]layout.Basis{at.Reg, at.Lane, at.Warp} {
		for _, b := range bases {
			for d, n := range b {
				if n != 0 {
					return d
				}
			}
		}
	}
	return 0
}

// together are the bits of lanes whose accesses of 16 bytes, or of the fewer that width elements have,
// the banks serve at once.
func together(at *layout.Layout, bytes int) []layout.Basis {
	n := 3
	for ; bytes < 16 && n < len(at.Lane); bytes *= 2 {
		n++
	}
	return at.Lane[:n]
}
