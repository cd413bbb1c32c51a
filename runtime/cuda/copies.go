package cuda

import (
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// end is where a buffer's elements lie, as one side of a copy.
func (m *memories) end(buffer int) copyEnd {
	b := &m.r.Device.Buffers[buffer]
	if b.Memory == program.Host {
		return hostEnd(m.host.bytes[b.Offset:])
	}
	return m.arena.end(b.Offset)
}

// moves are the copies of a fetch or store.
func (m *memories) moves(in *program.Instr) (out []transfer) {
	src, dst := in.Ends()
	for i := range src {
		out = append(out, lines(m.end(dst[i]), m.end(src[i]), m.r.Device.Buffers[src[i]].Size())...)
	}
	return out
}

// ownPart are the copies of a shard_slice: the device's own part of a tensor along an axis, in
// pieces that lie apart in the source and next to each other in the destination.
func (m *memories) ownPart(in *program.Instr) []transfer {
	c := in.Comm
	piece := c.Inner * int64(program.DTypeSize(c.DType))
	every := piece * int64(m.r.Plan.Parts(c.Over))
	src, dst := m.end(in.Bufs[0]), m.end(in.Bufs[1])
	src.skip(piece * int64(m.r.Plan.CoordinateOver(m.r.Rank, c.Over)))
	return rows(dst, src, device.Rows{Width: piece, Height: c.Outer, DstEvery: piece, SrcEvery: every})
}
