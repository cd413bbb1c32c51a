package nccl_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/comm"
	_ "ptc/runtime/comm/local"
	"ptc/runtime/comm/nccl"
	"ptc/runtime/comm/nccl/fakenccl"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// fakes are the driver and the library that a test runs on.
type fakes struct {
	drv *fakecuda.Driver
	lib *fakenccl.Library
}

// onFakes has what is opened run on fakes with so many GPUs, which must be left clean.
func onFakes(t *testing.T, gpus int, seed uint64) *fakes {
	t.Helper()
	if err := foreign.Available(); err != nil {
		t.Skip(err)
	}
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("calls by value are of amd64 and arm64")
	}
	f := &fakes{drv: fakecuda.New(fakecuda.Options{GPUs: gpus, Seed: seed})}
	f.lib = fakenccl.New(f.drv, fakenccl.Options{Seed: seed})
	nccl.Use(f.lib.Lookup)
	t.Cleanup(func() { nccl.Use(nil) })
	return f
}

// clean checks that nobody used the fakes wrongly.
func (f *fakes) clean(t *testing.T) {
	t.Helper()
	if p, q, l, m := f.drv.Problems(), f.lib.Problems(), f.drv.Leaks(), f.lib.Leaks(); len(p)+len(q)+len(l)+len(m) > 0 {
		t.Errorf("problems %q, %q, left %q, %q", p, q, l, m)
	}
}

// gpu is the streams of a fake GPU, as an engine offers them, and one of its own, that of programs.
type gpu struct {
	drv      *fakecuda.Driver
	device   uintptr
	context  uintptr
	stream   uintptr
	streams  []uintptr
	events   []uintptr
	memories []uint64
}

// cu calls a function of the driver.
//
//go:uintptrescapes
func (g *gpu) cu(name string, args ...uintptr) error {
	fn, err := g.drv.Lookup(name)
	if err != nil {
		return err
	}
	if r := foreign.Call(fn, args...); uint32(r) != 0 {
		return fmt.Errorf("%s gives %d", name, uint32(r))
	}
	return nil
}

func newGPU(drv *fakecuda.Driver, n int) (*gpu, error) {
	g := &gpu{drv: drv}
	if err := errors.Join(g.cu("cuInit", 0), g.cu("cuDeviceGet", uintptr(unsafe.Pointer(&g.device)), uintptr(n)),
		g.cu("cuDevicePrimaryCtxRetain", uintptr(unsafe.Pointer(&g.context)), g.device)); err != nil {
		return nil, err
	}
	return g, g.On(func() (err error) { g.stream, err = g.NewStream(); return err })
}

func (g *gpu) On(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := g.cu("cuCtxSetCurrent", g.context); err != nil {
		return err
	}
	return f()
}

func (g *gpu) NewStream() (uintptr, error) {
	x := new(uintptr)
	err := g.cu("cuStreamCreate", uintptr(unsafe.Pointer(x)), 1)
	g.streams = append(g.streams, *x)
	return *x, err
}

func (g *gpu) NewEvent() (uintptr, error) {
	x := new(uintptr)
	err := g.cu("cuEventCreate", uintptr(unsafe.Pointer(x)), 2)
	g.events = append(g.events, *x)
	return *x, err
}

func (g *gpu) Alloc(n int64) (uint64, error) {
	x := new(uint64)
	err := g.cu("cuMemAlloc_v2", uintptr(unsafe.Pointer(x)), uintptr(n))
	g.memories = append(g.memories, *x)
	return *x, err
}

func (g *gpu) Record(event, stream uintptr) error { return g.cu("cuEventRecord", event, stream) }
func (g *gpu) Await(stream, event uintptr) error  { return g.cu("cuStreamWaitEvent", stream, event, 0) }

func (g *gpu) asked(name string, what uintptr) (bool, error) {
	fn, err := g.drv.Lookup(name)
	if err != nil {
		return false, err
	}
	switch r := uint32(foreign.Call(fn, what)); r {
	case 0:
		return true, nil
	case fakecuda.NotReady:
		return false, nil
	default:
		return false, fmt.Errorf("%s gives %d", name, r)
	}
}

// Capture is thread-local, as the engine's.
func (g *gpu) Capture(stream uintptr, f func() error) (uintptr, error) {
	if err := g.cu("cuStreamBeginCapture_v2", stream, 1); err != nil {
		return 0, err
	}
	err := f()
	graph, nodes := new(uintptr), new(uintptr)
	err = errors.Join(err, g.cu("cuStreamEndCapture", stream, uintptr(unsafe.Pointer(graph))), g.cu("cuGraphGetNodes", *graph, 0, uintptr(unsafe.Pointer(nodes))))
	if err == nil && *nodes > 0 {
		return *graph, nil
	}
	return 0, errors.Join(err, g.cu("cuGraphDestroy", *graph))
}

func (g *gpu) Reached(event uintptr) (bool, error) { return g.asked("cuEventQuery", event) }

