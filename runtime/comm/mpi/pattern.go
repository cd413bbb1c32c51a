package mpi

import (
	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/comm/internal/vec"
)

// phase is messages that travel together, and what is done before and after.
type phase struct {
	before    func() error // may be nil
	transfers []transfer
	after     func() error // may be nil
}

// transfer is one message of a phase.
type transfer struct {
	send bool
	peer int // rank
	mem  region
}

// region is bytes of a buffer, or of the call's scratch where buf is nil.
type region struct {
	buf    []byte
	off, n int
}

func (c *call) bytes(r region) []byte {
	if r.buf != nil {
		return r.buf
	}
	return c.scratch[r.off : r.off+r.n : r.off+r.n]
}

// reserve makes room in the scratch, aligned for any element.
func (c *call) reserve(n int) region {
	r := region{off: c.scratchBytes, n: n}
	c.scratchBytes += (n + 63) &^ 63
	return r
}

// maxMessage bounds a message: MPI counts in int.
const maxMessage = 1 << 30

// messageCost chooses the algorithm. The numbers are set, not measured, so that four members send buffers of
// up to 4 KiB whole to everyone: one step less matters more than the bytes.
var messageCost = collective.Link{Message: 3_500_000, Sent: 200, Reduced: 250}

// patterns are the messages of each algorithm that this transport has.
var patterns = map[string]func(*piece) []phase{
	collective.Whole:   (*piece).wholeToEveryone,
	collective.TwoStep: (*piece).reduceThenGather,
	collective.Direct:  (*piece).direct,
}

// add appends a message to a phase, in pieces where it is too long; the other
// side, which has the same length, cuts it alike. Nothing is sent for no bytes.
func (p *phase) add(send bool, peer int, r region) {
	n := r.n
	if r.buf != nil {
		n = len(r.buf)
	}
	for at := 0; at < n; at += maxMessage {
		end := min(at+maxMessage, n)
		piece := region{off: r.off + at, n: end - at}
		if r.buf != nil {
			piece = region{buf: r.buf[at:end:end], n: end - at}
		}
		p.transfers = append(p.transfers, transfer{send, peer, piece})
	}
}

// others calls f for the other members, beginning with the next in the ring, so
// that not all send to the same at first.
func (c *call) others(f func(to, from int)) {
	n := len(c.members)
	for i := 1; i < n; i++ {
		f((c.me+i)%n, (c.me+n-i)%n)
	}
}

// piece is one tensor of a collective. Those of all travel in the same phases;
// between two members they are sent and received in one order.
type piece struct {
	*call
	op    comm.Host // of this tensor alone
	parts [][]byte
}

// build makes the phases of a collective.
func (c *call) build() {
	for _, op := range c.tensors {
		x := &piece{call: c, op: op, parts: make([][]byte, len(c.members))}
		for i, p := range x.build() {
			if i == len(c.phases) {
				c.phases = append(c.phases, phase{})
			}
			c.phases[i].join(p)
		}
	}
}

// join adds what another tensor does in this phase.
func (p *phase) join(q phase) {
	p.transfers = append(p.transfers, q.transfers...)
	p.before, p.after = both(p.before, q.before), both(p.after, q.after)
}

func both(f, g func() error) func() error {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func() error {
		if err := f(); err != nil {
			return err
		}
		return g()
	}
}

// build makes the phases of one tensor.
func (c *piece) build() []phase {
	has := func(name string) bool { return patterns[name] != nil }
	if a := collective.Cheapest(c.op.Kind, int64(len(c.op.Src)), int64(len(c.members)), messageCost, has); a != nil {
		return patterns[a.Name](c)
	}
	switch c.op.Kind {
	case collective.Permute:
		return []phase{c.permute()}
	case collective.Broadcast:
		return []phase{c.broadcast()}
	case collective.Barrier:
		var p phase
		token := c.reserve(1)
		c.others(func(to, from int) {
			p.add(true, c.members[to], token)
			p.add(false, c.members[from], c.reserve(1))
		})
		return []phase{p}
	}
	return nil
}

// direct sends every member its slice: reduced with those of the others, or stored as it is.
func (c *piece) direct() []phase {
	switch spec := collective.Of(c.op.Kind); {
	case spec.Reduces:
		return []phase{c.reduceScatter()}
	case spec.Scatters:
		return []phase{c.exchange(c.srcPart, c.dstPart)}
	}
	own := whole(c.op.Src)
	return []phase{c.exchange(func(int) vec.Part { return own }, c.dstPart)}
}

// srcPart and dstPart are the slices of the buffers that belong to a member.
func (c *piece) srcPart(i int) vec.Part {
	return vec.Part{Buf: c.op.Src, Outer: c.op.Outer, Parts: len(c.members), Inner: dtype.Bytes(c.op.DType, c.op.Inner), Index: i}
}

func (c *piece) dstPart(i int) vec.Part {
	return vec.Part{Buf: c.op.Dst, Outer: c.op.DstOuter, Parts: len(c.members), Inner: dtype.Bytes(c.op.DType, c.op.DstInner), Index: i}
}

