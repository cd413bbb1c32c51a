package exec

import (
	"runtime"
	"runtime/debug"
	"slices"
	"unsafe"

	"ptc/runtime/comm"
	"ptc/runtime/loader"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// device is the state of one logical device.
type device struct {
	rank   int
	prog   *program.Device
	comm   comm.Device
	arena  []byte
	others map[string][]byte // by name: the memories that are not the device's own
	free   []func()
	engine loader.Engine
	mover  *mover // nil: no program moves anything between memories

	exchanges [][]exchange // by program, in order
	grads     [][]gradPart // by program, by when they are computed
	guards    []guard      // by program
	coords    []coordinates

	jobs chan func(*device) error // of the device's goroutine, where it has one
	err  error                    // of the last job
}

// coordinates are where a program has the device's place in the mesh.
type coordinates struct {
	prog int
	mem  []int32
	at   []int
}

// buffer is the memory of a buffer, cut to its elements; nil on a device of
// another process.
func (d *device) buffer(i int) []byte {
	if d.arena == nil {
		return nil
	}
	b := &d.prog.Buffers[i]
	mem := d.arena
	if b.Memory != "" {
		mem = d.others[b.Memory]
	}
	n := int64(program.Elems(b.Axes)) * int64(program.DTypeSize(b.DType))
	return mem[b.Offset : b.Offset+n : b.Offset+n]
}

// allocate maps the arenas: in memory outside Go's heap, or, on systems where ptc
// has no native code, in it; on disk in a file in dir.
func (d *device) allocate(dir string) error {
	var err error
	if d.arena, err = d.memory(d.prog.Arena); err != nil {
		return err
	}
	d.others = map[string][]byte{}
	if n := d.prog.Host; n > 0 {
		if d.others[program.Host], err = d.memory(n); err != nil {
			return err
		}
	}
	if n := d.prog.Disk; n > 0 {
		mem, free, err := native.AllocFile(dir, n)
		if err != nil {
			return errorf(ReasonMemory, err, "there is no room to offload %s to disk", size(n))
		}
		d.others[program.Disk] = mem
		d.free = append(d.free, free)
	}
	return nil
}

func (d *device) memory(n int64) ([]byte, error) {
	mem, free, err := native.Alloc(int(n))
	switch {
	case err == nil:
		d.free = append(d.free, free)
		return mem, nil
	case runtime.GOOS == "linux":
		return nil, errorf(ReasonMemory, err, "the arena of %s cannot be allocated", size(n))
	}
	return aligned(int(n)), nil
}

// aligned is zeroed memory of Go's heap at a multiple of 64.
func aligned(n int) []byte {
	const line = 64
	mem := make([]byte, n+line)
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(mem))) & (line - 1))
	return mem[skip : skip+n : skip+n]
}

// capture makes the device's engine. Devices of a process share its threads.
func (m *Machine) capture(d *device) error {
	kind := m.plan.CodeKind(d.prog)
	if kind == "" {
		return nil // no program has an instruction
	}
	load, err := loader.Find(kind)
	if err != nil {
		return errorf(ReasonHost, err, "the plan's code cannot be run")
	}
	r := loader.Request{
		Plan: m.plan, Device: d.prog, Rank: d.rank, Arena: d.arena,
		Threads: max(1, m.threads/len(m.devices)),
	}
	if m.onFault != nil {
		r.Fault = func(prog int, what string) {
			m.onFault(errorf(ReasonBug, nil, "the code of the plan faulted in program %s, step %d, on rank %d: %s",
				d.prog.Progs[prog].Name, m.step.Load(), d.rank, what))
		}
	}
	d.engine, err = load(r)
	if err != nil {
		d.engine = nil
		return errorf(ReasonHost, err, "the plan's code cannot be loaded")
	}
	return nil
}

// close frees what the device holds; it does nothing.
func (d *device) close() {
	if d.jobs != nil {
		close(d.jobs)
	}
	if d.engine != nil {
		d.engine.Close()
	}
	d.mover.close() // before the memory that it copies is gone
	for _, free := range d.free {
		free()
	}
}

// begin gives a program the device's coordinates, before it runs: their memory
// may have been used for something else since.
func (d *device) begin(prog int) {
	for i := range d.coords {
		if c := &d.coords[i]; c.prog == prog {
			for k, at := range c.at {
				c.mem[k] = int32(at)
			}
		}
	}
}

// run runs the instructions [from, to) of a program: what is between two
// communications is one replay. It does not allocate.
func (d *device) run(prog, from, to int) error {
	err := d.replay(prog, from, to)
	if err != nil {
		d.mover.drain()
	}
	return err
}

func (d *device) replay(prog, from, to int) error {
	all := d.exchanges[prog]
	i, _ := slices.BinarySearchFunc(all, from, func(x exchange, at int) int { return x.at - at })
	for from < to {
		stop := to
		if i < len(all) {
			stop = min(to, all[i].at)
		}
		if from < stop {
			if err := d.engine.Replay(prog, from, stop); err != nil {
				return errorf(ReasonBug, err, "program %s failed on rank %d", d.prog.Progs[prog].Name, d.rank)
			}
		}
		if stop == to {
			return nil
		}
		if err := all[i].run(); err != nil {
			return errorf(ReasonComm, err, "program %s failed", d.prog.Progs[prog].Name)
		}
		from = stop + 1
		i++
	}
	return nil
}

// startWorkers gives each device a goroutine, where there are several.
func (m *Machine) startWorkers() {
	if len(m.devices) < 2 {
		return
	}
	for _, d := range m.devices {
		d.jobs = make(chan func(*device) error, 1)
		go func() {
			for f := range d.jobs {
				if d.err = d.guarded(f); d.err != nil && d.err != ErrNotFinite {
					d.comm.Abort(d.err) // so that none waits for this one
				}
				m.working.Done()
			}
		}()
	}
}

// guarded turns a panic of f into an error.
func (d *device) guarded(f func(*device) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errorf(ReasonBug, nil, "rank %d panicked: %v\n%s", d.rank, p, debug.Stack())
		}
	}()
	return f(d)
}

// each does f for every device of this process at the same time, and returns
// when all are done. The error is that of the device which failed first, not one
// of those that it ended.
func (m *Machine) each(f func(*device) error) error {
	switch {
	case m.closed:
		return errClosed
	case len(m.devices) == 1:
		return f(m.devices[0])
	}
	m.working.Add(len(m.devices))
	for _, d := range m.devices {
		d.jobs <- f
	}
	m.working.Wait()
	var first error
	for _, d := range m.devices {
		if d.err == nil {
			continue
		}
		if !isAborted(d.err) {
			return d.err
		}
		if first == nil {
			first = d.err
		}
	}
	return first
}
