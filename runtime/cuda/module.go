package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"ptc/runtime/program"
)

// Kind is the kind of code that the engine runs: text of PTX.
const Kind = "ptx"

// modules are those of a plan that a device needs, loaded.
type modules struct {
	headers map[int]*header // by number in Plan.Code
	handles map[int]uintptr
}

// usedCode are the numbers of the modules whose kernels a device calls, in order.
func usedCode(plan *program.Plan, d *program.Device) []int {
	var used []int
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm == nil {
				used = append(used, plan.Kernels[in.Kernel].Code)
			}
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// readHeaders reads those of a device's modules.
func readHeaders(plan *program.Plan, d *program.Device) (map[int]*header, error) {
	out := map[int]*header{}
	for _, i := range usedCode(plan, d) {
		if plan.Code[i].Kind != Kind {
			return nil, fmt.Errorf("module %d of the plan is code of kind %q; expected %q", i, plan.Code[i].Kind, Kind)
		}
		h, err := readHeader(plan.Code[i].Data)
		if err != nil {
			return nil, fmt.Errorf("module %d of the plan cannot be run: %w", i, err)
		}
		out[i] = h
	}
	return out, nil
}

// loadModules compiles the modules side by side: the driver takes the time of a processor for each.
func (e *engine) loadModules() error {
	used := usedCode(e.r.Plan, e.r.Device)
	handles, logs, errs := make([]uintptr, len(used)), make([]said, len(used)), make([]error, len(used))
	var all sync.WaitGroup
	turn := make(chan struct{}, max(1, e.r.Threads))
	for k, i := range used {
		all.Add(1)
		go func() {
			defer all.Done()
			turn <- struct{}{}
			defer func() { <-turn }()
			handles[k], logs[k], errs[k] = e.loadModule(i)
		}()
	}
	all.Wait()
	for k, i := range used {
		if errs[k] == nil {
			e.modules.handles[i] = handles[k]
		}
	}
	for k, i := range used {
		for _, line := range logs[k].warnings() {
			e.warn(fmt.Sprintf("the driver's compiler says of module %d of the plan: %s", i, line))
		}
	}
	for _, err := range errs { // the first by number, whichever was found first
		if err != nil {
			return err
		}
	}
	return nil
}

// loadModule compiles one module, on a thread that has the context.
func (e *engine) loadModule(i int) (uintptr, said, error) {
	if err := e.enter(); err != nil {
		return 0, said{}, e.unusable(err)
	}
	defer runtime.UnlockOSThread()
	text := append(slices.Clone(e.r.Plan.Code[i].Data), 0)
	handle, log, err := e.drv.load(text)
	if err == nil {
		return handle, log, nil
	}
	switch code(err) {
	case unsupportedPTX:
		err = fmt.Errorf("the driver of the GPU is too old for PTX %s; install a newer driver: %w", e.modules.headers[i].version, err)
	case noJIT:
		err = fmt.Errorf("the driver has no compiler of PTX (libnvidia-ptxjitcompiler.so.1 is missing): %w", err)
	case outOfMemory:
		err = e.room("code", int64(len(text)), err)
	case invalidPTX, noBinary:
		err = fmt.Errorf("the driver cannot compile module %d of the plan: %w", i, err)
	default:
		err = fmt.Errorf("module %d of the plan cannot be loaded: %w", i, err)
	}
	if log.errors != "" {
		err = &logged{err, log.errors}
	}
	return 0, log, err
}

// logged is an error of the driver's compiler with all that it says.
type logged struct {
	err error
	log string
}

func (e *logged) Error() string { return e.err.Error() + "\n" + e.log }
func (e *logged) Unwrap() error { return e.err }

// defaultShared is how much dynamic shared memory a block has without being allowed more ("CUDA C++
// Programming Guide", compute capabilities).
const defaultShared = 48 << 10

// function finds and readies the entry of a kernel.
func (e *engine) function(kernel int) (uintptr, error) {
	k := &e.r.Plan.Kernels[kernel]
	if fn, ok := e.functions[kernel]; ok {
		return fn, nil
	}
	fail := func(err error) (uintptr, error) {
		return 0, fmt.Errorf("kernel %s (entry %s) cannot be run: %w", clip(k.Name), clip(k.Symbol), err)
	}
	n, ok := e.modules.headers[k.Code].params[k.Symbol]
	switch {
	case !ok:
		return fail(fmt.Errorf("module %d has no such entry", k.Code))
	case n.addresses != len(k.Args):
		return fail(fmt.Errorf("the entry has %d parameters, and the kernel %d arguments", n.addresses, len(k.Args)))
	case n.maps != len(k.Maps):
		return fail(fmt.Errorf("the entry has %d tensor maps, and the kernel %d", n.maps, len(k.Maps)))
	case k.Threads < 1:
		return fail(errors.New("the plan does not say how many threads a block has"))
	}
	fn, err := e.drv.function(e.modules.handles[k.Code], k.Symbol)
	if err != nil {
		return fail(err)
	}
	if err := e.drv.takes(fn, n); err != nil {
		return fail(err)
	}
	if k.Shared > defaultShared {
		if err := e.drv.allowShared(fn, k.Shared); err != nil {
			return fail(fmt.Errorf("a block needs %d bytes of shared memory: %w", k.Shared, err))
		}
	}
	e.functions[kernel] = fn
	return fn, nil
}
