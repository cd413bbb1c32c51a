package fakecuda

import (
	"fmt"
	"slices"

	"ptc/runtime/cuda/fakelib"
)

// stream is work that is done in order.
type stream struct {
	g     *gpu
	queue []work
	busy  bool   // its work is being done
	into  *graph // what its work is captured into; nil: it is done
}

// work is done once it is ready; nil: at once.
type work struct {
	ready func() bool
	do    func() int
}

func streamCreate(d *Driver, g *gpu, a []uintptr) int {
	if a[1] > 1 {
		return InvalidValue
	}
	s := &stream{g: g}
	g.streams = append(g.streams, s)
	*fakelib.Pointer[uintptr](a[0]) = d.Handle(s)
	return Success
}

// streamSynchronize waits for a stream; where that needs another GPU, for who gives that one its
// work.
func streamSynchronize(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if s.into != nil {
		d.Problem("a stream that is captured is waited for")
		return NotInCapture
	}
	r := d.flush(s)
	for len(s.queue) > 0 {
		d.changed.Wait()
		r = d.flush(s)
	}
	return r
}

// streamQuery lets a stream do something, as time passes.
func streamQuery(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if s.into != nil {
		d.Problem("a stream that is captured is asked for")
		return NotInCapture
	}
	if r := d.flush(s); r != Success || len(s.queue) == 0 {
		return r
	}
	return NotReady
}

func streamDestroy(d *Driver, g *gpu, s *stream, a []uintptr) int {
	if s.into != nil {
		d.Problem("a stream is destroyed while it is captured")
	}
	r := d.flush(s)
	if len(s.queue) > 0 {
		d.Problem("a stream is destroyed whose work has not ended")
	}
	d.Drop(a[0])
	s.g.streams = slices.DeleteFunc(s.g.streams, func(o *stream) bool { return o == s })
	return r
}

// enqueue lets work begin at once or later.
func (d *Driver) enqueue(s *stream, do func() int) int { return d.enqueueWhen(s, nil, do) }

func (d *Driver) enqueueWhen(s *stream, ready func() bool, do func() int) int {
	if d.threads[fakelib.Thread()] != s.g {
		d.Problem("work for GPU %d on a thread with the context of another one", s.g.number)
		return InvalidContext
	}
	if s.into != nil {
		d.Problem("work in a stream that is captured, which cannot be")
		return NotInCapture
	}
	s.queue = append(s.queue, work{ready, do})
	if d.clock.chance() {
		d.flush(s) // who waits is told
	}
	return Success
}

// flush does what a stream has to do. Where that is stuck, all others go on, too, as they would
// have.
func (d *Driver) flush(s *stream) int {
	for d.advance(s); len(s.queue) > 0; d.advance(s) {
		moved := false
		for _, g := range d.gpus {
			for _, o := range g.streams {
				moved = d.advance(o) || moved
			}
		}
		if !moved {
			break
		}
	}
	return s.g.sticky
}

// advance does what a stream can do by itself, and says whether that was something.
func (d *Driver) advance(s *stream) (moved bool) {
	if s.busy {
		return false
	}
	s.busy = true
	before := d.clock.moves
	defer func() { s.busy, moved = false, moved || d.clock.moves != before }()
	for len(s.queue) > 0 && s.g.sticky == Success {
		w := s.queue[0]
		if w.ready != nil && !w.ready() {
			return moved
		}
		s.queue, moved = s.queue[1:], true
		if r := w.do(); r != Success {
			s.g.sticky = r
		}
	}
	if s.g.sticky != Success {
		s.queue = nil
	}
	return moved
}

// flushAll does so for all streams of a GPU.
func (d *Driver) flushAll(g *gpu) int {
	for _, s := range g.streams {
		d.flush(s)
	}
	return g.sticky
}

// fault is the result of a kernel or copy that did what a GPU does not define.
func (d *Driver) fault(g *gpu, err error) int {
	d.notes.add(&d.faults, err.Error())
	return IllegalAddress
}

// Stream is a stream as another library sees it, that works on the GPU's memory. It is used by Use
// alone.
type Stream struct {
	d *Driver
	s *stream
}

// Use runs f while no call of the driver is done, as a library does that is called by the same
// program.
func (d *Driver) Use(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.changed.Broadcast()
	f()
}

// Stream is the stream with a handle.
func (d *Driver) Stream(handle uintptr) (Stream, bool) {
	s, ok := get[*stream](d, "stream", handle)
	return Stream{d, s}, ok
}

// Current is the number of the GPU whose context the thread has, or -1.
func (d *Driver) Current() int {
	if g := d.threads[fakelib.Thread()]; g != nil {
		return g.number
	}
	return -1
}

// GPU is the number of the stream's GPU.
func (s Stream) GPU() int { return s.s.g.number }

// Until waits, within Use, until something is so.
func (d *Driver) Until(so func() bool) {
	d.changed.Broadcast() // others may wait for what the caller has done
	for !so() {
		d.changed.Wait()
	}
}

// Alloc gives memory of the thread's GPU, if there is room, and Free takes it back; both within Use.
func (d *Driver) Alloc(n int64) (at uint64, ok bool) {
	g := d.threads[fakelib.Thread()]
	if g == nil || n <= 0 || n > d.o.Memory-g.used {
		return 0, false
	}
	return d.alloc(g, n), true
}

// Free takes memory of Alloc back.
func (d *Driver) Free(at uint64) {
	g := d.threads[fakelib.Thread()]
	if g == nil {
		d.Problem("memory is freed on a thread without a context")
		return
	}
	memFree(d, g, []uintptr{uintptr(at)})
}

// Capturing says whether the stream is captured.
func (s Stream) Capturing() bool { return s.s.into != nil }

// Capture puts into the graph what each launch of it begins, and does once that is ready. The graphs
// that have it are counted.
func (s Stream) Capture(graphs *int, start func() (ready func() bool, do func())) {
	s.d.capture(s.s, &node{hold: graphs, start: func() (func() bool, func() int) {
		ready, do := start()
		return ready, func() int { do(); return Success }
	}})
}

// Enqueue gives the stream work, which is done once it is ready.
func (s Stream) Enqueue(ready func() bool, do func()) error {
	if r := s.d.enqueueWhen(s.s, ready, func() int { do(); return Success }); r != Success {
		return fmt.Errorf("the driver gives %s", names[r])
	}
	return nil
}

// Bytes is memory of the stream's GPU.
func (s Stream) Bytes(at uint64, n int) ([]byte, error) { return s.s.g.Bytes(at, n) }
