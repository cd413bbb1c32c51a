package nccl

import (
	"runtime"
	"slices"
	"unsafe"
)

// oldestRegistered is the first version whose communicators are told of memory. They can be from 2.19 on;
// before 2.24.3 what is told and what is captured in graphs together may end the process (release notes of NCCL).
const oldestRegistered = 22403

// block is memory of the library, which can be registered: for that it is not to come from the driver's usual
// allocator ("User Buffer Registration" in NCCL's guide).
type block struct {
	at    uint64
	bytes int64
}

// handle is a registered block. The library writes to it, so that it is on the heap.
type handle struct{ at uintptr }

// registers says whether the libraries of all devices register memory.
func (d *end) registers() bool { return d.version >= oldestRegistered && d.lib.register != 0 }

// Allocate gives memory that NCCL reads and writes without copies of its own, where it has any. Bytes lie
// at the same places on all devices that run the same program, as NCCL needs it.
func (d *end) Allocate(bytes int64) (uint64, func() error, error) {
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

func (d *end) newBlock(bytes int64) (*block, error) {
	b := &block{bytes: max(bytes, 1)}
	if err := d.lib.call("ncclMemAlloc", d.lib.memAlloc, uintptr(unsafe.Pointer(&b.at)), uintptr(b.bytes)); err != nil {
		return nil, err
	}
	return b, nil
}

func (d *end) freeBlock(b *block) error {
	return d.lib.call("ncclMemFree", d.lib.memFree, uintptr(b.at))
}

// register tells a communicator of the device's memory, and of its lane's.
func (l *lane) register() error {
	blocks := l.d.blocks
	if l.own != nil {
		blocks = append(slices.Clone(blocks), l.own)
	}
	for _, b := range blocks {
		h := &handle{}
		lib := l.d.lib
		err := l.completed(lib.call("ncclCommRegister", lib.register, l.comm.handle, uintptr(b.at), uintptr(b.bytes), uintptr(unsafe.Pointer(&h.at))))
		runtime.KeepAlive(h)
		if err != nil {
			return l.fault("cannot register memory", err)
		}
		if h.at != 0 { // NCCL_LOCAL_REGISTER=0
			l.handles = append(l.handles, h)
		}
	}
	return nil
}

func (l *lane) deregister() error {
	lib := l.d.lib
	for _, h := range l.handles {
		if err := l.completed(lib.call("ncclCommDeregister", lib.deregister, l.comm.handle, h.at)); err != nil {
			return l.fault("cannot be ended", err)
		}
	}
	l.handles = nil
	return nil
}
