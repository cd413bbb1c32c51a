package fakecuda

import (
	"strings"
	"testing"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/cuda/fakelib"
)

// caller calls functions of a driver as C does.
type caller struct {
	t *testing.T
	d *Driver
	// what calls write to
	ctx, stream, module, fn, graph, exec, node uintptr
	mem                                        uint64
	pin                                        uintptr
}

//go:uintptrescapes
func (c *caller) call(name string, args ...uintptr) int {
	c.t.Helper()
	at, err := c.d.Lookup(name)
	if err != nil {
		c.t.Fatal(err)
	}
	return int(int32(foreign.Call(at, args...)))
}

// must calls what succeeds.
//
//go:uintptrescapes
func (c *caller) must(name string, args ...uintptr) {
	c.t.Helper()
	if r := c.call(name, args...); r != Success {
		c.t.Fatalf("%s gives %d; problems %q", name, r, c.d.Problems())
	}
}

// add writes x + 1 to y.
const add = `.version 8.3
.target sm_90a
.address_size 64
.visible .entry add(
  .param .u64 x,
  .param .u64 y)
.reqntid 32, 1, 1
{
mov.u32 %r0, %tid.x;
mul.wide.u32 %d2, %r0, 4;
ld.param.u64 %d0, [x];
ld.param.u64 %d1, [y];
add.u64 %d0, %d0, %d2;
add.u64 %d1, %d1, %d2;
ld.global.b32 %r1, [%d0];
add.u32 %r1, %r1, 1;
st.global.b32 [%d1], %r1;
ret;
}
`

const size = 128

