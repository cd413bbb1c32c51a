package program

import (
	"fmt"
	"unicode/utf8"
)

// programCheck checks the programs of a device.
type programCheck struct {
	kernels []Kernel
	code    []Code
	comms   commCheck
	device  *Device
	kind    string // of all the device's code, once it is known
}

func newProgramCheck(p *Plan, d *Device) *programCheck {
	return &programCheck{kernels: p.Kernels, code: p.Code, comms: commCheck{p, d}, device: d}
}

// program checks the instructions, and gives the order in which they are issued.
func (c *programCheck) program(prog *Program) (*Order, error) {
	if err := prog.validateTasks(); err != nil {
		return nil, err
	}
	if err := c.device.validateRuns(prog); err != nil {
		return nil, err
	}
	o := c.device.Order(prog)
	if err := o.validateAheads(); err != nil {
		return nil, err
	}
	if err := o.validateHeads(); err != nil {
		return nil, err
	}
	for i := range prog.Instrs {
		in := &prog.Instrs[i]
		if err := c.instr(o, in, o.where(i)); err != nil {
			return nil, fmt.Errorf("instruction %d: %w", i, err)
		}
		if in.With && !o.joins(i) {
			return nil, fmt.Errorf("instruction %d is launched with the one before it, which is not a call of the same kernel for which it does not wait, outside of runs", i)
		}
	}
	return o, (&hazards{kernels: c.kernels, device: c.device, order: o}).all()
}

// instr checks one instruction, for whichever instance and microbatch.
func (c *programCheck) instr(o *Order, in *Instr, at where) error {
	d := c.device
	if err := in.names(); err != nil {
		return err
	}
	for _, n := range in.Bufs {
		if n < 0 || n >= len(d.Buffers) {
			return fmt.Errorf("it uses buffer %d of %d", n, len(d.Buffers))
		}
		if s := d.Buffers[n].Stack; s != 0 && s != at.stack {
			return fmt.Errorf("it uses buffer %d of every instance of another stack", n)
		}
		if at.micros == 0 && d.Buffers[n].MicroRing > 0 {
			return fmt.Errorf("it uses buffer %d, which every microbatch has", n)
		}
	}
	if err := in.validateFirst(at); err != nil {
		return err
	}
	if in.Comm != nil {
		for _, n := range in.Bufs {
			if d.Buffers[n].Pad != 0 {
				return fmt.Errorf("%s of buffer %d, whose rows have padding", in.Comm.Kind, n)
			}
		}
		if err := c.comms.check(in, at); err != nil {
			return err
		}
		return o.validateOf(in, at.stack)
	}
	if in.First != nil {
		if err := c.call(in.In(true)); err != nil {
			return fmt.Errorf("in the first tick, %w", err)
		}
	}
	return c.call(in)
}

// call checks the call of a kernel.
func (c *programCheck) call(in *Instr) error {
	if in.Kernel < 0 || in.Kernel >= len(c.kernels) {
		return fmt.Errorf("it calls kernel %d of %d", in.Kernel, len(c.kernels))
	}
	k := &c.kernels[in.Kernel]
	if got := c.code[k.Code].Kind; c.kind == "" {
		c.kind = got
	} else if got != c.kind {
		return fmt.Errorf("it calls code of kind %s beside %s", got, c.kind)
	}
	if len(in.Bufs) != len(k.Args) {
		return fmt.Errorf("it gives kernel %s %d buffers of %d", k.Name, len(in.Bufs), len(k.Args))
	}
	for j, n := range in.Bufs {
		b, a := &c.device.Buffers[n], k.Args[j]
		if a.Bytes > b.Bytes {
			return fmt.Errorf("it gives kernel %s a buffer of %d bytes, of which it uses %d", k.Name, b.Bytes, a.Bytes)
		}
		if b.Memory != "" {
			return fmt.Errorf("it gives kernel %s a buffer in %s memory", k.Name, b.Memory)
		}
	}
	return nil
}

// validateFirst checks which buffers the call in the first tick leaves out.
func (in *Instr) validateFirst(at where) error {
	f := in.First
	if f == nil {
		return nil
	}
	if at.micros == 0 || in.Comm != nil {
		return fmt.Errorf("it has a kernel for the first tick, and calls none or is issued once")
	}
	last := -1
	for _, j := range f.Without {
		if j <= last || j >= len(in.Bufs) {
			return fmt.Errorf("in the first tick it is without the buffers %v of %d", f.Without, len(in.Bufs))
		}
		last = j
	}
	return nil
}

// names checks that the instruction's scope and position can be shown.
func (in *Instr) names() error {
	if !utf8.ValidString(in.Scope) || !utf8.ValidString(in.Pos) {
		return fmt.Errorf("a scope or position that is not UTF-8")
	}
	if err := within(NameLimit, "a scope's name of %d bytes", int64(len(in.Scope)), maxName); err != nil {
		return err
	}
	return within(NameLimit, "a position of %d bytes", int64(len(in.Pos)), maxName)
}
