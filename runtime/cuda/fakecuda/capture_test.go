package fakecuda

import (
	"errors"
	"strings"
	"testing"
	"unsafe"
)

// work is what a library does: it adds to bytes.
func (c *caller) work(x byte) int {
	return c.d.Work(c.stream, 5, func(m Memory) error {
		b, err := m.Bytes(c.mem, size)
		for i := range b {
			b[i] += x
		}
		return err
	})
}

func (c *caller) first() byte {
	var got [4]byte
	c.must("cuMemcpyDtoHAsync_v2", uintptr(unsafe.Pointer(&got)), uintptr(c.mem), 4, c.stream)
	return got[0]
}

// TestCapture: what a library gives a stream that is captured is a graph, in order, which runs as a node of
// others, and not before.
func TestCapture(t *testing.T) {
	c := newCaller(t, Options{Seed: 1})
	c.must("cuMemcpyHtoDAsync_v2", uintptr(c.mem), c.pin, size, c.stream)
	c.fill(0)
	_ = c.sync()
	c.must("cuMemcpyHtoDAsync_v2", uintptr(c.mem), c.pin, size, c.stream)
	var child uintptr
	c.must("cuStreamBeginCapture_v2", c.stream, 1)
	if !c.d.Capturing(c.stream) || c.work(1) != Success || c.work(2) != Success {
		t.Error("nothing is captured")
	}
	c.must("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&child)))
	before := c.d.Instructions(0)
	if got := c.first(); got != 0 || c.d.Capturing(c.stream) {
		t.Errorf("found %d: what is captured has run", got)
	}
	c.newGraph()
	c.must("cuGraphAddChildGraphNode", uintptr(unsafe.Pointer(&c.node)), c.graph, 0, 0, child)
	c.must("cuGraphDestroy", child) // a node is a copy
	c.instantiate()
	for range 2 {
		c.must("cuGraphLaunch", c.exec, c.stream)
	}
	if r := c.sync(); r != Success || c.first() != 6 || c.d.Instructions(0)-before != 20 || len(c.d.Problems()) > 0 {
		t.Errorf("%d: found %d after %d instructions, problems %q", r, c.first(), c.d.Instructions(0)-before, c.d.Problems())
	}
	if c.d.Work(c.stream, 0, func(Memory) error { return errors.New("none") }); c.sync() != IllegalAddress || len(c.d.Faults()) != 1 {
		t.Errorf("faults %q", c.d.Faults())
	}
}

// TestCaptureMistakes: each mistake is an error, and noted.
func TestCaptureMistakes(t *testing.T) {
	for _, m := range []struct {
		name string
		do   func(c *caller) int
		want int
		note string
	}{
		{"waiting", func(c *caller) int { return c.sync() }, NotInCapture, "is waited for"},
		{"a launch", func(c *caller) int { return c.launch(params(c.mem, c.mem)) }, NotInCapture, "which cannot be"},
		{"asking", func(c *caller) int { return c.call("cuStreamQuery", c.stream) }, NotInCapture, "is asked for"},
		{"an event", func(c *caller) int {
			var x uintptr
			c.must("cuEventCreate", uintptr(unsafe.Pointer(&x)), 2)
			return c.call("cuEventRecord", x, c.stream)
		}, NotInCapture, "which cannot be"},
		{"memory", func(c *caller) int {
			var x uintptr
			return c.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&x)), 64)
		}, NotInCapture, "while the thread captures"},
		{"twice", func(c *caller) int { return c.call("cuStreamBeginCapture_v2", c.stream, 1) }, InvalidValue, "within another"},
		{"of a stream that is gone", func(c *caller) int { return c.call("cuStreamDestroy_v2", c.stream) }, Success, "while it is captured"},
		{"ended twice", func(c *caller) int {
			c.must("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&c.graph)))
			return c.call("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&c.graph)))
		}, InvalidValue, "not begun"},
		{"global", func(c *caller) int {
			c.must("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&c.graph)))
			return c.call("cuStreamBeginCapture_v2", c.stream, 0)
		}, InvalidValue, "for more than the thread"},
		{"no graph", func(c *caller) int {
			c.must("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&c.graph)))
			return c.call("cuGraphAddChildGraphNode", uintptr(unsafe.Pointer(&c.node)), c.graph, 0, 0, c.stream)
		}, InvalidHandle, "there is no graph"},
		{"without a context", func(c *caller) int {
			c.must("cuCtxSetCurrent", 0)
			return c.work(1)
		}, InvalidContext, "without the context"},
	} {
		c := newCaller(t, Options{})
		c.must("cuStreamBeginCapture_v2", c.stream, 1)
		if got := m.do(c); got != m.want || !strings.Contains(strings.Join(c.d.Problems(), "\n"), m.note) {
			t.Errorf("%s: found %d, problems %q; expected %d and %q", m.name, got, c.d.Problems(), m.want, m.note)
		}
	}
}

// TestEvents take the time of what is between them, once it has run.
func TestEvents(t *testing.T) {
	c := newCaller(t, Options{})
	var from, to uintptr
	var ms float32
	c.must("cuEventCreate", uintptr(unsafe.Pointer(&from)), 0)
	c.must("cuEventCreate", uintptr(unsafe.Pointer(&to)), 0)
	c.must("cuEventRecord", from, c.stream)
	_ = c.work(1)
	c.must("cuEventRecord", to, c.stream)
	if r := c.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), from, to); r != NotReady {
		t.Errorf("%d of events that were not reached", r)
	}
	_ = c.sync()
	if r := c.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), from, to); r != Success || ms != 5e-6 {
		t.Errorf("%d, %g ms", r, ms)
	}
	c.must("cuEventDestroy_v2", from)
	c.must("cuEventDestroy_v2", to)
}