// newCaller has a context, a stream, a kernel, memory of the GPU and pinned memory of 128 bytes.
func newCaller(t *testing.T, o Options) *caller {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	c := &caller{t: t, d: New(o)}
	var device int32
	c.must("cuInit", 0)
	c.must("cuDeviceGet", uintptr(unsafe.Pointer(&device)), 0)
	c.must("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&c.ctx)), uintptr(device))
	c.must("cuCtxSetCurrent", c.ctx)
	c.must("cuStreamCreate", uintptr(unsafe.Pointer(&c.stream)), 1)
	c.must("cuMemAlloc_v2", uintptr(unsafe.Pointer(&c.mem)), size)
	c.must("cuMemHostAlloc", uintptr(unsafe.Pointer(&c.pin)), size, 0)
	text := []byte(add + "\x00")
	c.must("cuModuleLoadDataEx", uintptr(unsafe.Pointer(&c.module)), uintptr(unsafe.Pointer(&text[0])), 0, 0, 0)
	name := []byte("add\x00")
	c.must("cuModuleGetFunction", uintptr(unsafe.Pointer(&c.fn)), c.module, uintptr(unsafe.Pointer(&name[0])))
	return c
}

// params are pointers to arguments.
func params(args ...uint64) uintptr {
	list := make([]*uint64, len(args)+1) // and none behind them
	for i := range args {
		list[i] = &args[i]
	}
	kept = append(kept, list)
	return uintptr(unsafe.Pointer(&list[0]))
}

// kept are arguments that calls see as addresses alone.
var kept [][]*uint64

func (c *caller) launch(params uintptr) int {
	return c.call("cuLaunchKernel", c.fn, 1, 1, 1, 32, 1, 1, 0, c.stream, params, 0)
}

func (c *caller) sync() int { return c.call("cuStreamSynchronize", c.stream) }

// node adds the kernel to a graph.
func (c *caller) addNode(params uintptr) int {
	p := struct {
		fn          uintptr
		grid, block [3]uint32
		shared      uint32
		params      uintptr
		zero        [3]uintptr
	}{c.fn, [3]uint32{1, 1, 1}, [3]uint32{32, 1, 1}, 0, params, [3]uintptr{}}
	return c.call("cuGraphAddKernelNode_v2", uintptr(unsafe.Pointer(&c.node)), c.graph, 0, 0, uintptr(unsafe.Pointer(&p)))
}

// addCopy adds a copy from an address of the host to the GPU to a graph.
func (c *caller) addCopy(host uintptr) int {
	var p [25]uintptr
	p[4], p[5], p[9] = 1, host, size
	p[15], p[17], p[20] = 2, uintptr(c.mem), size
	p[22], p[23], p[24] = size, 1, 1
	return c.call("cuGraphAddMemcpyNode", uintptr(unsafe.Pointer(&c.node)), c.graph, 0, 0, uintptr(unsafe.Pointer(&p)), c.ctx)
}

func (c *caller) newGraph() { c.must("cuGraphCreate", uintptr(unsafe.Pointer(&c.graph)), 0) }

func (c *caller) instantiate() {
	c.must("cuGraphInstantiateWithFlags", uintptr(unsafe.Pointer(&c.exec)), c.graph, 0)
}

func (c *caller) fill(x byte) {
	for i := range size {
		*fakelib.Pointer[byte](c.pin + uintptr(i)) = x
	}
}

// TestLate: what is launched has not run before somebody waits, and then takes what is there.
func TestLate(t *testing.T) {
	c := newCaller(t, Options{})
	c.newGraph()
	if r := c.addCopy(c.pin); r != Success {
		t.Fatalf("%d, %q", r, c.d.Problems())
	}
	c.instantiate()
	c.fill(1)
	c.must("cuGraphLaunch", c.exec, c.stream)
	c.fill(2)
	if r := c.launch(params(c.mem, c.mem)); r != Success || len(c.d.Order()) != 0 {
		t.Errorf("%d, ran %v", r, c.d.Order())
	}
	c.must("cuMemcpyDtoHAsync_v2", c.pin, uintptr(c.mem), size, c.stream)
	if *fakelib.Pointer[byte](c.pin) != 2 {
		t.Error("a copy is done before it is waited for")
	}
	if r := c.sync(); r != Success || *fakelib.Pointer[uint32](c.pin + 64) != 0x02020203 {
		t.Errorf("%d, %#x", r, *fakelib.Pointer[uint32](c.pin + 64))
	}
	var got [4]byte
	c.must("cuMemcpyDtoHAsync_v2", uintptr(unsafe.Pointer(&got)), uintptr(c.mem), 4, c.stream) // pageable: at once
	if got != [4]byte{3, 2, 2, 2} || len(c.d.Problems()) != 0 {
		t.Errorf("%v, problems %q", got, c.d.Problems())
	}
}

// TestPatience: who asks for an event and does nothing else comes to an end, however late all is done.
func TestPatience(t *testing.T) {
	c := newCaller(t, Options{})
	event := new(uintptr)
	c.must("cuEventCreate", uintptr(unsafe.Pointer(event)), 2)
	defer c.must("cuEventDestroy_v2", *event)
	c.must("cuEventRecord", *event, c.stream)
	for i := 0; ; i++ {
		switch r := c.call("cuEventQuery", *event); {
		case r == Success && i > 0:
			return
		case r != NotReady || i > 1000:
			t.Fatalf("asked %d times: %d", i+1, r)
		}
	}
}

// TestMistakes: each mistake of a caller is an error, and noted.
func TestMistakes(t *testing.T) {
	for _, m := range []struct {
		name string
		do   func(c *caller) int
		want int
		note string // "": a fault
	}{
		{"unknown stream", func(c *caller) int { return c.call("cuStreamSynchronize", 5) }, InvalidHandle, "there is no stream 0x5"},
		{"a module as a stream", func(c *caller) int { return c.call("cuStreamSynchronize", c.module) }, InvalidHandle, "there is no stream"},
		{"freed twice", func(c *caller) int {
			c.must("cuMemFree_v2", uintptr(c.mem))
			return c.call("cuMemFree_v2", uintptr(c.mem))
		}, InvalidValue, "is freed that is none"},
		{"used after it was freed", func(c *caller) int {
			c.must("cuMemFree_v2", uintptr(c.mem))
			_ = c.launch(params(c.mem, c.mem))
			return c.sync()
		}, IllegalAddress, ""},
		{"a fault stays", func(c *caller) int {
			_ = c.launch(params(c.mem+size, c.mem))
			_ = c.sync()
			return c.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&c.mem)), 8)
		}, IllegalAddress, ""},
		{"fewer arguments", func(c *caller) int { return c.launch(params(c.mem)) }, InvalidValue, "fewer arguments"},
		{"no arguments", func(c *caller) int { return c.launch(0) }, InvalidValue, "no arguments"},
		{"pageable memory in a graph", func(c *caller) int {
			c.newGraph()
			return c.addCopy(uintptr(unsafe.Pointer(&make([]byte, size)[0])))
		}, InvalidValue, "not pinned"},
		{"pinned memory that was freed", func(c *caller) int {
			c.newGraph()
			_ = c.addCopy(c.pin)
			c.instantiate()
			c.must("cuMemFreeHost", c.pin)
			c.must("cuGraphLaunch", c.exec, c.stream)
			return c.sync()
		}, IllegalAddress, "not pinned"},
		{"a graph of an unloaded module", func(c *caller) int {
			c.newGraph()
			if r := c.addNode(params(c.mem, c.mem)); r != Success {
				t.Errorf("%d, %q", r, c.d.Problems())
			}
			c.instantiate()
			c.must("cuModuleUnload", c.module)
			return c.call("cuGraphLaunch", c.exec, c.stream)
		}, InvalidHandle, "after the module of kernel add was unloaded"},
		{"a kernel of an unloaded module", func(c *caller) int {
			c.must("cuModuleUnload", c.module)
			return c.launch(params(c.mem, c.mem))
		}, InvalidHandle, "after its module was unloaded"},
		{"other threads", func(c *caller) int {
			return c.call("cuLaunchKernel", c.fn, 1, 1, 1, 64, 1, 1, 0, c.stream, params(c.mem, c.mem), 0)
		}, InvalidValue, "blocks of other threads"},
		{"much shared memory", func(c *caller) int {
			return c.call("cuLaunchKernel", c.fn, 1, 1, 1, 32, 1, 1, 64<<10, c.stream, params(c.mem, c.mem), 0)
		}, InvalidValue, "more shared memory"},
		{"no context", func(c *caller) int {
			c.must("cuCtxSetCurrent", 0)
			return c.sync()
		}, InvalidContext, "without a context"},
		{"a context that was released", func(c *caller) int {
			c.must("cuDevicePrimaryCtxRelease_v2", firstDevice)
			return c.call("cuCtxSetCurrent", c.ctx)
		}, InvalidContext, "there is no context"},
		{"a node of another graph", func(c *caller) int {
			c.newGraph()
			_ = c.addCopy(c.pin)
			before := c.node
			c.newGraph()
			return c.call("cuGraphAddEmptyNode", uintptr(unsafe.Pointer(&c.node)), c.graph, uintptr(unsafe.Pointer(&before)), 1)
		}, InvalidValue, "a node of another graph"},
		{"an event that is not reached", func(c *caller) int {
			var a uintptr
			var ms float32
			c.must("cuEventCreate", uintptr(unsafe.Pointer(&a)), 0)
			c.must("cuEventRecord", a, c.stream)
			return c.call("cuEventElapsedTime", uintptr(unsafe.Pointer(&ms)), a, a)
		}, NotReady, "not reached"},
		{"no memory", func(c *caller) int {
			return c.call("cuMemAlloc_v2", uintptr(unsafe.Pointer(&c.mem)), 1<<30)
		}, OutOfMemory, "-"},
	} {
		c := newCaller(t, Options{})
		if got := m.do(c); got != m.want {
			t.Errorf("%s: found %d; expected %d", m.name, got, m.want)
		}
		switch notes := strings.Join(c.d.Problems(), "\n"); {
		case m.note == "-" && notes != "", m.note == "" && len(c.d.Faults()) == 0, !strings.Contains(notes, strings.TrimPrefix(m.note, "-")):
			t.Errorf("%s: problems %q, faults %q; expected %q", m.name, notes, c.d.Faults(), m.note)
		}
	}
}

