package comm_test

import (
	"ptc/runtime/comm"

	"ptc/internal/collective"
)

// expect is Dst of the member with coordinate me, from Src of all members.
func expect(op *comm.Op, srcs [][]byte, me int) []byte {
	size, n, outer := op.DType.Size(), op.Elems(), max(op.Outer, 1)
	parts := len(srcs)
	move := func(dst []byte, to int, src []byte, from int) {
		copy(dst[to*size:(to+1)*size], src[from*size:])
	}
	// at is the place of element i of slice part in a view.
	at := func(i, part, inner int) int { return (i/inner*parts+part)*inner + i%inner }
	switch op.Kind {
	case collective.AllReduce, collective.ReduceScatter:
		dst := make([]byte, n*size)
		for i := range n {
			from := i
			if op.Kind == collective.ReduceScatter {
				from = at(i, me, op.Inner)
			}
			put(op.DType, dst, i, reduce(op.DType, op.Reduce, srcs, from))
		}
		return dst
	case collective.AllGather:
		dst := make([]byte, n*parts*size)
		for r, src := range srcs {
			for i := range n {
				move(dst, at(i, r, op.Inner), src, i)
			}
		}
		return dst
	case collective.AllToAll:
		inner := op.DstInner
		if op.DstOuter == 0 {
			inner = op.Inner
		}
		dst := make([]byte, n*parts*size)
		for r, src := range srcs {
			for i := range n {
				move(dst, at(i, r, inner), src, at(i, me, op.Inner))
			}
		}
		return dst
	case collective.Permute:
		if f := op.From[me]; f >= 0 {
			return srcs[f]
		}
		return make([]byte, outer*op.Inner*size)
	case collective.Broadcast:
		return srcs[op.Root]
	}
	return nil
}
