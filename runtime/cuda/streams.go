package cuda

import (
	"errors"
	"runtime"
	"time"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/device"
)

// streams is what the engine offers to a transport that works on the GPU, and what that has
// made of it.
type streams struct {
	*card
	queues  []uintptr
	marks   []uintptr
	allocs  []uint64
	one     uint64          // memory with the number 1; 0: none
	enqueue device.Enqueuer // nil: no communication is done by the GPU
	begun   bool
	err     error // that ended the communication
}

func (s *streams) On(f func() error) error {
	if err := s.enter(); err != nil {
		return s.unusable(err)
	}
	defer runtime.UnlockOSThread()
	return f()
}

func (s *streams) NewStream() (uintptr, error) {
	x, err := s.drv.newStream()
	if err == nil {
		s.queues = append(s.queues, x)
	}
	return x, err
}

func (s *streams) NewEvent() (uintptr, error) {
	x, err := s.drv.newMark()
	if err == nil {
		s.marks = append(s.marks, x)
	}
	return x, err
}

func (s *streams) Alloc(n int64) (uint64, error) {
	at, err := s.drv.alloc(max(n, 1))
	if err != nil {
		return 0, s.room("memory to communicate", n, err)
	}
	s.allocs = append(s.allocs, at)
	return at, nil
}

func (s *streams) Record(event, stream uintptr) error { return s.drv.record(event, stream) }
func (s *streams) Await(stream, event uintptr) error  { return s.drv.await(stream, event) }
func (s *streams) Reached(event uintptr) (bool, error) {
	return s.drv.ended(s.drv.EventQuery, event)
}

func (s *streams) Capture(stream uintptr, f func() error) (uintptr, error) {
	g, err := s.drv.capture(stream, f)
	if err != nil {
		return 0, err
	}
	n, err := s.drv.nodes(g)
	if err == nil && n > 0 {
		return g, nil
	}
	_ = s.drv.freeGraph(g)
	return 0, err
}

func (s *streams) Copy(stream uintptr, r device.Rows) error {
	list := rows(copyEnd{memory: typeDevice, device: r.Dst}, copyEnd{memory: typeDevice, device: r.Src}, r)
	for i := range list {
		if err := s.drv.copy(&list[i], stream); err != nil {
			return err
		}
	}
	return nil
}

func (s *streams) Zero(stream uintptr, at uint64, n int64) error {
	if n == 0 {
		return nil
	}
	return s.drv.clear(at, n, stream)
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
func (s *streams) awaitStream() error {
	if s.enqueue == nil {
		return s.drv.do(&s.sync)
	}
	for i := 0; ; i++ {
		done, err := s.drv.ended(s.drv.StreamQuery, s.stream)
		if done || err != nil {
			return err
		}
		if i < looks {
			runtime.Gosched()
			continue
		}
		if err := s.enqueue.Watch(); err != nil {
			s.err = err
			return errors.Join(&linkError{err}, s.drv.do(&s.sync))
		}
		time.Sleep(nap)
	}
}

// needOne makes the memory with which marks are set.
func (s *streams) needOne() error {
	if s.one != 0 {
		return nil
	}
	at, err := s.Alloc(4)
	if err != nil {
		return err
	}
	s.one = at
	return s.copied(func() error { return s.drv.toDevice(at, []byte{1, 0, 0, 0}, s.stream) })
}

// end disconnects the GPU and frees what the transport has made. What fails has no consequence any
// more: the error of a run was told before.
func (s *streams) end() {
	if s.enqueue != nil {
		_ = s.enqueue.End()
	}
	for _, x := range s.queues {
		_ = s.drv.call(s.drv.StreamSynchronize, x)
		_ = s.drv.freeStream(x)
	}
	for _, x := range s.marks {
		_ = s.drv.freeEvent(x)
	}
	for _, x := range s.allocs {
		_ = s.drv.free(x)
	}
	s.queues, s.marks, s.allocs, s.enqueue = nil, nil, nil, nil
}

// notReady is what the driver gives while something is under way, eventNoTiming the kind of an event
// that only orders (cuda.h of CUDA 12.4, CUDA_ERROR_NOT_READY and CU_EVENT_DISABLE_TIMING).
const (
	notReady      = 600
	eventNoTiming = 2
)

// newMark makes an event that only orders.
func (d *driver) newMark() (x uintptr, err error) {
	err = d.call(d.EventCreate, uintptr(unsafe.Pointer(&x)), eventNoTiming)
	return x, err
}

func (d *driver) await(stream, event uintptr) error {
	return d.call(d.StreamWaitEvent, stream, event, 0)
}

func (d *driver) clear(at uint64, n int64, stream uintptr) error {
	return d.call(d.MemsetD8Async, uintptr(at), 0, uintptr(n), stream)
}

// ended asks whether a stream has nothing left to do, or an event was reached.
func (d *driver) ended(fn foreign.Function, what uintptr) (bool, error) {
	switch r := foreign.Call(fn.At, what); uint32(r) {
	case 0:
		return true, nil
	case notReady:
		return false, nil
	default:
		return false, d.failure(fn.Name, r)
	}
}
