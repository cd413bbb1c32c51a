package cuda

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"ptc/runtime/device"
	"ptc/runtime/program"
)

// Kind is the kind of code that the engine runs: text of PTX.
const Kind = "ptx"

// modules are those of a plan that a device needs, loaded.
type modules struct {
	*card
	r         *device.Request
	headers   map[int]*header // by number in Plan.Code
	handles   map[int]uintptr
	functions map[int]uintptr // by kernel
}

func newModules(c *card, r *device.Request, headers map[int]*header) *modules {
	return &modules{c, r, headers, map[int]uintptr{}, map[int]uintptr{}}
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

// load compiles the modules side by side: the driver takes the time of a processor for each.
func (m *modules) load() error {
	used := usedCode(m.r.Plan, m.r.Device)
	handles, logs, errs := make([]uintptr, len(used)), make([]said, len(used)), make([]error, len(used))
	var all sync.WaitGroup
	turn := make(chan struct{}, max(1, m.r.Threads))
	for k, i := range used {
		all.Add(1)
		go func() {
			defer all.Done()
			turn <- struct{}{}
			defer func() { <-turn }()
			handles[k], logs[k], errs[k] = m.loadModule(i)
		}()
	}
	all.Wait()
	for k, i := range used {
		if errs[k] == nil {
			m.handles[i] = handles[k]
		}
	}
	for k, i := range used {
		for _, line := range logs[k].warnings() {
			m.warn(fmt.Sprintf("the driver's compiler says of module %d of the plan: %s", i, line))
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
func (m *modules) loadModule(i int) (uintptr, said, error) {
	if err := m.enter(); err != nil {
		return 0, said{}, m.unusable(err)
	}
	defer runtime.UnlockOSThread()
	text := append(slices.Clone(m.r.Plan.Code[i].Data), 0)
	handle, log, err := m.drv.load(text)
	if err == nil {
		return handle, log, nil
	}
	switch code(err) {
	case unsupportedPTX:
		err = fmt.Errorf("the driver of the GPU is too old for PTX %s; install a newer driver: %w", m.headers[i].version, err)
	case noJIT:
		err = fmt.Errorf("the driver has no compiler of PTX (libnvidia-ptxjitcompiler.so.1 is missing): %w", err)
	case outOfMemory:
		err = m.room("code", int64(len(text)), err)
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
func (m *modules) function(kernel int) (uintptr, error) {
	k := &m.r.Plan.Kernels[kernel]
	if fn, ok := m.functions[kernel]; ok {
		return fn, nil
	}
	fail := func(err error) (uintptr, error) {
		return 0, fmt.Errorf("kernel %s (entry %s) cannot be run: %w", clip(k.Name), clip(k.Symbol), err)
	}
	n, ok := m.headers[k.Code].params[k.Symbol]
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
	fn, err := m.drv.function(m.handles[k.Code], k.Symbol)
	if err != nil {
		return fail(err)
	}
	if err := m.drv.takes(fn, n); err != nil {
		return fail(err)
	}
	if k.Shared > defaultShared {
		if err := m.drv.allowShared(fn, k.Shared); err != nil {
			return fail(fmt.Errorf("a block needs %d bytes of shared memory: %w", k.Shared, err))
		}
	}
	m.functions[kernel] = fn
	return fn, nil
}

// close unloads the modules.
func (m *modules) close() {
	for _, i := range usedCode(m.r.Plan, m.r.Device) {
		if h := m.handles[i]; h != 0 {
			_ = m.drv.unload(h)
		}
	}
}

// jitLogs is the array of values of the options of cuModuleLoadDataEx: a buffer for what the compiler notes and one
// for its errors, each with its length, and that it notes all that it can. They are in the order of jitOptions.
type jitLogs struct {
	info      unsafe.Pointer
	infoSize  uintptr
	fault     unsafe.Pointer
	faultSize uintptr
	verbose   uintptr
}

// jitOptions are those that belong to them (cuda.h of CUDA 12.4, CUjit_option): CU_JIT_INFO_LOG_BUFFER,
// CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES and CU_JIT_LOG_VERBOSE.
var jitOptions = [5]uint32{3, 4, 5, 6, 12}

// said is what the compiler says of a module: notes of one that it compiles, errors of one that it does not.
type said struct{ notes, errors string }

// load compiles text that ends in a zero, as a whole program, and loads it, for the current context's GPU. Code that
// the driver has in its cache is not compiled, and nothing is said of it.
func (d *driver) load(text []byte) (module uintptr, log said, err error) {
	const size = 64 << 10 // a few hundred bytes of statistics for each kernel
	info, fault := make([]byte, size), make([]byte, size)
	values := &jitLogs{unsafe.Pointer(unsafe.SliceData(info)), size, unsafe.Pointer(unsafe.SliceData(fault)), size, 1}
	err = d.call(d.ModuleLoadDataEx, uintptr(unsafe.Pointer(&module)), uintptr(unsafe.Pointer(unsafe.SliceData(text))),
		uintptr(len(jitOptions)), uintptr(unsafe.Pointer(&jitOptions[0])), uintptr(unsafe.Pointer(values)))
	runtime.KeepAlive(values)
	return module, said{beforeZero(info), beforeZero(fault)}, err
}

func beforeZero(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(bytes.TrimSpace(b))
}

// numbered is a message with a number, as "(C7509) Potential Performance Loss: wgmma.mma_async instructions are
// serialized". The compiler calls some of them infos, though they cost half of a kernel's speed.
var numbered = regexp.MustCompile(`\(C\d+\)`)

// warnings are the lines of a log that a user should see, each once. The rest counts registers.
func (s said) warnings() (out []string) {
	for line := range strings.Lines(s.notes) {
		line = strings.TrimSpace(line)
		if (numbered.MatchString(line) || strings.Contains(strings.ToLower(line), "warning")) && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}
