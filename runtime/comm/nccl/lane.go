package nccl

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"ptc/runtime/comm"
)

// handle is a registered block. The library writes to it, so that it is on the heap.
type handle struct{ at uintptr }

// lane is a communicator with a stream of its own: of the operations over a list of mesh axes, or of
// a stream of messages from one device to another.
type lane struct {
	party
	d        *port
	comm     communicator
	stream   uintptr
	captured bool      // a graph has operations of it
	handles  []*handle // of what is registered

	room       room
	own        *block   // of the library, for the room; nil: its memory is the device's
	signatures []string // of what was prepared, in order
	queue      queue
}

// alloc gives memory of the kind that the device's buffers have: NCCL wants both ends of an operation
// registered, or neither.
func (l *lane) alloc(n int64) (uint64, error) {
	if len(l.d.blocks) == 0 || l.alone() {
		return l.d.streams.Alloc(n)
	}
	b, err := l.d.newBlock(n)
	if err != nil {
		return 0, l.fault("has no memory to communicate", err)
	}
	l.own = b
	return b.at, nil
}

// grouped has the library do calls at once, and returns when it has issued them.
func (l *lane) grouped(calls func() error) error {
	lib := l.d.lib
	if err := lib.call(lib.GroupStart); err != nil {
		return err
	}
	// The end is due after an error, too.
	err := calls()
	if e := lib.call(lib.GroupEnd); err == nil {
		err = e
	}
	return l.completed(err)
}

// slot is a place from which a message travels.
type slot struct {
	at           int64
	copied, free uintptr // events: it has a message, the message has left
}

// room is the memory of a lane.
type room struct {
	scratch, scratchBytes int64
	slots                 []slot // of a sender
	slotBytes             int64
}

// reserve makes room in what all operations of the lane have, one after the other.
func (r *room) reserve(n int64) { r.scratchBytes = max(r.scratchBytes, n) }

// alignment of what is in a lane's memory.
const alignment = 256

func aligned(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// allocate makes the lane's memory, once all is prepared.
func (r *room) allocate(alloc func(n int64) (uint64, error)) error {
	every := aligned(r.slotBytes)
	total := aligned(r.scratchBytes) + every*int64(len(r.slots))
	if total == 0 {
		return nil
	}
	at, err := alloc(total)
	if err != nil {
		return err
	}
	r.scratch = int64(at)
	for i := range r.slots {
		r.slots[i].at = r.scratch + aligned(r.scratchBytes) + every*int64(i)
	}
	return nil
}

// slot is the place of message number i.
func (r *room) slot(i uint64) *slot { return &r.slots[i%uint64(len(r.slots))] }

func (l *lane) send(at uintptr, n int64, to int) error {
	lib := l.d.lib
	if n == 0 {
		return nil
	}
	return lib.add(lib.Send, at, uintptr(n), typeInt8, uintptr(to), l.comm.handle, l.stream)
}

func (l *lane) recv(at uintptr, n int64, from int) error {
	lib := l.d.lib
	if n == 0 {
		return nil
	}
	return lib.add(lib.Recv, at, uintptr(n), typeInt8, uintptr(from), l.comm.handle, l.stream)
}

// completed waits until the communicator is through with a call, which gave err. While it is not, no
// other call may be made.
func (l *lane) completed(err error) error {
	since := time.Now()
	for i := 0; err == error(errInProgress); i++ {
		if err := l.d.Device.Failed(); err != nil {
			return err
		}
		if time.Since(since) > l.d.o.Timeout {
			return comm.Late(l.d.Rank(), "the set-up of NCCL over "+l.name, l.d.o.Timeout, l.others(), nil)
		}
		if runtime.Gosched(); i > looks {
			time.Sleep(nap)
		}
		err = l.comm.ask()
	}
	return err
}

// A wait looks again this often at once, then after a nap.
const (
	looks = 200
	nap   = 50 * time.Microsecond
)

// abort ends a communicator at once. That it fails changes nothing any more. Where graphs have what was captured of
// it, the library lets go of streams at once, too, but comes back when those are gone (init.cc of NCCL 2.30,
// commDestroySync): who waits for streams to end them is not to wait for it.
func (l *lane) abort() {
	if h := l.comm.handle; h != 0 && l.captured {
		d, s := l.d, l.d.streams
		d.aborts.Add(1)
		go func() {
			defer d.aborts.Done()
			_ = s.On(func() error { return d.lib.call(d.lib.CommAbort, h) })
		}()
	} else if h != 0 {
		_ = l.d.lib.call(l.d.lib.CommAbort, h)
	}
	l.comm.handle, l.queue.open, l.handles = 0, nil, nil
}

// close ends a communicator together with the other members.
func (l *lane) close() error {
	if l.comm.handle == 0 {
		return nil
	}
	lib := l.d.lib
	if err := l.deregister(); err != nil {
		return err
	}
	if err := l.completed(lib.call(lib.CommFinalize, l.comm.handle)); err != nil {
		return l.fault("cannot close", err)
	}
	err := lib.call(lib.CommDestroy, l.comm.handle)
	l.comm.handle = 0
	if err != nil && err != error(errInProgress) {
		return l.fault("cannot close", err)
	}
	return nil
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
		err := l.completed(lib.call(lib.CommRegister, l.comm.handle, uintptr(b.at), uintptr(b.bytes), uintptr(unsafe.Pointer(&h.at))))
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
		if err := l.completed(lib.call(lib.CommDeregister, l.comm.handle, h.at)); err != nil {
			return l.fault("cannot close", err)
		}
	}
	l.handles = nil
	return nil
}