// Copy is CUDA_MEMCPY3D_v2 by the offsets of its fields.
func (g *gpu) Copy(stream uintptr, r device.Rows) error {
	p := make([]uint64, 25)
	p[4], p[6], p[9] = 2, r.Src, uint64(r.SrcEvery)
	p[11+4], p[11+6], p[11+9] = 2, r.Dst, uint64(r.DstEvery)
	p[22], p[23], p[24] = uint64(r.Width), uint64(r.Height), 1
	if r.Width == 0 || r.Height == 0 {
		return nil
	}
	return g.cu("cuMemcpy3DAsync_v2", uintptr(unsafe.Pointer(unsafe.SliceData(p))), stream)
}

func (g *gpu) Zero(stream uintptr, at uint64, n int64) error {
	if n == 0 {
		return nil
	}
	return g.cu("cuMemsetD8Async", uintptr(at), 0, uintptr(n), stream)
}

// awaitStream waits for the stream of programs as an engine does, for at most half a minute.
func (g *gpu) awaitStream(watch func() error) error {
	for until := time.Now().Add(30 * time.Second); ; {
		done, err := g.asked("cuStreamQuery", g.stream)
		if done || err != nil {
			return err
		}
		if err := watch(); err != nil {
			return err
		}
		if time.Now().After(until) {
			return errors.New("the stream does not end")
		}
		time.Sleep(20 * time.Microsecond)
	}
}

func (g *gpu) close() error {
	return g.On(func() error {
		var errs []error
		for _, x := range g.streams {
			errs = append(errs, g.cu("cuStreamSynchronize", x), g.cu("cuStreamDestroy_v2", x))
		}
		for _, x := range g.events {
			errs = append(errs, g.cu("cuEventDestroy_v2", x))
		}
		for _, x := range g.memories {
			errs = append(errs, g.cu("cuMemFree_v2", uintptr(x)))
		}
		return errors.Join(append(errs, g.cu("cuDevicePrimaryCtxRelease_v2", g.device))...)
	})
}

// memory is bytes of a GPU.
type memory struct {
	device.Memory // nil: nothing of the host's is asked for
	g             *gpu
	at            uint64
}

func (m *memory) Address() uint64           { return m.at }
func (m *memory) Streams() device.Streams   { return m.g }
func (m *memory) HostBytes() ([]byte, bool) { return nil, false }
func (m *memory) rng(at, n int) device.Range {
	return device.Range{Memory: m, Offset: int64(at), Bytes: int64(n)}
}

// put and get copy to and from the memory, which nothing else uses.
func (m *memory) put(at int, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	return m.g.On(func() error {
		return errors.Join(m.g.cu("cuMemcpyHtoDAsync_v2", uintptr(m.at)+uintptr(at), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), m.g.stream),
			m.g.cu("cuStreamSynchronize", m.g.stream))
	})
}

func (m *memory) get(at, n int) ([]byte, error) {
	b := make([]byte, max(n, 1))
	if n == 0 {
		return nil, nil
	}
	err := m.g.On(func() error {
		return m.g.cu("cuMemcpyDtoHAsync_v2", uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(m.at)+uintptr(at), uintptr(n), m.g.stream)
	})
	return b, err
}

// rank is one device of a test.
type rank struct {
	*gpu
	comm.Device
	mem *memory
}

func (r *rank) enqueuer() device.Enqueuer { return r.Device.(device.Enqueuer) }

// run has each device of a mesh do something, on a goroutine of its own.
func (f *fakes) run(axes []program.MeshAxis, bytes int64, o nccl.Options, do func(r *rank) error) error {
	mesh, err := comm.NewMesh(axes)
	if err != nil {
		return err
	}
	hosts, err := comm.Open("local", mesh, comm.Options{Timeout: 20 * time.Second})
	if err != nil {
		return err
	}
	errs := make(chan error, len(hosts))
	for _, host := range hosts {
		go func() { errs <- f.one(host, bytes, o, do) }()
	}
	var all []error
	for range hosts {
		all = append(all, <-errs)
	}
	return errors.Join(all...)
}

func (f *fakes) one(host comm.Device, bytes int64, o nccl.Options, do func(r *rank) error) error {
	g, err := newGPU(f.drv, host.Rank())
	if err != nil {
		return err
	}
	end, err := nccl.Over(host, o)
	if err != nil {
		return err
	}
	r := &rank{gpu: g, Device: end, mem: &memory{g: g}}
	err = g.On(func() (err error) { r.mem.at, err = g.Alloc(bytes); return err })
	if err == nil {
		err = do(r)
	}
	if err != nil {
		host.Abort(err)
		_ = g.On(r.enqueuer().Watch) // it lets go of the streams
		err = fmt.Errorf("rank %d: %w", host.Rank(), err)
	}
	return errors.Join(err, g.On(r.enqueuer().End), g.close(), host.Close())
}