// wholeToEveryone sends the buffer to all members, who all reduce them.
func (c *piece) wholeToEveryone() []phase {
	var p phase
	regions := make([]region, len(c.members))
	regions[c.me] = region{buf: c.op.Src}
	c.others(func(to, from int) {
		p.add(true, c.members[to], regions[c.me])
		regions[from] = c.reserve(len(c.op.Src))
		p.add(false, c.members[from], regions[from])
	})
	p.after = func() error { return c.reduce(c.op.Dst, regions) }
	return []phase{p}
}

// reduceThenGather is the all-reduce of the package's comment.
func (c *piece) reduceThenGather() []phase {
	n, size := len(c.members), c.op.DType.Size()
	cut := func(j int) int { return c.op.Elems() * j / n * size }
	var p, q phase
	regions := make([]region, n)
	own := c.op.Dst[cut(c.me):cut(c.me+1)]
	regions[c.me] = region{buf: c.op.Src[cut(c.me):cut(c.me+1)]}
	c.others(func(to, from int) {
		p.add(true, c.members[to], region{buf: c.op.Src[cut(to):cut(to+1)]})
		regions[from] = c.reserve(len(own))
		p.add(false, c.members[from], regions[from])
		q.add(true, c.members[to], region{buf: own})
		q.add(false, c.members[from], region{buf: c.op.Dst[cut(from):cut(from+1)]})
	})
	p.after = func() error { return c.reduce(own, regions) }
	return []phase{p, q}
}

func (c *piece) reduce(dst []byte, regions []region) error {
	for i, r := range regions {
		c.parts[i] = c.bytes(r)
	}
	if len(dst) > 0 {
		vec.Reduce(c.op.DType, c.op.Reduce, dst, c.parts)
	}
	return nil
}

// reduceScatter sends each member its part; strided parts are packed.
func (c *piece) reduceScatter() phase {
	var p phase
	regions := make([]region, len(c.members))
	sends := make([]region, len(c.members))
	for j := range sends {
		sends[j] = c.contiguous(c.srcPart(j))
	}
	regions[c.me] = sends[c.me]
	c.others(func(to, from int) {
		p.add(true, c.members[to], sends[to])
		regions[from] = c.reserve(len(c.op.Dst))
		p.add(false, c.members[from], regions[from])
	})
	p.before = func() error { c.pack(sends, c.srcPart); return nil }
	p.after = func() error { return c.reduce(c.op.Dst, regions) }
	return p
}

// exchange sends out(j) to every member j and receives into(r) from every r.
func (c *piece) exchange(out, into func(int) vec.Part) phase {
	var p phase
	n := len(c.members)
	sends, recvs := make([]region, n), make([]region, n)
	for j := range n {
		if j != c.me {
			sends[j], recvs[j] = c.contiguous(out(j)), c.contiguous(into(j))
		}
	}
	c.others(func(to, from int) {
		p.add(true, c.members[to], sends[to])
		p.add(false, c.members[from], recvs[from])
	})
	p.before = func() error { c.pack(sends, out); return nil }
	p.after = func() error {
		for r := range n {
			part := into(r)
			if r == c.me {
				c.copyOwn(part, out(r))
			} else if recvs[r].buf == nil {
				vec.Copy(part, whole(c.bytes(recvs[r])), 0, part.Bytes())
			}
		}
		return nil
	}
	return p
}

// copyOwn copies a member's own slice unless it is in place.
func (c *piece) copyOwn(dst, src vec.Part) {
	n := dst.Bytes()
	if n > 0 && &dst.Run(0, n)[0] != &src.Run(0, n)[0] {
		vec.Copy(dst, src, 0, n)
	}
}

// contiguous is where a part travels from or to: its own place, or scratch.
func (c *piece) contiguous(p vec.Part) region {
	if b, ok := p.Contiguous(); ok {
		return region{buf: b}
	}
	return c.reserve(p.Bytes())
}

// pack fills the scratch of strided parts.
func (c *piece) pack(regions []region, part func(int) vec.Part) {
	for j, r := range regions {
		if r.buf == nil && r.n > 0 {
			vec.Copy(whole(c.bytes(r)), part(j), 0, r.n)
		}
	}
}

func whole(b []byte) vec.Part { return vec.Part{Buf: b, Outer: 1, Parts: 1, Inner: len(b)} }

func (c *piece) permute() phase {
	var p phase
	from := c.op.From[c.me]
	for j, f := range c.op.From {
		if f == c.me && j != c.me {
			p.add(true, c.members[j], region{buf: c.op.Src})
		}
	}
	switch from {
	case -1:
		p.after = func() error { clear(c.op.Dst); return nil }
	case c.me:
		p.after = func() error { copy(c.op.Dst, c.op.Src); return nil }
	default:
		p.add(false, c.members[from], region{buf: c.op.Dst})
	}
	return p
}

func (c *piece) broadcast() phase {
	var p phase
	if c.me != c.op.Root {
		p.add(false, c.members[c.op.Root], region{buf: c.op.Dst})
		return p
	}
	c.others(func(to, _ int) { p.add(true, c.members[to], region{buf: c.op.Src}) })
	p.after = func() error { c.copyOwn(whole(c.op.Dst), whole(c.op.Src)); return nil }
	return p
}
