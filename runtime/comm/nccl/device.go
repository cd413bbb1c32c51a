package nccl

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// end is one device's end. What it does not have itself is the host's.
type end struct {
	*port
	lanes map[string]*lane
	order []*lane // by key
}

// Over puts the transport over that of the host, on all devices of it at the same point.
func Over(host comm.Device, o Options) (comm.Device, error) {
	lib, err := open()
	if err != nil {
		return nil, err
	}
	d := comm.Options{Timeout: o.Timeout, InFlight: o.InFlight}.WithDefaults()
	o.Timeout, o.InFlight = d.Timeout, d.InFlight
	e := &end{port: &port{Device: host, lib: lib, o: o}, lanes: map[string]*lane{}}
	e.port.fail = e.fail
	return e, e.agree()
}

// Serves memory of GPUs, and what the host's transport does.
func (d *end) Serves(m device.Memory) bool {
	if _, ok := m.(device.Located); ok {
		return true
	}
	return d.Device.Serves(m)
}

// Prepare readies operations on memory of a GPU, and leaves others to the host.
func (d *end) Prepare(op comm.Op) (comm.Call, error) {
	memory, err := located(&op)
	if err != nil {
		return nil, d.invalid(&op, err.Error())
	}
	if memory == nil {
		return d.Device.Prepare(op)
	}
	if err := op.Check(d.Rank(), d.Mesh().Size()); err != nil {
		return nil, err
	}
	if !d.does(&op) {
		return nil, device.ErrNotEnqueued
	}
	if d.begun {
		return nil, d.invalid(&op, "the device is already connected")
	}
	if d.streams == nil {
		d.streams = memory.Streams()
	}
	if d.streams != memory.Streams() {
		return nil, d.invalid(&op, "its memory belongs to another device than the memory of earlier operations")
	}
	var c *call
	err = d.streams.On(func() error {
		l, err := d.laneOf(&op)
		if err == nil {
			c, err = newCall(l, op)
		}
		return err
	})
	if err != nil {
		return nil, d.fault(&op, err)
	}
	return c, nil
}

// does says whether NCCL has an operation.
func (d *end) does(op *comm.Op) bool {
	switch spec := collective.Of(op.Kind); {
	case spec.Reduces:
		_, _, ok := reduction(op)
		return ok || op.Group.Size() == 1
	case spec.Message:
		return d.o.Streams > 0
	case op.Kind == collective.Broadcast:
		return false
	default:
		return spec.Exchanges()
	}
}

// located is the memory of a GPU that an operation works on; nil where it is none.
func located(op *comm.Op) (memory device.Located, err error) {
	others := 0
	look := func(r device.Range) {
		if r.Memory == nil {
			return
		}
		m, ok := r.Memory.(device.Located)
		switch {
		case !ok:
			others++
		case memory != nil && memory != m:
			err = errors.New("its buffers are on two devices")
		default:
			memory = m
		}
	}
	look(op.Src)
	look(op.Dst)
	for _, t := range op.Rest {
		look(t.Src)
		look(t.Dst)
	}
	if memory != nil && others > 0 {
		err = errors.New("some of its buffers are in host memory")
	}
	return memory, err
}

// agree finds the oldest version of the library that a device has. What is captured, and what
// registered, has to be so on all who take part.
func (d *end) agree() error {
	all, err := comm.Gather(d.Device, binary.LittleEndian.AppendUint32(nil, uint32(d.lib.version)), "the version of NCCL")
	if err != nil {
		return err
	}
	d.version = d.lib.version
	for ; len(all) > 0; all = all[4:] {
		d.version = min(d.version, int(binary.LittleEndian.Uint32(all)))
	}
	return nil
}

// laneOf finds or makes the lane of an operation.
func (d *end) laneOf(op *comm.Op) (*lane, error) {
	l := &lane{d: d.port, party: partyOf(d.Device, op, d.o.Streams)}
	l.comm.lib = d.lib
	if known := d.lanes[l.key]; known != nil {
		return known, nil
	}
	if l.group == nil {
		l.room.reserve(1) // for the first message, of a byte
		l.room.slotBytes = 1
	}
	var err error
	if l.stream, err = d.streams.NewStream(); err != nil {
		return nil, err
	}
	if l.sends {
		l.room.slots = make([]slot, d.o.InFlight)
		for i := range l.room.slots {
			s := &l.room.slots[i]
			if s.copied, err = d.streams.NewEvent(); err != nil {
				return nil, err
			}
			if s.free, err = d.streams.NewEvent(); err != nil {
				return nil, err
			}
		}
	}
	d.lanes[l.key] = l
	at, _ := slices.BinarySearchFunc(d.order, l, func(a, b *lane) int { return strings.Compare(a.key, b.key) })
	d.order = slices.Insert(d.order, at, l)
	return l, nil
}

// fail ends the communication of the device, and gives the first error. What was issued lets go of
// the streams.
func (d *end) fail(err error) error {
	if d.err != nil {
		return err
	}
	d.err = err
	for _, l := range d.order {
		l.abort()
	}
	return err
}
