package cuda

import (
	"slices"

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

// moves are the copies of a copy between memories.
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
	every := piece * int64(m.r.Plan.Mesh.Parts(c.Over))
	src, dst := m.end(in.Bufs[0]), m.end(in.Bufs[1])
	src.skip(piece * int64(m.r.Plan.Mesh.CoordinateOver(m.r.Rank, c.Over)))
	return rows(dst, src, device.Rows{Width: piece, Height: c.Outer, DstEvery: piece, SrcEvery: every})
}

// ports are a program's ports: their bytes in pinned memory, and the copies between those and the
// arena.
type ports struct {
	staging   []byte
	bytes     [][]byte // by number
	ins, outs []transfer
	overlap   bool // what goes in meets: the copies have to be in order
}

// portRange is ports that are copied at once: those whose bytes follow one another in the
// arena, up to what fills their lines of memory, which are not shared with anything else.
type portRange struct {
	from, to int64 // of the arena
	ports    []int
}

// newPorts allocates the staging of a program's ports.
func (m *memories) newPorts(prog int) (*ports, error) {
	all := m.r.Device.Ports
	p := &ports{bytes: make([][]byte, len(all))}
	ins, overlap := portRanges(m.r.Device, prog, true)
	outs, _ := portRanges(m.r.Device, prog, false)
	p.overlap = overlap
	var n int64
	for _, r := range slices.Concat(ins, outs) {
		n += aligned(r.to - r.from)
	}
	if n == 0 {
		return p, nil
	}
	var err error
	if p.staging, err = m.pin(n); err != nil {
		return nil, err
	}
	rest := p.staging
	place := func(r portRange) (host, dev copyEnd, bytes int64) {
		for _, i := range r.ports {
			b := &m.r.Device.Buffers[all[i].Buffer]
			at := b.Offset - r.from
			p.bytes[i] = rest[at : at+b.Size() : at+b.Size()]
		}
		host, dev, bytes = hostEnd(rest), m.arena.end(r.from), r.to-r.from
		rest = rest[aligned(bytes):]
		return host, dev, bytes
	}
	for _, r := range ins {
		host, dev, n := place(r)
		p.ins = append(p.ins, lines(dev, host, n)...)
	}
	for _, r := range outs {
		host, dev, n := place(r)
		p.outs = append(p.outs, lines(host, dev, n)...)
	}
	return p, nil
}

// portRanges are the ports of a program that go in, or come out; overlap says whether some have
// bytes in common.
func portRanges(d *program.Device, prog int, in bool) (out []portRange, overlap bool) {
	var list []int
	for i := range d.Ports {
		x := &d.Ports[i]
		if x.Program == d.Progs[prog].Name && x.Role != program.RoleGrad && x.In() == in && d.Buffers[x.Buffer].Size() > 0 {
			list = append(list, i)
		}
	}
	begin := func(i int) int64 { return d.Buffers[d.Ports[i].Buffer].Offset }
	end := func(i int) int64 { return begin(i) + d.Buffers[d.Ports[i].Buffer].Size() }
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b int) int { return int(begin(a) - begin(b)) })
	for k := 1; k < len(order); k++ {
		overlap = overlap || begin(order[k]) < end(order[k-1])
	}
	if overlap { // as they come, so that the last one stays
		for _, i := range list {
			out = append(out, portRange{begin(i), end(i), []int{i}})
		}
		return out, true
	}
	for _, i := range order {
		if n := len(out); n > 0 && begin(i) == aligned(out[n-1].to) {
			out[n-1].to, out[n-1].ports = end(i), append(out[n-1].ports, i)
			continue
		}
		out = append(out, portRange{begin(i), end(i), []int{i}})
	}
	return out, false
}

// aligned is n up to the next multiple of a line.
func aligned(n int64) int64 { return (n + program.Align - 1) &^ (program.Align - 1) }
