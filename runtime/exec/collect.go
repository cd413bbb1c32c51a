package exec

import (
	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// Whole tensors are collected in the process that has rank 0. The devices of the
// other processes send it their boxes in chunks, so that memory next to the
// tensor is that of a few chunks.

// Tags of the messages, above those of plans.
const (
	tensorTag   = comm.MaxTag - 1
	gradientTag = comm.MaxTag - 2
)

// collect puts the boxes of all devices into the whole tensor, which only the
// root has. Every process calls it, for the same tensor.
func (c *crew) collect(parts []part, whole []byte) error {
	for i := range parts {
		p := &parts[i]
		var err error
		switch {
		case !p.own: // a copy of another box
		case c.Root() && p.d.here():
			err = p.get(func(from int, chunk []byte) error { p.place(whole, from, chunk); return nil })
		case c.Root():
			err = c.receive(p, tensorTag, func(from int, chunk []byte) { p.place(whole, from, chunk) })
		case p.d.here():
			err = p.send(tensorTag)
		}
		if err != nil {
			return errorf(ReasonComm, err, "a tensor cannot be collected from all devices")
		}
	}
	return nil
}

// send sends the box to rank 0.
func (p *part) send(tag int) error {
	return p.get(func(_ int, chunk []byte) error {
		return p.d.message(comm.Op{Kind: collective.Send, Src: device.Bytes(chunk), Inner: len(chunk), Tag: tag})
	})
}

// receive gives the chunks of a box that another process has, and the element
// with which each begins.
func (c *crew) receive(p *part, tag int, chunk func(from int, mem []byte)) error {
	left := p.bytes()
	buf := make([]byte, min(left, chunkBytes))
	for from := 0; left > 0; {
		n := min(left, chunkBytes)
		err := c.devices[0].message(comm.Op{Kind: collective.Recv, Peer: p.rank, Dst: device.Bytes(buf[:n]), Inner: n, Tag: tag})
		if err != nil {
			return err
		}
		chunk(from, buf[:n])
		from += n / p.elem
		left -= n
	}
	return nil
}
