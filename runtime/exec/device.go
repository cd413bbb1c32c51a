package exec

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// logical is the state of one logical device of the plan. One of another process
// has no engine.
type logical struct {
	rank   int
	prog   *program.Device
	comm   comm.Device
	at     *atomic.Int64 // the machine's step
	engine device.Engine
	progs  []device.Program // by program

	grads  [][]gradPart // by program, by when they are computed
	guards []guard      // by program

	blocked  time.Duration // in communication, by the host's clock
	enqueues bool          // it communicates by itself, and the host does not see when

	scratch []byte                    // of the host, for what is read and written
	jobs    chan func(*logical) error // of the device's goroutine, where it has one
	err     error                     // of the last job
}

// here says whether the device is of this process.
func (d *logical) here() bool { return d.engine != nil }

// buffer is where a buffer's elements lie; nowhere on a device of another process.
func (d *logical) buffer(i int) device.Range {
	b := &d.prog.Buffers[i]
	r := device.Range{Offset: b.Offset, Bytes: b.Size()}
	if d.here() {
		r.Memory = d.engine.Memory(b.Memory)
	}
	return r
}

// room is n bytes of the host that the device has for the moment.
func (d *logical) room(n int64) []byte {
	if int64(len(d.scratch)) < n {
		d.scratch = device.Aligned(n)
	}
	return d.scratch[:n]
}

// read copies a range of the device's memory to the host. The bytes are valid until
// the next call.
func (d *logical) read(r device.Range) ([]byte, error) {
	mem := d.room(r.Bytes)
	return mem, d.copied(r.Memory.CopyOut(mem, r.Offset))
}

// copied is the error of a copy from or to the device.
func (d *logical) copied(err error) error {
	if err != nil {
		return errorf(ReasonMemory, err, "the memory of rank %d cannot be read or written", d.rank)
	}
	return nil
}

// capture makes the device's engine and its programs. Devices of a process share
// its threads.
func (m *Machine) capture(d *logical, o *Options) error {
	r := device.Request{
		Plan: m.plan, Device: d.prog, Rank: d.rank, Dir: o.OffloadDir, Cache: o.Cache, Blas: o.Blas,
		Threads:   max(1, m.threads/len(m.devices)),
		Exchanges: &exchanger{m: m, d: d, groups: map[string]*comm.Group{}},
	}
	if o.Warn != nil {
		r.Warn = func(text string) {
			if !m.warned[text] {
				m.warned[text] = true
				o.Warn(text)
			}
		}
	}
	if m.onFault != nil {
		r.Fault = func(prog int, what string) {
			m.onFault(errorf(ReasonBug, nil, "the code of the plan faulted in program %s, step %d, on rank %d: %s",
				d.prog.Progs[prog].Name, m.step.Load(), d.rank, what))
		}
	}
	kind, err := device.Find(m.plan.CodeKind(d.prog))
	if err != nil {
		return errorf(ReasonHost, err, "the plan's code cannot be run")
	}
	engine, err := kind.Open(r)
	if err != nil {
		return cannot(fmt.Errorf("the plan's code cannot be loaded: %w", err))
	}
	d.engine = engine
	for i := range d.prog.Progs {
		p, err := engine.Capture(i)
		if err != nil {
			return errorf(ReasonBug, err, "rank %d cannot run its programs", d.rank)
		}
		d.progs = append(d.progs, p)
	}
	return nil
}

// On is what a device runs on.
type On struct {
	Rank int
	device.On
}

// On is what the devices of this process run on, by rank, as far as their engines say it.
func (m *Machine) On() (out []On) {
	for _, d := range m.devices {
		if x, ok := d.engine.(device.Described); ok {
			out = append(out, On{d.rank, x.On()})
		}
	}
	return out
}

// close frees what the device holds; it does nothing.
func (d *logical) close() {
	if d.jobs != nil {
		close(d.jobs)
	}
	if d.here() {
		d.engine.Close()
	}
}

// run runs all of a program. It does not allocate.
func (d *logical) run(prog int) error {
	p := d.progs[prog]
	p.Launch()
	return d.failed(prog, p.Wait())
}

// step runs the instructions [from, to) of a program and returns when they are
// done. It does not allocate.
func (d *logical) step(prog, from, to int) error {
	return d.failed(prog, d.progs[prog].Step(from, to))
}

// failed is the error of a run.
func (d *logical) failed(prog int, err error) error {
	if err == nil {
		return nil
	}
	var k *device.KernelError
	if errors.As(err, &k) {
		return errorf(ReasonBug, k.Err, "program %s failed in step %d on rank %d", d.prog.Progs[prog].Name, d.at.Load(), d.rank)
	}
	return errorf(ReasonComm, err, "program %s failed", d.prog.Progs[prog].Name)
}

// startWorkers gives each device a goroutine, where there are several.
func (m *Machine) startWorkers() {
	if len(m.devices) < 2 {
		return
	}
	for _, d := range m.devices {
		d.jobs = make(chan func(*logical) error, 1)
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
func (d *logical) guarded(f func(*logical) error) (err error) {
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
func (m *Machine) each(f func(*logical) error) error {
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
