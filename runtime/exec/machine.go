package exec

import (
	"math"
	"runtime"
	"unsafe"

	"ptc/runtime/loader"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Options of a machine.
type Options struct {
	Threads int // of all devices together; 0: one for each processor
}

// Machine is a captured plan: memory and code of all its devices.
type Machine struct {
	plan    *program.Plan
	threads int
	devices []*device // by rank
	tensors []Tensor  // in the order of the plan
	parts   [][]part  // by tensor: on each device that has it
	byPath  map[string]int
	progs   []*Program
	steps   []*int32 // every program's step on every device
	seeds   []*int32
	closed  bool
}

// device is the state of one logical device.
type device struct {
	rank   int
	prog   *program.Device
	arena  []byte
	free   func()
	engine loader.Engine
}

// buffer is the memory of a buffer, cut to its elements.
func (d *device) buffer(i int) []byte {
	b := &d.prog.Buffers[i]
	n := int64(program.Elems(b.Axes)) * int64(program.DTypeSize(b.DType))
	return d.arena[b.Offset : b.Offset+n : b.Offset+n]
}

// Open captures a plan. It checks the plan, what the host can run and whether
// the arenas fit; every error is an *Error. Tensors are zero until Initialize or
// a Write; the plan must not be changed while the machine lives.
func Open(plan *program.Plan, o Options) (*Machine, error) {
	if err := plan.Validate(); err != nil {
		return nil, errorf(ReasonPlan, err, "the plan cannot be run")
	}
	if err := native.Supported(plan.Features); err != nil {
		return nil, &Error{Reason: ReasonHost, Msg: err.Error()}
	}
	if o.Threads < 0 {
		return nil, errorf(ReasonInput, nil, "%d threads cannot run", o.Threads)
	}
	m := &Machine{plan: plan, threads: o.Threads, byPath: map[string]int{}}
	if m.threads == 0 {
		m.threads = runtime.GOMAXPROCS(0)
	}
	if err := m.open(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) open() error {
	m.devices = make([]*device, m.plan.Ranks())
	var total int64
	for i := range m.plan.Devices {
		d := &m.plan.Devices[i]
		for _, rank := range d.Ranks {
			m.devices[rank] = &device{rank: rank, prog: d}
			total = min(total, math.MaxInt64-d.Arena) + d.Arena // no overflow
		}
	}
	if err := fits(total, len(m.devices)); err != nil {
		return err
	}
	for _, d := range m.devices {
		if err := d.allocate(); err != nil {
			return err
		}
		if err := m.capture(d); err != nil {
			return err
		}
	}
	m.bindTensors()
	m.bindPrograms()
	return nil
}

// allocate maps the arena: outside Go's heap, or, on systems where ptc has no
// native code, in it.
func (d *device) allocate() error {
	n := int(d.prog.Arena)
	mem, free, err := native.Alloc(n)
	switch {
	case err == nil:
		d.arena, d.free = mem, free
	case runtime.GOOS == "linux":
		return errorf(ReasonMemory, err, "the arena of %s cannot be allocated", size(int64(n)))
	default:
		d.arena = aligned(n)
	}
	return nil
}

// aligned is zeroed memory of Go's heap at a multiple of 64.
func aligned(n int) []byte {
	const line = 64
	mem := make([]byte, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (line - 1))
	return mem[skip : skip+n : skip+n]
}

// capture makes the device's engine. Devices share the threads.
func (m *Machine) capture(d *device) error {
	kind := m.plan.CodeKind(d.prog)
	if kind == "" {
		return nil // no program has an instruction
	}
	load, err := loader.Find(kind)
	if err != nil {
		return errorf(ReasonHost, err, "the plan's code cannot be run")
	}
	d.engine, err = load(loader.Request{
		Plan: m.plan, Device: d.prog, Rank: d.rank, Arena: d.arena,
		Threads: max(1, m.threads/len(m.devices)),
	})
	if err != nil {
		d.engine = nil
		return errorf(ReasonHost, err, "the plan's code cannot be loaded")
	}
	return nil
}

var errClosed = &Error{Reason: ReasonBug, Msg: "a plan was used after it was closed"}

// replay runs a range of instructions of a program on every device, of those
// that the device has.
func (m *Machine) replay(prog, from, to int) error {
	if m.closed {
		return errClosed
	}
	for _, d := range m.devices {
		if d.engine == nil {
			continue
		}
		n := len(d.prog.Progs[prog].Instrs)
		if err := d.engine.Replay(prog, min(from, n), min(to, n)); err != nil {
			return errorf(ReasonBug, err, "program %s failed", d.prog.Progs[prog].Name)
		}
	}
	return nil
}

// Plan is what the machine runs.
func (m *Machine) Plan() *program.Plan { return m.plan }

// Threads is the number of threads, the caller's included.
func (m *Machine) Threads() int { return m.threads }

// Close frees the memory and ends the threads. No view of a tensor or field may
// be used any more. Closing again does nothing.
func (m *Machine) Close() {
	if m.closed {
		return
	}
	m.closed = true
	for _, d := range m.devices {
		if d == nil {
			continue
		}
		if d.engine != nil {
			d.engine.Close()
		}
		if d.free != nil {
			d.free()
		}
	}
	// Nothing may reach the freed memory by accident.
	m.devices, m.tensors, m.parts, m.byPath, m.steps, m.seeds = nil, nil, nil, nil, nil, nil
	for _, p := range m.progs {
		p.unbind()
	}
}
