package fakecuda

import "slices"

// stream is work that is done in order.
type stream struct {
	g     *gpu
	queue []func() int
	into  *graph // what its work is captured into; nil: it is done
}

func streamCreate(d *Driver, g *gpu, a []uintptr) int {
	if a[1] > 1 {
		return InvalidValue
	}
	s := &stream{g: g}
	g.streams = append(g.streams, s)
	*pointer[uintptr](a[0]) = d.handle(s)
	return Success
}

func streamSynchronize(d *Driver, g *gpu, a []uintptr) int {
	s, ok := get[*stream](d, "stream", a[0])
	if !ok {
		return InvalidHandle
	}
	if s.into != nil {
		d.problem("a stream that is captured is waited for")
		return NotInCapture
	}
	return d.flush(s)
}

func streamDestroy(d *Driver, g *gpu, a []uintptr) int {
	s, ok := get[*stream](d, "stream", a[0])
	if !ok {
		return InvalidHandle
	}
	if s.into != nil {
		d.problem("a stream is destroyed while it is captured")
	}
	r := d.flush(s)
	delete(d.objects, a[0])
	s.g.streams = slices.DeleteFunc(s.g.streams, func(o *stream) bool { return o == s })
	return r
}

// enqueue lets work begin at once or later.
func (d *Driver) enqueue(s *stream, work func() int) int {
	if d.threads[thread()] != s.g {
		d.problem("work for GPU %d on a thread with the context of another one", s.g.number)
		return InvalidContext
	}
	if s.into != nil {
		d.problem("work that no library gives a stream that is captured")
		return NotInCapture
	}
	s.queue = append(s.queue, work)
	if d.chance() {
		d.flush(s) // who waits is told
	}
	return Success
}

// flush does what a stream has to do.
func (d *Driver) flush(s *stream) int {
	for len(s.queue) > 0 && s.g.sticky == Success {
		work := s.queue[0]
		s.queue = s.queue[1:]
		if r := work(); r != Success {
			s.g.sticky = r
		}
	}
	s.queue = nil
	return s.g.sticky
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
	d.faults = append(d.faults, err.Error())
	return IllegalAddress
}
