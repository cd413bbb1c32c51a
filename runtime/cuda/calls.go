package cuda

import (
	"bytes"
	"fmt"
	"math"
	"time"
	"unsafe"

	"ptc/internal/foreign"
)

// call calls a function of the driver. What pointers among its arguments point to does not move
// while the call lasts.
//
//go:uintptrescapes
func (d *driver) call(f foreign.Function, args ...uintptr) error {
	if r := foreign.Call(f.At, args...); uint32(r) != 0 {
		return d.failure(f.Name, r)
	}
	return nil
}

// ready is a call whose arguments are there already: it does not allocate where it succeeds.
type ready struct {
	fn   foreign.Function
	args []uintptr
}

func (d *driver) do(c *ready) error { return d.call(c.fn, c.args...) }

func (d *driver) driverVersion() (int, error) {
	var v int32
	err := d.call(d.DriverGetVersion, uintptr(unsafe.Pointer(&v)))
	return int(v), err
}

func (d *driver) deviceCount() (int, error) {
	var n int32
	err := d.call(d.DeviceGetCount, uintptr(unsafe.Pointer(&n)))
	return int(n), err
}

// describe looks at GPU number i.
func (d *driver) describe(i int) (g gpu, err error) {
	if err := d.call(d.DeviceGet, uintptr(unsafe.Pointer(&g.device)), uintptr(i)); err != nil {
		return g, err
	}
	name := make([]byte, 256)
	if err := d.call(d.DeviceGetName, uintptr(unsafe.Pointer(unsafe.SliceData(name))), uintptr(len(name)), uintptr(g.device)); err != nil {
		return g, err
	}
	name, _, _ = bytes.Cut(name, []byte{0})
	g.name = string(name)
	if g.major, err = d.attribute(attributeMajor, g.device); err != nil {
		return g, err
	}
	if g.minor, err = d.attribute(attributeMinor, g.device); err != nil {
		return g, err
	}
	shared, err := d.attribute(attributeShared, g.device)
	if err != nil {
		return g, err
	}
	g.shared = int64(shared)
	var bytes uintptr
	err = d.call(d.DeviceTotalMem, uintptr(unsafe.Pointer(&bytes)), uintptr(g.device))
	g.memory = int64(bytes)
	return g, err
}

func (d *driver) attribute(attribute int, device int32) (int, error) {
	var v int32
	err := d.call(d.DeviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(attribute), uintptr(device))
	return int(v), err
}

// retain gives the GPU's primary context, which all engines on it share.
func (d *driver) retain(device int32) (ctx uintptr, err error) {
	err = d.call(d.DevicePrimaryCtxRetain, uintptr(unsafe.Pointer(&ctx)), uintptr(device))
	return ctx, err
}

func (d *driver) release(device int32) error {
	return d.call(d.DevicePrimaryCtxRelease, uintptr(device))
}

// memInfo is how many bytes of the current context's GPU are free, and how many it has.
func (d *driver) memInfo() (free, total int64, err error) {
	var f, t uintptr
	err = d.call(d.MemGetInfo, uintptr(unsafe.Pointer(&f)), uintptr(unsafe.Pointer(&t)))
	return int64(f), int64(t), err
}

func (d *driver) alloc(n int64) (at uint64, err error) {
	err = d.call(d.MemAlloc, uintptr(unsafe.Pointer(&at)), uintptr(n))
	return at, err
}

func (d *driver) free(at uint64) error { return d.call(d.MemFree, uintptr(at)) }

// allocHost is memory of the host that copies reach while other things run.
func (d *driver) allocHost(n int64) ([]byte, error) {
	var at uintptr
	if err := d.call(d.MemHostAlloc, uintptr(unsafe.Pointer(&at)), uintptr(n), 0); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(foreign.Pointer(at)), n), nil
}

