package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/device"
)

// streams is what the engine offers to a transport that works on the GPU, and what that has
// made of it.
type streams struct {
	e       *engine
	queues  []uintptr
	events  []uintptr
	allocs  []uint64
	enqueue device.Enqueuer // nil: no communication is done by the GPU
	begun   bool
	err     error // that ended the communication
}

// Streams are those of the memory's GPU.
func (m *arena) Streams() device.Streams { return &m.e.streams }

// Address is where byte 0 lies.
func (m *arena) Address() uint64 { return m.base }

func (s *streams) On(f func() error) error {
	if err := s.e.enter(); err != nil {
		return s.e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	return f()
}

func (s *streams) NewStream() (uintptr, error) {
	x, err := s.e.drv.newStream()
	if err == nil {
		s.queues = append(s.queues, x)
	}
	return x, err
}

func (s *streams) NewEvent() (uintptr, error) {
	x, err := s.e.drv.newMark()
	if err == nil {
		s.events = append(s.events, x)
	}
	return x, err
}

func (s *streams) Alloc(n int64) (uint64, error) {
	at, err := s.e.drv.alloc(max(n, 1))
	if err != nil {
		return 0, s.e.room("memory to communicate", n, err)
	}
	s.allocs = append(s.allocs, at)
	return at, nil
}

func (s *streams) Record(event, stream uintptr) error { return s.e.drv.record(event, stream) }
func (s *streams) Await(stream, event uintptr) error  { return s.e.drv.await(stream, event) }
func (s *streams) Reached(event uintptr) (bool, error) {
	return s.e.drv.ended("cuEventQuery", s.e.drv.eventQuery, event)
}

func (s *streams) Capture(stream uintptr, f func() error) (uintptr, error) {
	g, err := s.e.drv.capture(stream, f)
	if err != nil {
		return 0, err
	}
	n, err := s.e.drv.nodes(g)
	if err == nil && n > 0 {
		return g, nil
	}
	_ = s.e.drv.freeGraph(g)
	return 0, err
}

func (s *streams) Copy(stream uintptr, r device.Rows) error {
	list := rows(copyEnd{memory: typeDevice, device: r.Dst}, copyEnd{memory: typeDevice, device: r.Src}, r)
	for i := range list {
		if err := s.e.drv.copy(&list[i], stream); err != nil {
			return err
		}
	}
	return nil
}

// rows are the copies that move rows, one at a time where they are too far apart for one.
func rows(dst, src copyEnd, r device.Rows) (out []transfer) {
	switch {
	case r.Width == 0 || r.Height == 0:
		return nil
	case r.Height == 1 || r.DstEvery == r.Width && r.SrcEvery == r.Width:
		return lines(dst, src, r.Width*r.Height)
	case r.DstEvery <= maxPitch && r.SrcEvery <= maxPitch:
		src.pitch, dst.pitch = uintptr(r.SrcEvery), uintptr(r.DstEvery)
		return []transfer{{src: src, dst: dst, width: uintptr(r.Width), height: uintptr(r.Height), depth: 1}}
	}
	for range r.Height {
		out = append(out, lines(dst, src, r.Width)...)
		src.skip(r.SrcEvery)
		dst.skip(r.DstEvery)
	}
	return out
}

func (s *streams) Zero(stream uintptr, at uint64, n int64) error {
	if n == 0 {
		return nil
	}
	return s.e.drv.clear(at, n, stream)
}

// begin connects the GPU with others before the first run that communicates by it. The context is that of
// the thread.
func (s *streams) begin() error {
	if s.enqueue == nil || s.begun {
		return s.err
	}
	s.begun = true
	s.err = s.enqueue.Begin()
	return s.err
}

// linkError is an error of the communication, which is told as it is.
type linkError struct{ err error }

func (e *linkError) Error() string { return e.err.Error() }
func (e *linkError) Unwrap() error { return e.err }

// A wait for the stream looks again this often at once, then after a nap.
const (
	looks = 1000
	nap   = 50 * time.Microsecond
)

// awaitStream waits for the stream of programs, as long as what is on it can end.
func (e *engine) awaitStream() error {
	if e.streams.enqueue == nil {
		return e.drv.do(&e.sync)
	}
	for i := 0; ; i++ {
		done, err := e.drv.ended("cuStreamQuery", e.drv.streamQuery, e.stream)
		if done || err != nil {
			return err
		}
		if i < looks {
			runtime.Gosched()
			continue
		}
		if err := e.streams.enqueue.Watch(); err != nil {
			e.streams.err = err
			return errors.Join(&linkError{err}, e.drv.do(&e.sync))
		}
		time.Sleep(nap)
	}
}

// end disconnects the GPU and frees what the transport has made. What fails has no consequence any
// more: the error of a run was told before.
func (s *streams) end() {
	if s.enqueue != nil {
		_ = s.enqueue.End()
	}
	for _, x := range s.queues {
		_ = s.e.drv.call("cuStreamSynchronize", s.e.drv.streamSynchronize, x)
		_ = s.e.drv.freeStream(x)
	}
	for _, x := range s.events {
		_ = s.e.drv.freeEvent(x)
	}
	for _, x := range s.allocs {
		_ = s.e.drv.free(x)
	}
	s.queues, s.events, s.allocs, s.enqueue = nil, nil, nil, nil
}

// UUID tells the GPU that the device of a rank runs on from all others, of other hosts too.
func UUID(rank int) (id [16]byte, err error) {
	d, err := openDriver()
	if err != nil {
		return id, err
	}
	at := new([16]byte) // the driver writes to it
	err = d.call("cuDeviceGetUuid", d.deviceGetUUID, uintptr(unsafe.Pointer(at)), uintptr(d.gpus[rank%len(d.gpus)].device))
	return *at, err
}

// notReady is what the driver gives while something is under way, eventNoTiming the kind of an event
// that only orders (cuda.h of CUDA 12.4, CUDA_ERROR_NOT_READY and CU_EVENT_DISABLE_TIMING).
const (
	notReady      = 600
	eventNoTiming = 2
)

// newMark makes an event that only orders.
func (d *driver) newMark() (x uintptr, err error) {
	err = d.call("cuEventCreate", d.eventCreate, uintptr(unsafe.Pointer(&x)), eventNoTiming)
	return x, err
}

func (d *driver) await(stream, event uintptr) error {
	return d.call("cuStreamWaitEvent", d.streamWaitEvent, stream, event, 0)
}

func (d *driver) clear(at uint64, n int64, stream uintptr) error {
	return d.call("cuMemsetD8Async", d.memset, uintptr(at), 0, uintptr(n), stream)
}

// ended asks whether a stream has nothing left to do, or an event was reached.
func (d *driver) ended(name string, fn, what uintptr) (bool, error) {
	switch r := foreign.Call(fn, what); uint32(r) {
	case 0:
		return true, nil
	case notReady:
		return false, nil
	default:
		return false, d.failure(name, r)
	}
}

// enqueued readies an exchange that the GPU does by itself, or says that the host has to.
func (p *captured) enqueued(i int) (bool, error) {
	e, in := p.e, &p.instrs[i]
	watch, ok := e.r.Exchanges.(device.Enqueuer)
	if !ok || e.arena == nil || !e.r.Exchanges.Serves(e.arena) {
		return false, nil
	}
	for _, b := range in.Bufs {
		if e.r.Device.Buffers[b].Memory != "" {
			return false, nil
		}
	}
	x, err := e.r.Exchanges.Prepare(p.index, i, func(buffer int) device.Range {
		b := &e.r.Device.Buffers[buffer]
		return device.Range{Memory: e.arena, Offset: b.Offset, Bytes: b.Size()}
	})
	switch {
	case errors.Is(err, device.ErrNotEnqueued):
		return false, nil
	case err != nil:
		return false, err
	case x.Enqueued == nil:
		return false, fmt.Errorf("the transport serves memory of GPUs, and does nothing there")
	}
	e.streams.enqueue = watch
	q, stream := x.Enqueued, e.stream
	p.acts[i].enqueued = q
	begin := func() error { return q.StartOn(stream) }
	end := func() error { return q.WaitOn(stream) }
	if in.Comm.Start {
		p.acts[i].op, p.ends[i] = begin, end
		return true, nil
	}
	p.acts[i].op = func() error {
		if err := begin(); err != nil {
			return err
		}
		return end()
	}
	return true, nil
}
