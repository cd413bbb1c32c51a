package nccl

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/comm"
	"ptc/runtime/device"
)

// Options of the transport. The zero value has the defaults of package comm.
type Options struct {
	Timeout  time.Duration // of a wait; 0: 60 s
	InFlight int           // messages sent and not received, for each pair of devices; 0: 4

	// Streams is into how many streams of messages, by their tags, those from one device to another are
	// put, as [ptc/runtime/program.Plan.Streams] has it; 0: the host's transport has them.
	Streams int
}

// end is one device's end. What it does not have itself is the host's.
type end struct {
	comm.Device
	lib     *library
	o       Options
	version int            // the oldest that a device has
	streams device.Streams // of the device; nil: nothing is prepared
	blocks  []*block       // memory of the library, in the order in which it was made
	lanes   map[string]*lane
	order   []*lane // by key
	begun   bool
	aborts  sync.WaitGroup // communicators that are given up
	err     error          // that ended the communication
}

// Over puts the transport over that of the host, on all devices of it at the same point.
func Over(host comm.Device, o Options) (comm.Device, error) {
	lib, err := open()
	if err != nil {
		return nil, err
	}
	d := comm.Options{Timeout: o.Timeout, InFlight: o.InFlight}.WithDefaults()
	o.Timeout, o.InFlight = d.Timeout, d.InFlight
	e := &end{Device: host, lib: lib, o: o, lanes: map[string]*lane{}}
	return e, e.agree()
}

// Serves memory of GPUs, and what the host's transport does.
func (d *end) Serves(m device.Memory) bool {
	if _, ok := m.(device.Located); ok {
		return true
	}
	return d.Device.Serves(m)
}

// Failed is the failure that has ended the communication of either kind, or nil.
func (d *end) Failed() error {
	if d.err != nil {
		return comm.Aborted(d.Rank(), d.err)
	}
	return d.Device.Failed()
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
		return nil, d.invalid(&op, "the device is connected already")
	}
	if d.streams == nil {
		d.streams = memory.Streams()
	}
	if d.streams != memory.Streams() {
		return nil, d.invalid(&op, "its memory is of another device than that of the operations before")
	}
	var c *call
	err = d.streams.On(func() (err error) { c, err = d.newCall(op); return err })
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
			err = errors.New("its buffers are in memories of two devices")
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
		err = errors.New("some of its buffers are in memory of the host")
	}
	return memory, err
}

func (d *end) invalid(op *comm.Op, why string) *comm.Error {
	return &comm.Error{Reason: comm.ReasonInvalid, Rank: d.Rank(), Ranks: []int{d.Rank()}, Op: op.Describe(0),
		Msg: fmt.Sprintf("rank %d cannot issue %s: %s", d.Rank(), op.Signature(), why)}
}

// fault is the error of an operation in which the library, or the driver, has failed.
func (d *end) fault(op *comm.Op, err error) *comm.Error {
	return &comm.Error{Reason: comm.ReasonFault, Rank: d.Rank(), Op: op.Describe(0),
		Msg: fmt.Sprintf("rank %d cannot exchange what is on its GPU, in %s", d.Rank(), op.Describe(0)), Err: err}
}

// faultAt is the error of an operation of which the library has failed, as number seq of its lane.
func (d *end) faultAt(op *comm.Op, seq uint64, err error) *comm.Error {
	e := d.fault(op, err)
	e.Op = op.Describe(seq)
	return e
}
