package fakenccl

import (
	"math"

	"ptc/internal/dtype"
	"ptc/runtime/cuda/fakelib"
)

// types are those of nccl.h that there are.
var types = map[uintptr]dtype.DType{0: dtype.U8, 1: dtype.U8, 2: dtype.I32, 4: dtype.I64, 6: dtype.F16, 7: dtype.F32, 8: dtype.F64, 9: dtype.BF16}

func allReduce(l *Library, a []uintptr) int {
	return l.call(a[5], a[6], issued{kind: "ncclAllReduce", src: a[0], dst: a[1], count: int(a[2]), element: a[3], by: a[4]})
}

func reduceScatter(l *Library, a []uintptr) int {
	return l.call(a[5], a[6], issued{kind: "ncclReduceScatter", src: a[0], dst: a[1], count: int(a[2]), element: a[3], by: a[4]})
}

func allGather(l *Library, a []uintptr) int {
	return l.call(a[4], a[5], issued{kind: "ncclAllGather", src: a[0], dst: a[1], count: int(a[2]), element: a[3]})
}

func send(l *Library, a []uintptr) int {
	return l.call(a[4], a[5], issued{kind: "ncclSend", src: a[0], count: int(a[1]), element: a[2], peer: int(int32(a[3]))})
}

func recv(l *Library, a []uintptr) int {
	return l.call(a[4], a[5], issued{kind: "ncclRecv", dst: a[0], count: int(a[1]), element: a[2], peer: int(int32(a[3]))})
}

// call adds a call to the thread's group.
func (l *Library) call(comm, stream uintptr, c issued) int {
	m, g := l.member(comm, c.kind), l.groups[fakelib.Thread()]
	switch {
	case m == nil:
		return InvalidArgument
	case g == nil || g.depth == 0:
		l.Problem("%s outside of a group", c.kind)
		return InvalidUsage
	case types[c.element] == dtype.Invalid || c.count <= 0 || c.peer < 0 || c.peer >= m.of.n || c.by != 0 && c.by != 2:
		l.Problem("%s of %d elements of type %d with member %d", c.kind, c.count, c.element, c.peer)
		return InvalidArgument
	case m.stream != 0 && m.stream != stream:
		l.Problem("a communicator is used in two streams")
		return InvalidUsage
	case m.finalized:
		l.Problem("%s after the communicator was finalized", c.kind)
		return InvalidUsage
	}
	m.stream = stream
	c.m = m
	g.calls = append(g.calls, &c)
	return Success
}

// do exchanges what is there, when the first member comes to it.
func (l *Library) do(c *issued) {
	if c.at.done {
		return
	}
	c.at.done = true
	if c.series.link {
		s, r := c.at.calls[0], c.at.calls[1]
		copy(l.bytes(r, r.dst, 1), l.bytes(s, s.src, 1))
		return
	}
	n := len(c.at.calls)
	parts := map[string][2]int{"ncclAllReduce": {1, 1}, "ncclReduceScatter": {n, 1}, "ncclAllGather": {1, n}}[c.kind]
	srcs := make([][]byte, n)
	for i, x := range c.at.calls {
		srcs[i] = append([]byte(nil), l.bytes(x, x.src, parts[0])...)
	}
	for i, x := range c.at.calls {
		dst := l.bytes(x, x.dst, parts[1])
		switch c.kind {
		case "ncclAllReduce":
			each := (len(dst)/n + 63) / 64 * 64 // a part for each member, whose sum begins with the next one
			for j := range n {
				lo, hi := min(j*each, len(dst)), min((j+1)*each, len(dst))
				if j == n-1 {
					hi = len(dst)
				}
				ring(c, dst[lo:hi], srcs, lo, j)
			}
		case "ncclReduceScatter":
			ring(c, dst, srcs, i*len(dst), i)
		case "ncclAllGather":
			for j, s := range srcs {
				copy(dst[j*len(s):], s)
			}
		}
	}
}

// ring reduces the bytes of all sources from lo on, beginning behind a member.
func ring(c *issued, dst []byte, srcs [][]byte, lo, behind int) {
	d := types[c.element]
	n := dtype.Elems(d, len(dst))
	if n == 0 {
		return
	}
	acc, next := make([]float64, n), make([]float64, n)
	for k := range srcs {
		s := srcs[(behind+1+k)%len(srcs)][lo : lo+len(dst)]
		if k == 0 {
			d.Decode(acc, s)
			continue
		}
		d.Decode(next, s)
		for i := range acc {
			if c.by == 2 {
				acc[i] = math.Max(acc[i], next[i])
			} else {
				acc[i] += next[i]
			}
		}
		d.Round(acc)
	}
	d.Encode(dst, acc)
}

// bytes are those of a call's buffer of so many times its elements.
func (l *Library) bytes(c *issued, at uintptr, times int) []byte {
	b, err := c.on.Bytes(uint64(at), c.count*times*types[c.element].Size())
	if err != nil {
		l.Problem("%s: %v", c.kind, err)
	}
	return b
}