func (d *driver) freeHost(b []byte) error {
	return d.call(d.MemFreeHost, uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

// toDevice copies any bytes of the host, which must not be changed before the stream is waited
// for; toHost the other way.
func (d *driver) toDevice(at uint64, src []byte, stream uintptr) error {
	return d.call(d.MemcpyHtoDAsync, uintptr(at), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), stream)
}

func (d *driver) toHost(dst []byte, at uint64, stream uintptr) error {
	return d.call(d.MemcpyDtoHAsync, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(at), uintptr(len(dst)), stream)
}

func (d *driver) copy(t *transfer, stream uintptr) error {
	return d.call(d.Memcpy3DAsync, uintptr(unsafe.Pointer(t)), stream)
}

func (d *driver) newStream() (s uintptr, err error) {
	err = d.call(d.StreamCreate, uintptr(unsafe.Pointer(&s)), streamNonBlocking)
	return s, err
}

func (d *driver) freeStream(s uintptr) error {
	return d.call(d.StreamDestroy, s)
}

func (d *driver) unload(module uintptr) error {
	return d.call(d.ModuleUnload, module)
}

// function finds an entry of a module.
func (d *driver) function(module uintptr, name string) (fn uintptr, err error) {
	text := append([]byte(name), 0)
	err = d.call(d.ModuleGetFunction, uintptr(unsafe.Pointer(&fn)), module, uintptr(unsafe.Pointer(unsafe.SliceData(text))))
	return fn, err
}

func (d *driver) allowShared(fn uintptr, n int64) error {
	return d.call(d.FuncSetAttribute, fn, attributeDynamicShared, uintptr(n))
}

// takes checks that a function takes so many addresses and tensor maps, where the driver can say that.
func (d *driver) takes(fn uintptr, p params) error {
	n := p.addresses + p.maps
	if d.FuncGetParamInfo.At == 0 {
		return nil
	}
	for i := range n + 1 {
		var offset, size uintptr
		err := d.call(d.FuncGetParamInfo, fn, uintptr(i), uintptr(unsafe.Pointer(&offset)), uintptr(unsafe.Pointer(&size)))
		switch {
		case code(err) == invalidValue && i == n:
			return nil
		case code(err) == invalidValue:
			return fmt.Errorf("it has %d parameters; expected %d", i, n)
		case err != nil:
			return err
		case i == n:
			return fmt.Errorf("it has more than %d parameters", n)
		case i >= p.addresses && size != mapBytes:
			return fmt.Errorf("its parameter %d has %d bytes; expected the %d of a tensor map", i, size, mapBytes)
		case i < p.addresses && size != 8:
			return fmt.Errorf("its parameter %d has %d bytes; expected the 8 of an address", i, size)
		}
	}
	return nil
}

func (d *driver) launch(k *kernelNode, stream uintptr) error {
	return d.call(d.LaunchKernel, k.function, uintptr(k.grid[0]), uintptr(k.grid[1]), uintptr(k.grid[2]),
		uintptr(k.block[0]), uintptr(k.block[1]), uintptr(k.block[2]), uintptr(k.shared), stream, uintptr(k.params), 0)
}

func (d *driver) newGraph() (g uintptr, err error) {
	err = d.call(d.GraphCreate, uintptr(unsafe.Pointer(&g)), 0)
	return g, err
}

func (d *driver) freeGraph(g uintptr) error { return d.call(d.GraphDestroy, g) }

func (d *driver) addKernel(g uintptr, after []uintptr, k *kernelNode) (node uintptr, err error) {
	err = d.call(d.GraphAddKernelNode, uintptr(unsafe.Pointer(&node)), g,
		uintptr(unsafe.Pointer(unsafe.SliceData(after))), uintptr(len(after)), uintptr(unsafe.Pointer(k)))
	return node, err
}

func (d *driver) addCopy(g uintptr, after []uintptr, t *transfer, ctx uintptr) (node uintptr, err error) {
	err = d.call(d.GraphAddMemcpyNode, uintptr(unsafe.Pointer(&node)), g,
		uintptr(unsafe.Pointer(unsafe.SliceData(after))), uintptr(len(after)), uintptr(unsafe.Pointer(t)), ctx)
	return node, err
}

func (d *driver) addEmpty(g uintptr, after []uintptr) (node uintptr, err error) {
	err = d.call(d.GraphAddEmptyNode, uintptr(unsafe.Pointer(&node)), g,
		uintptr(unsafe.Pointer(unsafe.SliceData(after))), uintptr(len(after)))
	return node, err
}

func (d *driver) instantiate(g uintptr) (exec uintptr, err error) {
	err = d.call(d.GraphInstantiateWithFlags, uintptr(unsafe.Pointer(&exec)), g, 0)
	return exec, err
}

func (d *driver) freeExec(x uintptr) error {
	return d.call(d.GraphExecDestroy, x)
}

// capture makes a graph of what f gives a stream.
func (d *driver) capture(stream uintptr, f func() error) (graph uintptr, err error) {
	if err := d.beginCapture(stream); err != nil {
		return 0, err
	}
	err = f()
	graph, end := d.endCapture(stream)
	if err == nil {
		err = end
	}
	if err != nil && graph != 0 {
		_ = d.freeGraph(graph)
		graph = 0
	}
	return graph, err
}

// nodes is how many nodes a graph has.
func (d *driver) nodes(g uintptr) (n int, err error) {
	var count uintptr
	err = d.call(d.GraphGetNodes, g, 0, uintptr(unsafe.Pointer(&count)))
	return int(count), err
}

func (d *driver) beginCapture(stream uintptr) error {
	return d.call(d.StreamBeginCapture, stream, captureThread)
}

func (d *driver) endCapture(stream uintptr) (g uintptr, err error) {
	err = d.call(d.StreamEndCapture, stream, uintptr(unsafe.Pointer(&g)))
	return g, err
}

// addChild adds a copy of a graph as a node.
func (d *driver) addChild(g uintptr, after []uintptr, child uintptr) (node uintptr, err error) {
	err = d.call(d.GraphAddChildGraphNode, uintptr(unsafe.Pointer(&node)), g,
		uintptr(unsafe.Pointer(unsafe.SliceData(after))), uintptr(len(after)), child)
	return node, err
}

func (d *driver) launchGraph(exec, stream uintptr) error {
	return d.call(d.GraphLaunch, exec, stream)
}

// newEvent makes an event that takes the time at which the stream reaches it.
func (d *driver) newEvent() (x uintptr, err error) {
	err = d.call(d.EventCreate, uintptr(unsafe.Pointer(&x)), 0)
	return x, err
}

func (d *driver) freeEvent(x uintptr) error { return d.call(d.EventDestroy, x) }

func (d *driver) record(x, stream uintptr) error {
	return d.call(d.EventRecord, x, stream)
}

// elapsed is the time between two events that the stream has reached.
func (d *driver) elapsed(from, to uintptr) (time.Duration, error) {
	var ms float32
	err := d.call(d.EventElapsedTime, uintptr(unsafe.Pointer(&ms)), from, to)
	return time.Duration(math.Round(float64(ms) * float64(time.Millisecond))), err
}
