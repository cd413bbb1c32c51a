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
	if from.Equal(to) {
		return x
	}
	stride := make([]int, len(from.Sizes))
	n := 1
	for d := len(from.Sizes) - 1; d >= 0; d-- {
		stride[d] = n
		n *= from.Sizes[d]
	}
	e := kindOf(v.Type.DType).Elem
	stored := e
	if e == kernel.I1 {
		stored = kernel.I32
	}
	mem := l.b.NewShared(stored, n, 16)
	index := func(at *layout.Layout) (thread.Shared, func(r int) int64) {
		sum := l.i32(0)
		for d := range stride {
			sum = l.b.Add(sum, l.b.Mul(l.coordinate(at, d), l.i32(int64(stride[d]))))
		}
		return l.b.Within(mem, sum), func(r int) int64 {
			k := 0
			for d := range stride {
				k += stride[d] * at.Offset(r, d)
			}
			return int64(k)
		}
	}
	l.b.Sync()
	base, offset := index(from)
	once := l.once(from)
	for r, y := range x {
		if e == kernel.I1 {
			y = l.b.Convert(y, kernel.I32)
		}
		l.b.StoreShared(base.Plus(offset(r)), thread.Access{If: once}, []*thread.Value{y})
	}
	l.b.Sync()
	base, offset = index(to)
	out := make([]*thread.Value, to.Regs())
	for r := range out {
		out[r] = l.b.LoadShared(base.Plus(offset(r)), thread.Access{N: 1})[0]
		if e == kernel.I1 {
			out[r] = l.b.Ne(out[r], l.i32(0))
		}
	}
	return out
}
