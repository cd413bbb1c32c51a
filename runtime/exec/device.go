package exec

import (
	"errors"
	"sync/atomic"

	"ptc/internal/dtype"
	"ptc/runtime/comm"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// logical is one logical device of the plan. One of another process
// has no engine.
type logical struct {
	rank      int
	prog      *program.Device
	comm      comm.Device   // nil: of another process
	at        *atomic.Int64 // the machine's step
	exchanges *exchanger
	engine    device.Engine
	progs     []device.Program // by program
	scratch   []byte           // of the host, for what is read and written
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
		return errorf(ReasonMemory, err, "ptc cannot read or write the memory of rank %d", d.rank)
	}
	return nil
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

// message sends or receives bytes.
func (d *logical) message(op comm.Op) error {
	op.DType, op.Label = dtype.Bool, "to be saved"
	call, err := d.comm.Prepare(op)
	if err != nil {
		return err
	}
	return call.Run()
}