// TestLeaks: what is left is told, and nothing where all is freed.
func TestLeaks(t *testing.T) {
	c := newCaller(t, Options{})
	c.newGraph()
	c.instantiate()
	want := "*fakecuda.exec,*fakecuda.graph,*fakecuda.module,*fakecuda.stream,1 times the context of GPU 0,128 bytes of GPU 0,128 pinned bytes"
	if got := strings.Join(c.d.Leaks(), ","); got != want {
		t.Errorf("left %s; expected %s", got, want)
	}
	c.must("cuGraphExecDestroy", c.exec)
	c.must("cuGraphDestroy", c.graph)
	c.must("cuMemFree_v2", uintptr(c.mem))
	c.must("cuMemFreeHost", c.pin)
	c.must("cuModuleUnload", c.module)
	c.must("cuStreamDestroy_v2", c.stream)
	c.must("cuDevicePrimaryCtxRelease_v2", firstDevice)
	if got := c.d.Leaks(); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

// TestSameSeed: the same calls do the same, and seeds differ in what they do.
func TestSameSeed(t *testing.T) {
	order := func(seed uint64) string {
		c := newCaller(t, Options{Seed: seed})
		var out []string
		for range 20 {
			_ = c.launch(params(c.mem, c.mem))
			out = append(out, strings.Join(c.d.Order(), " "))
		}
		return strings.Join(out, "\n")
	}
	if order(1) != order(1) || order(1) == order(2) {
		t.Error("the seed does not say when things happen")
	}
}

// TestFail fails the calls that are asked for.
func TestFail(t *testing.T) {
	c := newCaller(t, Options{})
	c.d.Fail("cuStreamSynchronize", 2, OutOfMemory)
	c.d.Fail("", 3, Unknown)
	if a, b, e := c.sync(), c.sync(), c.launch(params(c.mem, c.mem)); a != Success || b != OutOfMemory || e != Unknown {
		t.Errorf("%d, %d, %d", a, b, e)
	}
	c.d.Fail("cuMemFree_v2", 1, NotFound)
	if r := c.call("cuMemFree_v2", uintptr(c.mem)); r != NotFound || c.d.gpus[0].used != 0 {
		t.Errorf("%d, and %d bytes are in use", r, c.d.gpus[0].used)
	}
	c.d.Lose(0, LaunchFailed)
	if r := c.sync(); r != LaunchFailed {
		t.Errorf("%d of a GPU that is gone", r)
	}
}
