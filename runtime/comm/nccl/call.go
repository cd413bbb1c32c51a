package nccl

import (
	"fmt"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// call is a prepared operation.
type call struct {
	d                 *port
	l                 *lane
	op                comm.Op
	tensors           []tensor
	ready, begun, end uintptr // events: the sources are there, the lane has come to it, it is done
}

// gather is the operation that gives all members what each has to say.
func gather(g *comm.Group, mine, all []byte) comm.Op {
	return comm.Op{Kind: collective.AllGather, Group: g, DType: dtype.U8, Inner: len(mine), Src: device.Bytes(mine), Dst: device.Bytes(all), Label: "set-up of NCCL"}
}

// tensor is one of an operation's: addresses, and its views in bytes.
type tensor struct {
	src, dst         int64
	outer, inner     int64 // of the source, or where that is one, of the destination
	dstOuter         int64 // of the destination of an all_to_all
	dstInner         int64
	bytes            int64 // of a member's slice
	elems            int64 // of it
	packed, unpacked int64 // where they are in the lane's memory, from its beginning; -1: not needed
}

// newCall makes what an operation needs on the device.
func newCall(l *lane, op comm.Op) (*call, error) {
	c := &call{d: l.d, l: l, op: op}
	var err error
	for _, e := range []*uintptr{&c.ready, &c.begun, &c.end} {
		if *e, err = c.d.streams.NewEvent(); err != nil {
			return nil, err
		}
	}
	var at int64
	for _, t := range append([]comm.Tensor{{Outer: op.Outer, Inner: op.Inner, Src: op.Src, Dst: op.Dst}}, op.Rest...) {
		c.tensors = append(c.tensors, c.newTensor(t, &at))
	}
	l.room.reserve(at)
	if l.sends {
		l.room.slotBytes = max(l.room.slotBytes, c.tensors[0].bytes)
	}
	l.signatures = append(l.signatures, signature(&op))
	return c, nil
}

// signature is what the members of a lane must agree on; of messages also the tag.
func signature(op *comm.Op) string {
	if collective.Of(op.Kind).Message {
		return fmt.Sprintf("a message of %s[%d] with tag %d", op.DType, op.Elems(), op.Tag)
	}
	return op.Signature()
}

// newTensor places a tensor's parts in the lane's memory from at on.
func (c *call) newTensor(t comm.Tensor, at *int64) tensor {
	size, outer := int64(c.op.DType.Size()), int64(max(t.Outer, 1))
	x := tensor{src: address(t.Src), dst: address(t.Dst), outer: outer, inner: int64(t.Inner) * size,
		dstOuter: outer, dstInner: int64(t.Inner) * size, packed: -1, unpacked: -1}
	x.elems = outer * int64(t.Inner)
	x.bytes = x.elems * size
	place := func() int64 {
		from := *at
		*at += aligned(x.bytes * int64(len(c.l.members)))
		return from
	}
	many := len(c.l.members) > 1
	spec := collective.Of(c.op.Kind)
	if spec.Scatters && spec.Gathers {
		x.dstOuter, x.dstInner = int64(c.op.DstOuter), int64(c.op.DstInner)*size
	}
	if many && spec.Scatters && outer > 1 {
		x.packed = place()
	}
	if many && spec.Gathers && x.dstOuter > 1 {
		x.unpacked = place()
	}
	return x
}

// address is where a range lies on the device.
func address(r device.Range) int64 {
	m, ok := r.Memory.(device.Located)
	if !ok {
		return 0
	}
	return int64(m.Address()) + r.Offset
}

// Start is of the host, which does nothing here.
func (c *call) Start() error {
	return c.d.invalid(&c.op, "its buffers are on a GPU, so only a stream can start it")
}

// Wait is as Start.
func (c *call) Wait() error { return c.Start() }

// Run is as Start.
func (c *call) Run() error { return c.Start() }

// StartOn issues the operation in its lane, behind what the stream has.
func (c *call) StartOn(stream uintptr) error {
	if err := c.d.Failed(); err != nil {
		return err
	}
	if !c.d.begun {
		return c.d.invalid(&c.op, "the device is not connected")
	}
	l := c.l
	l.queue.issued++
	var err error
	if l.sends {
		err = c.post(stream)
	} else {
		err = c.issue(stream)
	}
	if err != nil {
		return c.d.fail(c.failed(err))
	}
	return nil
}

// WaitOn has the stream wait for the end; a message that is sent has left its buffer when it is
// started.
func (c *call) WaitOn(stream uintptr) error {
	if c.l.sends {
		return nil
	}
	if err := c.d.streams.Await(stream, c.end); err != nil {
		return c.d.fail(c.failed(err))
	}
	return nil
}

// failed is the error of an operation of which the library has failed; those of waits stay what they
// are.
func (c *call) failed(err error) error {
	if e, ok := err.(*comm.Error); ok {
		return e
	}
	return c.d.faultAt(&c.op, c.l.queue.issued, err)
}

// issue gives the lane all of the operation.
func (c *call) issue(stream uintptr) error {
	s, l := c.d.streams, c.l
	if err := s.Record(c.ready, stream); err != nil {
		return err
	}
	if err := s.Await(l.stream, c.ready); err != nil {
		return err
	}
	if err := s.Record(c.begun, l.stream); err != nil {
		return err
	}
	if err := c.exchange(); err != nil {
		return err
	}
	if err := s.Record(c.end, l.stream); err != nil {
		return err
	}
	l.queue.opened(issue{op: &c.op, seq: l.queue.issued, begun: c.begun, end: c.end})
	return nil
}

// post copies a message to a slot in the stream itself, and lets it travel from there.
func (c *call) post(stream uintptr) error {
	s, l := c.d.streams, c.l
	t, x := l.room.slot(l.queue.issued), &c.tensors[0]
	if err := s.Await(stream, t.free); err != nil { // of the message that had the slot
		return err
	}
	if err := s.Copy(stream, line(t.at, x.src, x.bytes)); err != nil {
		return err
	}
	if err := s.Record(t.copied, stream); err != nil {
		return err
	}
	if err := s.Await(l.stream, t.copied); err != nil {
		return err
	}
	if err := c.depart(t); err != nil {
		return err
	}
	if err := s.Record(t.free, l.stream); err != nil {
		return err
	}
	l.queue.opened(issue{op: &c.op, seq: l.queue.issued, begun: t.copied, end: t.free})
	return nil
}

// depart sends what a slot has.
func (c *call) depart(t *slot) error {
	return c.l.grouped(func() error { return c.l.send(uintptr(t.at), c.tensors[0].bytes, 1) })
}

// line is a copy of bytes that lie next to each other.
func line(dst, src, n int64) device.Rows {
	return device.Rows{Dst: uint64(dst), Src: uint64(src), DstEvery: n, SrcEvery: n, Width: n, Height: 1}
}

// exchange enqueues copies and calls of the library in the lane's stream.
func (c *call) exchange() error {
	if c.l.alone() {
		return c.alone()
	}
	if err := c.each(c.pack); err != nil {
		return err
	}
	if err := c.l.grouped(func() error { return c.each(c.calls) }); err != nil {
		return err
	}
	return c.each(c.unpack)
}

func (c *call) each(f func(*tensor) error) error {
	for i := range c.tensors {
		if err := f(&c.tensors[i]); err != nil {
			return err
		}
	}
	return nil
}

// alone is any operation of a group of one: the destination is the source, but for its view.
func (c *call) alone() error {
	return c.each(func(x *tensor) error {
		if c.op.Kind == collective.Permute && c.op.From[0] < 0 {
			return c.d.streams.Zero(c.l.stream, uint64(x.dst), x.bytes)
		}
		return c.copyLine(x.dst, x.src, x.bytes)
	})
}

func (c *call) copyLine(dst, src, n int64) error {
	if n == 0 || dst == src {
		return nil
	}
	return c.d.streams.Copy(c.l.stream, line(dst, src, n))
}

// pack makes of a view [outer, parts, inner] one of [parts, outer, inner].
func (c *call) pack(x *tensor) error {
	if x.packed < 0 {
		return nil
	}
	n := int64(len(c.l.members))
	for j := range n {
		err := c.d.streams.Copy(c.l.stream, device.Rows{Dst: uint64(c.l.room.scratch + x.packed + j*x.bytes), Src: uint64(x.src + j*x.inner),
			DstEvery: x.inner, SrcEvery: n * x.inner, Width: x.inner, Height: x.outer})
		if err != nil {
			return err
		}
	}
	return nil
}

// unpack does the contrary, and what needs no call of the library.
func (c *call) unpack(x *tensor) error {
	switch c.op.Kind {
	case collective.AllToAll:
		// A member's own slice is a copy.
		if err := c.copyLine(c.into(x, int64(c.l.me)), c.from(x, int64(c.l.me)), x.bytes); err != nil {
			return err
		}
	case collective.Permute:
		switch from := c.op.From[c.l.me]; from {
		case -1:
			return c.d.streams.Zero(c.l.stream, uint64(x.dst), x.bytes)
		case c.l.me:
			return c.copyLine(x.dst, x.src, x.bytes)
		}
	}
	if x.unpacked < 0 {
		return nil
	}
	n := int64(len(c.l.members))
	for j := range n {
		err := c.d.streams.Copy(c.l.stream, device.Rows{Dst: uint64(x.dst + j*x.dstInner), Src: uint64(c.l.room.scratch + x.unpacked + j*x.bytes),
			DstEvery: n * x.dstInner, SrcEvery: x.dstInner, Width: x.dstInner, Height: x.dstOuter})
		if err != nil {
			return err
		}
	}
	return nil
}

// from and into are where a member's slice of the source and of the destination lies in one
// piece.
func (c *call) from(x *tensor, j int64) int64 {
	if x.packed >= 0 {
		return c.l.room.scratch + x.packed + j*x.bytes
	}
	return x.src + j*x.bytes
}

func (c *call) into(x *tensor, j int64) int64 {
	if x.unpacked >= 0 {
		return c.l.room.scratch + x.unpacked + j*x.bytes
	}
	return x.dst + j*x.bytes
}

// calls are those of the library for a tensor. Nothing is called for no bytes, by all members alike.
func (c *call) calls(x *tensor) error {
	l, lib := c.l, c.d.lib
	if x.bytes == 0 {
		return nil
	}
	element, by, _ := reduction(&c.op)
	switch c.op.Kind {
	case collective.AllReduce:
		return lib.add(lib.AllReduce, uintptr(x.src), uintptr(x.dst), uintptr(x.elems), element, by, l.comm.handle, l.stream)
	case collective.ReduceScatter:
		return lib.add(lib.ReduceScatter, uintptr(c.from(x, 0)), uintptr(x.dst), uintptr(x.elems), element, by, l.comm.handle, l.stream)
	case collective.AllGather:
		return lib.add(lib.AllGather, uintptr(x.src), uintptr(c.into(x, 0)), uintptr(x.bytes), typeInt8, l.comm.handle, l.stream)
	case collective.AllToAll:
		return c.allToAll(x)
	case collective.Permute:
		return c.permute(x)
	}
	return l.recv(uintptr(x.dst), x.bytes, 0) // of messages, one that is received
}

// allToAll sends and receives beginning with the neighbours in the ring, so that not all send to the same
// one at first.
func (c *call) allToAll(x *tensor) error {
	n := len(c.l.members)
	for i := 1; i < n; i++ {
		to, from := (c.l.me+i)%n, (c.l.me+n-i)%n
		if err := c.l.send(uintptr(c.from(x, int64(to))), x.bytes, to); err != nil {
			return err
		}
		if err := c.l.recv(uintptr(c.into(x, int64(from))), x.bytes, from); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) permute(x *tensor) error {
	me := c.l.me
	for j, f := range c.op.From {
		if f == me && j != me {
			if err := c.l.send(uintptr(x.src), x.bytes, j); err != nil {
				return err
			}
		}
	}
	if f := c.op.From[me]; f >= 0 && f != me {
		return c.l.recv(uintptr(x.dst), x.bytes, f)
	}
	return nil
}
