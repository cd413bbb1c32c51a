package fakecuda

import (
	"slices"

	"ptc/runtime/cuda/fakelib"
)

// Memory is that of a GPU, as what a library does reaches it.
type Memory struct{ g *gpu }

// Bytes is n bytes from an address on; the error says why they are not memory.
func (m Memory) Bytes(at uint64, n int) ([]byte, error) { return m.g.Bytes(at, n) }

// Work gives a stream what a library does, or where the stream is captured the graph that is made of
// it. An instruction of a warp is what the time is counted in. It is called by libraries for
// tests, from functions that are called as C's are; the result is that of a call of the driver.
func (d *Driver) Work(on uintptr, instructions int64, do func(Memory) error) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	defer d.changed.Broadcast()
	s, ok := get[*stream](d, "stream", on)
	if !ok {
		return InvalidHandle
	}
	if d.threads[fakelib.Thread()] != s.g {
		d.Problem("a library works on a thread without the context of GPU %d", s.g.number)
		return InvalidContext
	}
	work := func() int {
		s.g.Counts.Instructions += instructions
		if err := do(Memory{s.g}); err != nil {
			return d.fault(s.g, err)
		}
		return Success
	}
	if s.into == nil {
		return d.enqueue(s, work)
	}
	return d.capture(s, &node{work: work})
}

// capture puts a node behind what the stream was given before.
func (d *Driver) capture(s *stream, n *node) int {
	n.of = s.into
	if k := len(s.into.nodes); k > 0 {
		n.after = []*node{s.into.nodes[k-1]}
	}
	s.into.nodes = append(s.into.nodes, n)
	n.handle = d.Handle(n)
	countGraphs([]*node{n}, 1)
	return Success
}

// Capturing says whether a stream is captured.
func (d *Driver) Capturing(on uintptr) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, ok := fakelib.Get[*stream](&d.Handles, on)
	return ok && s.into != nil
}

func beginCapture(d *Driver, g *gpu, s *stream, a []uintptr) int {
	switch {
	case a[1] != 1 || s.into != nil: // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
		d.Problem("a capture within another, or for more than the thread")
		return InvalidValue
	case d.captures[fakelib.Thread()] != nil:
		d.Problem("a thread captures two streams")
		return InvalidValue
	}
	s.into = &graph{g: g}
	d.captures[fakelib.Thread()] = s
	return Success
}

func endCapture(d *Driver, _ *gpu, s *stream, a []uintptr) int {
	if s.into == nil {
		d.Problem("the end of a capture that was not begun")
		return InvalidValue
	}
	if d.captures[fakelib.Thread()] != s {
		d.Problem("a capture is ended on a thread that did not begin it")
		return WrongThread
	}
	delete(d.captures, fakelib.Thread())
	*fakelib.Pointer[uintptr](a[1]) = d.Handle(s.into)
	s.into = nil
	return Success
}

// addChild adds a copy of a graph as a node.
func addChild(d *Driver, _ *gpu, x *graph, a []uintptr) int {
	n := &node{child: slices.Clone(x.nodes)}
	r := d.add(a, n)
	if r == Success {
		countGraphs(n.child, 1)
	}
	return r
}

// Instructions are those of warps that a GPU has executed, and what libraries count as those.
func (d *Driver) Instructions(gpu int) int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gpus[gpu].Counts.Instructions
}
