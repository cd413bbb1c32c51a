package nccl

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

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

// port is what all lanes of a device share.
type port struct {
	comm.Device // of the host's transport
	lib         *library
	o           Options
	version     int            // the oldest that a device has
	streams     device.Streams // of the device; nil: nothing is prepared
	blocks      []*block       // memory of the library, in the order in which it was made
	begun       bool
	err         error                 // that ended the communication
	fail        func(err error) error // ends the communication of the device, and gives the first error
	aborts      sync.WaitGroup        // communicators that are given up
}

// Failed is the failure that has ended the communication of either kind, or nil.
func (d *port) Failed() error {
	if d.err != nil {
		return comm.Aborted(d.Rank(), d.err)
	}
	return d.Device.Failed()
}

func (d *port) invalid(op *comm.Op, why string) *comm.Error {
	return &comm.Error{Reason: comm.ReasonInvalid, Rank: d.Rank(), Ranks: []int{d.Rank()}, Op: op.Describe(0),
		Msg: fmt.Sprintf("rank %d cannot issue %s: %s", d.Rank(), op.Signature(), why)}
}

// fault is the error of an operation in which the library, or the driver, has failed.
func (d *port) fault(op *comm.Op, err error) *comm.Error {
	return &comm.Error{Reason: comm.ReasonFault, Rank: d.Rank(), Op: op.Describe(0),
		Msg: fmt.Sprintf("rank %d cannot exchange data of its GPU in %s", d.Rank(), op.Describe(0)), Err: err}
}

// faultAt is the error of an operation of which the library has failed, as number seq of its lane.
func (d *port) faultAt(op *comm.Op, seq uint64, err error) *comm.Error {
	e := d.fault(op, err)
	e.Op = op.Describe(seq)
	return e
}

// oldestRegistered is the first version whose communicators are told of memory. They can be from 2.19 on;
// before 2.24.3 what is told and what is captured in graphs together may end the process (release notes of NCCL).
const oldestRegistered = 22403

// block is memory of the library, which can be registered: for that it is not to come from the driver's usual
// allocator ("User Buffer Registration" in NCCL's guide).
type block struct {
	at    uint64
	bytes int64
}

// registers says whether the libraries of all devices register memory.
func (d *port) registers() bool { return d.version >= oldestRegistered && d.lib.CommRegister.At != 0 }

// Allocate gives memory that NCCL reads and writes without copies of its own, where it has any. Bytes lie
// at the same places on all devices that run the same program, as NCCL needs it.
func (d *port) Allocate(bytes int64) (uint64, func() error, error) {
	if !d.registers() {
		return 0, nil, nil
	}
	b, err := d.newBlock(bytes)
	if err != nil {
		return 0, nil, err
	}
	d.blocks = append(d.blocks, b)
	return b.at, func() error { return d.freeBlock(b) }, nil
}

func (d *port) newBlock(bytes int64) (*block, error) {
	b := &block{bytes: max(bytes, 1)}
	if err := d.lib.call(d.lib.MemAlloc, uintptr(unsafe.Pointer(&b.at)), uintptr(b.bytes)); err != nil {
		return nil, err
	}
	return b, nil
}

func (d *port) freeBlock(b *block) error {
	return d.lib.call(d.lib.MemFree, uintptr(b.at))
}
