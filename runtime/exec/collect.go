package exec

import (
	"ptc/internal/collective"
	"ptc/internal/dtype"
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

// Root says whether this process has rank 0, which collects whole tensors.
func (m *Machine) Root() bool { return m.devices[0].rank == 0 }

// Shared says whether other processes have devices of the plan.
func (m *Machine) Shared() bool { return len(m.devices) < len(m.ranks) }

// collect puts the boxes of all devices into the whole tensor, which only the
// root has. Every process calls it, for the same tensor.
func (m *Machine) collect(parts []part, whole []byte) error {
	for i := range parts {
		p := &parts[i]
		var err error
		switch {
		case !p.own: // a copy of another box
		case m.Root() && p.d.here():
			err = p.get(func(from int, chunk []byte) error { p.place(whole, from, chunk); return nil })
		case m.Root():
			err = m.receive(p, tensorTag, func(from int, chunk []byte) { p.place(whole, from, chunk) })
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
func (m *Machine) receive(p *part, tag int, chunk func(from int, mem []byte)) error {
	left := p.bytes()
	buf := make([]byte, min(left, chunkBytes))
	for from := 0; left > 0; {
		n := min(left, chunkBytes)
		err := m.devices[0].message(comm.Op{Kind: collective.Recv, Peer: p.rank, Dst: device.Bytes(buf[:n]), Inner: n, Tag: tag})
		if err != nil {
			return err
		}
		chunk(from, buf[:n])
		from += n / p.elem
		left -= n
	}
	return nil
}

// message sends or receives bytes.
func (d *logical) message(op comm.Op) error {
	op.DType, op.Label = dtype.Bool, "to be saved"
	call, err := d.comm.Prepare(op)
	if err != nil {
		return err
	}
	return call.Run()
}
