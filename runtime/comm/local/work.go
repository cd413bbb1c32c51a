package local

import (
	"ptc/runtime/comm"
	"ptc/runtime/comm/internal/vec"
)

// work cuts an operation into units that any member can run, in any order.
//
// A task is a range of one member's result, and for a gather or exchange of what
// it receives from one other. Small tasks are run several to a unit.
type work struct {
	op      *comm.Op
	members int
	bytes   int   // of a member's slice
	blocks  int64 // tasks of a slice
	tasks   int64
	units   int64
	batch   int64    // tasks of a unit
	srcs    [][]byte // sources of a reduction, for this member's units
}

const (
	blockBytes = 64 << 10 // of a task: enough to pay for taking it
	chunkBytes = 8 << 10  // reduced, then copied while it is in the first-level cache
)

func newWork(op *comm.Op) work {
	w := work{op: op, members: op.Group.Size(), bytes: op.Elems() * op.DType.Size()}
	if op.Kind == comm.Barrier || w.bytes == 0 {
		return w
	}
	w.blocks = int64((w.bytes + blockBytes - 1) / blockBytes)
	n := int64(w.members)
	switch op.Kind {
	case comm.AllReduce:
		w.tasks = w.blocks
	case comm.ReduceScatter, comm.Permute, comm.Broadcast:
		w.tasks = w.blocks * n
	default:
		w.tasks = w.blocks * n * n
	}
	w.batch = int64(max(1, blockBytes/w.bytes))
	w.units = (w.tasks + w.batch - 1) / w.batch
	w.srcs = make([][]byte, w.members)
	return w
}

// run does unit u on the buffers of the members, by coordinate.
func (w *work) run(members []*collective, u int64) {
	for t := u * w.batch; t < min((u+1)*w.batch, w.tasks); t++ {
		lo := int(t%w.blocks) * blockBytes
		hi := min(lo+blockBytes, w.bytes)
		i := int(t / w.blocks)
		n := w.members
		switch w.op.Kind {
		case comm.AllReduce:
			w.allReduce(members, lo, hi)
		case comm.ReduceScatter:
			w.reduceScatter(members, i, lo, hi)
		case comm.AllGather:
			w.allGather(members, i/n, i%n, lo, hi)
		case comm.AllToAll:
			w.allToAll(members, i/n, i%n, lo, hi)
		case comm.Permute:
			dst := members[i].op.Dst[lo:hi]
			if from := w.op.From[i]; from < 0 {
				clear(dst)
			} else {
				copy(dst, members[from].op.Src[lo:hi])
			}
		case comm.Broadcast:
			copyUnlessSame(members[i].op.Dst[lo:hi], members[w.op.Root].op.Src[lo:hi])
		}
	}
}

// allReduce needs no second phase: whoever reduces a range stores it everywhere.
func (w *work) allReduce(members []*collective, lo, hi int) {
	for ; lo < hi; lo += chunkBytes {
		end := min(lo+chunkBytes, hi)
		for k, m := range members {
			w.srcs[k] = m.op.Src[lo:end]
		}
		sum := members[0].op.Dst[lo:end]
		vec.Reduce(w.op.DType, w.op.Reduce, sum, w.srcs)
		for _, m := range members[1:] {
			copy(m.op.Dst[lo:end], sum)
		}
	}
}

// reduceScatter reduces the range [lo, hi) of member j's result.
func (w *work) reduceScatter(members []*collective, j, lo, hi int) {
	dst := members[j].op.Dst
	for lo < hi {
		for k, m := range members {
			w.srcs[k] = w.slice(m.op.Src, j).Run(lo, hi-lo)
		}
		n := len(w.srcs[0])
		vec.Reduce(w.op.DType, w.op.Reduce, dst[lo:lo+n], w.srcs)
		lo += n
	}
}

func (w *work) allGather(members []*collective, j, r, lo, hi int) {
	dst, src := w.slice(members[j].op.Dst, r), members[r].op.Src
	if c, ok := dst.Contiguous(); ok {
		copyUnlessSame(c[lo:hi], src[lo:hi])
		return
	}
	vec.Copy(dst, vec.Part{Buf: src, Outer: 1, Parts: 1, Inner: w.bytes}, lo, hi)
}

func (w *work) allToAll(members []*collective, j, r, lo, hi int) {
	size := w.op.DType.Size()
	dst := vec.Part{Buf: members[j].op.Dst, Outer: w.op.DstOuter, Parts: w.members, Inner: w.op.DstInner * size, Index: r}
	vec.Copy(dst, w.slice(members[r].op.Src, j), lo, hi)
}

// slice is part i of a buffer in the operation's view.
func (w *work) slice(buf []byte, i int) vec.Part {
	return vec.Part{Buf: buf, Outer: w.op.Outer, Parts: w.members, Inner: w.op.Inner * w.op.DType.Size(), Index: i}
}

// copyUnlessSame skips what is in place.
func copyUnlessSame(dst, src []byte) {
	if &dst[0] != &src[0] {
		copy(dst, src)
	}
}
