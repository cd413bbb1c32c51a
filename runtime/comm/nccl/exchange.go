package nccl

import (
	"ptc/internal/collective"
	"ptc/runtime/device"
)

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
		return lib.add("ncclAllReduce", lib.allReduce, uintptr(x.src), uintptr(x.dst), uintptr(x.elems), element, by, l.comm.handle, l.stream)
	case collective.ReduceScatter:
		return lib.add("ncclReduceScatter", lib.reduceScatter, uintptr(c.from(x, 0)), uintptr(x.dst), uintptr(x.elems), element, by, l.comm.handle, l.stream)
	case collective.AllGather:
		return lib.add("ncclAllGather", lib.allGather, uintptr(x.src), uintptr(c.into(x, 0)), uintptr(x.bytes), typeInt8, l.comm.handle, l.stream)
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

func (l *lane) send(at uintptr, n int64, to int) error {
	lib := l.d.lib
	if n == 0 {
		return nil
	}
	return lib.add("ncclSend", lib.send, at, uintptr(n), typeInt8, uintptr(to), l.comm.handle, l.stream)
}

func (l *lane) recv(at uintptr, n int64, from int) error {
	lib := l.d.lib
	if n == 0 {
		return nil
	}
	return lib.add("ncclRecv", lib.recv, at, uintptr(n), typeInt8, uintptr(from), l.comm.handle, l.stream)
}
