package cuda

import (
	"fmt"
	"runtime"

	"ptc/internal/units"
	"ptc/runtime/device"
)

func init() { device.Register(Kind, device.Kind{Open: open, Fits: fits}) }

// engine is one device: memory and a stream of a GPU, which other devices may be on as well.
type engine struct {
	r       device.Request
	drv     *driver
	ordinal int     // of the GPU
	target  string  // what its code is for: "sm_90a"
	context uintptr // the GPU's primary one; 0: not retained
	stream  uintptr
	streams streams // for a transport
	mark    uint64  // memory with the number 1; 0: none

	current, sync ready // makes the context that of the thread; waits for the stream

	arena     *arena
	host      *pinned // nil: the plan has none
	pins      [][]byte
	events    []uintptr // for times
	modules   modules
	functions map[int]uintptr // by kernel
	progs     []*captured
	worker    *worker // nil: no program communicates
	blas      *blas   // nil: no library computes products
}

func open(r device.Request) (device.Engine, error) {
	drv, err := driverOfPlan()
	if err != nil {
		return nil, err
	}
	e := &engine{r: r, drv: drv, ordinal: r.Rank % len(drv.gpus), functions: map[int]uintptr{}, modules: modules{handles: map[int]uintptr{}}}
	e.streams.e = e
	if err := e.open(); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// On is the GPU with the code that it was given.
func (e *engine) On() device.On {
	g := e.gpu()
	return device.On{Name: fmt.Sprintf("GPU %d (%s)", e.ordinal, g.name), Code: e.target, Roof: e.r.Plan.Roof}
}

func (e *engine) gpu() gpu { return e.drv.gpus[e.ordinal] }

func (e *engine) open() (err error) {
	c, err := choose(e.r.Plan, e.r.Device, e.gpu(), e.drv.version)
	if err != nil {
		return err
	}
	e.r.Plan, e.modules.headers, e.target = c.plan, c.headers, c.target
	ctx, err := e.drv.retain(e.gpu().device)
	if err != nil {
		return e.unusable(err)
	}
	e.context = ctx
	e.current = ready{"cuCtxSetCurrent", e.drv.ctxSetCurrent, []uintptr{ctx}}
	if err := e.enter(); err != nil {
		return e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	if e.stream, err = e.drv.newStream(); err != nil {
		return e.unusable(err)
	}
	e.sync = ready{"cuStreamSynchronize", e.drv.streamSynchronize, []uintptr{e.stream}}
	if err := e.allocate(); err != nil {
		return err
	}
	if err := e.loadModules(); err != nil {
		return err
	}
	return e.openBlas()
}

func (e *engine) unusable(err error) error {
	return fmt.Errorf("GPU %d (%s) cannot be used: %w", e.ordinal, e.gpu().name, err)
}

// enter makes the context that of the thread, which is the caller's alone until it unlocks it;
// after an error it is nobody's.
func (e *engine) enter() error {
	runtime.LockOSThread()
	if err := e.drv.do(&e.current); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

// pin is zeroed memory of the host that copies reach while other things run. The engine frees it.
func (e *engine) pin(n int64) ([]byte, error) {
	b, err := e.drv.allocHost(n)
	if code(err) == outOfMemory {
		return nil, &device.MemoryError{Msg: fmt.Sprintf("%s of the host, for what goes to the GPU and comes from it, cannot be pinned", units.Bytes(n)), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("memory of the host cannot be pinned: %w", err)
	}
	e.pins = append(e.pins, b)
	clear(b)
	return b, nil
}

// Close frees what the engine has come to hold. Errors are those of a GPU that has failed before,
// and there is nothing to be done about them.
func (e *engine) Close() {
	e.worker.close()
	if e.context == 0 {
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_ = e.drv.do(&e.current) // of a GPU that has failed, and still frees
	if e.stream != 0 {
		_ = e.drv.do(&e.sync)
	}
	for _, p := range e.progs {
		p.free()
	}
	e.streams.end() // which waits until no graph has anything of it
	e.blas.close()
	for _, x := range e.events {
		_ = e.drv.freeEvent(x)
	}
	for _, m := range usedCode(e.r.Plan, e.r.Device) {
		if h := e.modules.handles[m]; h != 0 {
			_ = e.drv.unload(h)
		}
	}
	for _, b := range e.pins {
		_ = e.drv.freeHost(b)
	}
	if e.host != nil {
		e.host.Close()
	}
	if e.arena != nil {
		e.arena.Close()
	}
	if e.stream != 0 {
		_ = e.drv.freeStream(e.stream)
	}
	_ = e.drv.release(e.gpu().device)
	e.context, e.stream, e.pins, e.progs, e.events, e.blas = 0, 0, nil, nil, nil, nil
}
