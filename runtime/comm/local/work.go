package local

import (
	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/comm/internal/vec"
)

// works is the work on each tensor of an operation.
type works struct {
	of    []work
	units int64
}

func newWorks(tensors []comm.Host) works {
	var ws works
	for i := range tensors {
		w := newWork(&tensors[i].Op)
		w.tensor = i
		ws.of = append(ws.of, w)
		ws.units += w.units
	}
	return ws
}

// run does unit u of all.
func (ws *works) run(members []*exchange, u int64) {
	for i := range ws.of {
		w := &ws.of[i]
		if u < w.units {
			w.run(members, u)
			return
		}
		u -= w.units
	}
}

// work cuts the exchange of a tensor into units that any member can run, in any
// order.
//
// A task is a range of one member's result, and for a gather or exchange of what
// it receives from one other. Small tasks are run several to a unit.
type work struct {
	op      *comm.Op // of this tensor alone
	tensor  int      // which of the operation's
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
	w := work{op: op, members: op.Group.Size(), bytes: dtype.Bytes(op.DType, op.Elems())}
	if op.Kind == collective.Barrier || w.bytes == 0 {
		return w
	}
	w.blocks = int64((w.bytes + blockBytes - 1) / blockBytes)
	n := int64(w.members)
	switch op.Kind {
	case collective.AllReduce:
		w.tasks = w.blocks
	case collective.ReduceScatter, collective.Permute, collective.Broadcast:
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
func (w *work) run(members []*exchange, u int64) {
	for t := u * w.batch; t < min((u+1)*w.batch, w.tasks); t++ {
		lo := int(t%w.blocks) * blockBytes
		hi := min(lo+blockBytes, w.bytes)
		i := int(t / w.blocks)
		n := w.members
		switch w.op.Kind {
		case collective.AllReduce:
			w.allReduce(members, lo, hi)
		case collective.ReduceScatter:
			w.reduceScatter(members, i, lo, hi)
		case collective.AllGather:
			w.allGather(members, i/n, i%n, lo, hi)
		case collective.AllToAll:
			w.allToAll(members, i/n, i%n, lo, hi)
		case collective.Permute:
			dst := members[i].dst(w)[lo:hi]
			if from := w.op.From[i]; from < 0 {
				clear(dst)
			} else {
				copy(dst, members[from].src(w)[lo:hi])
			}
		case collective.Broadcast:
			copyUnlessSame(members[i].dst(w)[lo:hi], members[w.op.Root].src(w)[lo:hi])
		}
	}
}

// allReduce needs no second phase: whoever reduces a range stores it everywhere.
func (w *work) allReduce(members []*exchange, lo, hi int) {
	for ; lo < hi; lo += chunkBytes {
		end := min(lo+chunkBytes, hi)
		for k, m := range members {
			w.srcs[k] = m.src(w)[lo:end]
		}
		sum := members[0].dst(w)[lo:end]
		vec.Reduce(w.op.DType, w.op.Reduce, sum, w.srcs)
		for _, m := range members[1:] {
			copy(m.dst(w)[lo:end], sum)
		}
	}
}

// reduceScatter reduces the range [lo, hi) of member j's result.
func (w *work) reduceScatter(members []*exchange, j, lo, hi int) {
	dst := members[j].dst(w)
	for lo < hi {
		for k, m := range members {
			w.srcs[k] = w.slice(m.src(w), j).Run(lo, hi-lo)
		}
		n := len(w.srcs[0])
		vec.Reduce(w.op.DType, w.op.Reduce, dst[lo:lo+n], w.srcs)
		lo += n
	}
}

func (w *work) allGather(members []*exchange, j, r, lo, hi int) {
	dst, src := w.slice(members[j].dst(w), r), members[r].src(w)
	if c, ok := dst.Contiguous(); ok {
		copyUnlessSame(c[lo:hi], src[lo:hi])
		return
	}
	vec.Copy(dst, vec.Part{Buf: src, Outer: 1, Parts: 1, Inner: w.bytes}, lo, hi)
}

func (w *work) allToAll(members []*exchange, j, r, lo, hi int) {
	size := w.op.DType.Size()
	dst := vec.Part{Buf: members[j].dst(w), Outer: w.op.DstOuter, Parts: w.members, Inner: w.op.DstInner * size, Index: r}
	vec.Copy(dst, w.slice(members[r].src(w), j), lo, hi)
}

// slice is part i of a buffer in the operation's view.
func (w *work) slice(buf []byte, i int) vec.Part {
	return vec.Part{Buf: buf, Outer: w.op.Outer, Parts: w.members, Inner: dtype.Bytes(w.op.DType, w.op.Inner), Index: i}
}

// copyUnlessSame skips what is in place.
func copyUnlessSame(dst, src []byte) {
	if &dst[0] != &src[0] {
		copy(dst, src)
	}
}

// src and dst are a member's buffers of the tensor that w is about.
func (c *exchange) src(w *work) []byte { return c.tensors[w.tensor].Src }
func (c *exchange) dst(w *work) []byte { return c.tensors[w.tensor].Dst }
