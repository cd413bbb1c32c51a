package lower

import (
	"math"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

var negativeInfinity = math.Inf(-1)

// convert moves v from the layout that it is in to another, through shared memory: each
// element is written by one thread, and read by those that have it then.
func (l *lowering) convert(v *tile.Value, from, to *layout.Layout) []*thread.Value {
	x := l.value(v, from)
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
	e := kindOf(v.Type.DType).Elem
	truth := e == kernel.I1
	if truth {
		e = kernel.I32
		x = append([]*thread.Value(nil), x...)
		for r, y := range x {
			x[r] = l.b.Convert(y, kernel.I32)
		}
	}
	in := layout.Dense(from.Sizes, first(to), fixed...)
	dims := v.Type.Dims
	p := placed{dims: dims, in: in}
	bytes := func(at *layout.Layout) int {
		p.mem = thread.Shared{Elem: e}
		x := l.reach(p, dims, at)
		return x.width(x.regs) * e.Bytes()
	}
	in.Swizzle(vec(e), together(to, bytes(to)), together(from, bytes(from)))
	var out []*thread.Value
	l.b.Overlay(func() {
		p.mem = l.b.NewShared(e, in.Elems, 128)
		l.b.Sync()
		l.reach(p, dims, from).write(x, l.once(from))
		l.b.Sync()
		out = l.reach(p, dims, to).read(to.Regs())
	})
	if truth {
		for r := range out {
			out[r] = l.b.Ne(out[r], l.i32(0))
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