// TestCapturedNodes: copies are captured, too; what waits for another GPU keeps no node beside it, and is counted
// as long as there is a graph that has it.
func TestCapturedNodes(t *testing.T) {
	for seed := range uint64(4) {
		c := newCaller(t, Options{Seed: seed})
		c.must("cuMemsetD8Async", uintptr(c.mem), 0, size, c.stream)
		_ = c.sync()
		var child, count uintptr
		var graphs, began, done int
		open := false
		c.must("cuStreamBeginCapture_v2", c.stream, 1)
		c.d.Use(func() {
			s, _ := c.d.Stream(c.stream)
			s.Capture(&graphs, func() (func() bool, func()) {
				began++
				return func() bool { return open }, func() { done++ }
			})
		})
		c.must("cuMemsetD8Async", uintptr(c.mem), 7, size, c.stream)
		c.must("cuStreamEndCapture", c.stream, uintptr(unsafe.Pointer(&child)))
		c.must("cuGraphGetNodes", child, 0, uintptr(unsafe.Pointer(&count)))
		c.newGraph()
		c.must("cuGraphAddChildGraphNode", uintptr(unsafe.Pointer(&c.node)), c.graph, 0, 0, child)
		c.must("cuGraphDestroy", child)
		c.instantiate()
		for n := 1; n < 3; n++ {
			open = false
			c.must("cuGraphLaunch", c.exec, c.stream)
			if r := c.call("cuStreamQuery", c.stream); r != NotReady || began != n || done != n-1 {
				t.Fatalf("%d: begun %d times, done %d", r, began, done)
			}
			open = true
			if r := c.sync(); r != Success || done != n {
				t.Fatalf("%d: done %d times", r, done)
			}
		}
		if got := c.first(); got != 7 || count != 2 || graphs == 0 {
			t.Errorf("found %d, %d nodes, %d graphs", got, count, graphs)
		}
		c.must("cuGraphExecDestroy", c.exec)
		c.must("cuGraphDestroy", c.graph)
		if p := c.d.Problems(); graphs != 0 || len(p) > 0 {
			t.Errorf("%d graphs are left, problems %q", graphs, p)
		}
	}
}
