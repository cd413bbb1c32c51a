package cuda

import (
	"unsafe"

	"ptc/runtime/program"
)

// hostEnd is bytes of the host, which must be pinned, as one side of a copy.
func hostEnd(b []byte) copyEnd {
	return copyEnd{memory: typeHost, host: uintptr(unsafe.Pointer(unsafe.SliceData(b)))}
}

// longest is how many bytes of a row are copied at once: a row may have no more than maxPitch.
const longest = 1 << 30

// lines are copies of n bytes that lie next to each other.
func lines(dst, src copyEnd, n int64) (out []transfer) {
	for n > 0 {
		w := min(n, longest)
		src.pitch, dst.pitch = uintptr(w), uintptr(w)
		out = append(out, transfer{src: src, dst: dst, width: uintptr(w), height: 1, depth: 1})
		src.skip(w)
		dst.skip(w)
		n -= w
	}
	return out
}

// end is where a buffer's elements lie, as one side of a copy.
func (e *engine) end(buffer int) copyEnd {
	b := &e.r.Device.Buffers[buffer]
	if b.Memory == program.Host {
		return hostEnd(e.host.bytes[b.Offset:])
	}
	return e.arena.end(b.Offset)
}

// moves are the copies of a fetch or store.
func (e *engine) moves(in *program.Instr) (out []transfer) {
	src, dst := in.Ends()
	for i := range src {
		out = append(out, lines(e.end(dst[i]), e.end(src[i]), e.r.Device.Buffers[src[i]].Size())...)
	}
	return out
}

// maxPitch is how far apart rows of one copy may be (CU_DEVICE_ATTRIBUTE_MAX_PITCH, which is the
// same for all GPUs).
const maxPitch = 1<<31 - 1

// ownPart are the copies of a shard_slice: the device's own part of a tensor along an axis, in
// pieces that lie apart in the source and next to each other in the destination.
func (e *engine) ownPart(in *program.Instr) (out []transfer) {
	c := in.Comm
	piece := c.Inner * int64(program.DTypeSize(c.DType))
	every := piece * int64(e.r.Plan.Mesh.Parts(c.Over))
	src, dst := e.end(in.Bufs[0]), e.end(in.Bufs[1])
	src.skip(piece * int64(e.r.Plan.Mesh.CoordinateOver(e.r.Rank, c.Over)))
	switch {
	case piece == 0 || c.Outer == 0:
		return nil
	case c.Outer == 1 || every == piece:
		return lines(dst, src, piece*c.Outer)
	case every <= maxPitch:
		src.pitch, dst.pitch = uintptr(every), uintptr(piece)
		return []transfer{{src: src, dst: dst, width: uintptr(piece), height: uintptr(c.Outer), depth: 1}}
	}
	for range c.Outer {
		out = append(out, lines(dst, src, piece)...)
		src.skip(every)
		dst.skip(piece)
	}
	return out
}

// skip moves one side of a copy on.
func (c *copyEnd) skip(n int64) {
	if c.memory == typeHost {
		c.host += uintptr(n)
	} else {
		c.device += uint64(n)
	}
}

// queued are copies whose calls are ready.
type queued struct {
	list  []transfer // what the calls point to
	calls []ready
}

func (e *engine) queue(list []transfer) queued {
	q := queued{list: list}
	for i := range list {
		q.calls = append(q.calls, ready{"cuMemcpy3DAsync", e.drv.memcpy3DAsync, []uintptr{uintptr(unsafe.Pointer(&list[i])), e.stream}})
	}
	return q
}

// enqueue begins copies, one behind the other. It does not allocate.
func (e *engine) enqueue(q *queued) error {
	for i := range q.calls {
		if err := e.drv.do(&q.calls[i]); err != nil {
			return err
		}
	}
	return nil
}

// begin does so for copies that are no program's.
func (e *engine) begin(list []transfer) error {
	for i := range list {
		if err := e.drv.copy(&list[i], e.stream); err != nil {
			return err
		}
	}
	return nil
}
