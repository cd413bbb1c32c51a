package cuda

import (
	"fmt"
	"runtime"
	"slices"

	"ptc/runtime/device"
)

func init() { device.Register(Kind, device.Kind{Open: open, Fits: fits}) }

// engine is one device: memory and a stream of a GPU, which other devices may be on as well.
type engine struct {
	*card
	r        device.Request
	target   string   // what its code is for: "sm_90a"
	streams  *streams // for a transport
	launches *launches
	blas     *blas // nil: no library computes products
	progs    []*captured
	worker   *worker // nil: no program communicates by way of the host
}

func open(r device.Request) (device.Engine, error) {
	drv, err := driverOfPlan()
	if err != nil {
		return nil, err
	}
	e := &engine{r: r}
	if err := e.open(drv); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// open goes from the GPU to its memories, what runs there, and what computes products.
func (e *engine) open(drv *driver) error {
	c, err := choose(e.r.Plan, e.r.Device, drv.gpus[e.r.Rank%len(drv.gpus)], drv.version)
	if err != nil {
		return err
	}
	e.r.Plan, e.target = c.plan, c.target
	if e.card, err = openCard(drv, e.r.Rank, e.r.Warn); err != nil {
		return err
	}
	e.streams = &streams{card: e.card}
	e.launches = &launches{e.card, &e.r, newModules(e.card, &e.r, c.headers), &memories{card: e.card, r: &e.r}}
	if err := e.enter(); err != nil {
		return e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	if err := e.launches.memories.allocate(e.streams); err != nil {
		return err
	}
	if err := e.launches.modules.load(); err != nil {
		return err
	}
	e.blas, err = openBlas(e.launches)
	return err
}

// On is the GPU with the code that it was given.
func (e *engine) On() device.On {
	return device.On{Name: fmt.Sprintf("GPU %d (%s)", e.ordinal, e.gpu.name), Code: e.target, Roof: e.r.Plan.Roof}
}

func (e *engine) Memory(name string) device.Memory { return e.launches.memories.of(name) }

// Capture resolves entries, addresses and copies, and readies communication.
func (e *engine) Capture(prog int) (device.Program, error) {
	if err := e.enter(); err != nil {
		return nil, e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	p, err := resolve(e.launches, e.streams, e.blas, prog)
	if err != nil {
		return nil, err
	}
	if err := communicate(p, e.launches.memories, prog); err != nil {
		return nil, err
	}
	var w *worker
	if slices.ContainsFunc(p.acts, func(a act) bool { return a.staged != nil }) {
		if e.worker == nil {
			e.worker = newWorker()
		}
		w = e.worker
	}
	c := newCaptured(p, capturerOf(&e.r, p, prog, w != nil), w)
	e.progs = append(e.progs, c)
	return c, nil
}

// Close frees what the engine has come to hold. Errors are those of a GPU that has failed before,
// and there is nothing to be done about them.
func (e *engine) Close() {
	e.worker.close()
	if e.card == nil || e.context == 0 {
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
	if e.launches != nil {
		e.streams.end() // which waits until no graph has anything of it
		e.blas.close()
		e.launches.modules.close()
		e.launches.memories.close()
	}
	e.card.close()
	e.progs, e.blas = nil, nil
}
