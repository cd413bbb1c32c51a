package program

import (
	"fmt"

	"ptc/internal/collective"
	"ptc/internal/rolled"
)

// maxIssued is how many instructions, buffers, tensors or ports a device may have
// with those of every instance and every microbatch: to run them, each is written out.
const maxIssued = maxCount

// Expanded is p with every tick and every run written out, and with a buffer, a tensor
// and a port for every instance: what runs a plan works on that. It is p itself where
// nothing is repeated. p must be valid; the error is an *InvalidError about its size.
func (p *Plan) Expanded() (*Plan, error) {
	repeats := false
	for i := range p.Devices {
		if err := p.Devices[i].expandable(); err != nil {
			return nil, invalid("device %d: %w", i, err)
		}
		repeats = repeats || p.Devices[i].repeats()
	}
	if !repeats {
		return p, nil
	}
	out := *p
	out.Devices = make([]Device, len(p.Devices))
	for i := range p.Devices {
		out.Devices[i] = p.Devices[i].expanded()
	}
	return &out, nil
}

// repeats says whether anything of a device is issued more than once.
func (d *Device) repeats() bool {
	for i := range d.Progs {
		if len(d.Progs[i].Tasks) > 0 {
			return true
		}
	}
	return len(d.Stacks) > 0
}

// expandable says whether all that there is of every instance and microbatch can be
// written out.
func (d *Device) expandable() error {
	total := func(what string, n int, count func(i int) int) error {
		sum := int64(0)
		for i := range n {
			sum += int64(count(i))
		}
		return within(CountLimit, "%d "+what+" of all instances", sum, maxIssued)
	}
	places := func(i int) int {
		instances, micros := d.Buffers[i].Places()
		return instances * micros
	}
	if err := total("buffers", len(d.Buffers), places); err != nil {
		return err
	}
	if err := total("tensors", len(d.Tensors), func(i int) int { return d.family(d.Tensors[i].Buffer) }); err != nil {
		return err
	}
	if err := total("ports", len(d.Ports), func(i int) int { return d.family(d.Ports[i].Buffer) }); err != nil {
		return err
	}
	for i := range d.Progs {
		p := &d.Progs[i]
		if err := within(CountLimit, "%d instructions of all instances", int64(d.Order(p).Issued()), maxIssued); err != nil {
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
	}
	return nil
}

// family is how many tensors or ports there are in a buffer.
func (d *Device) family(buffer int) int {
	b := &d.Buffers[buffer]
	return d.Count(b.Stack) * max(b.MicroRing, 1)
}

// expansion writes a device out.
type expansion struct {
	from  *Device
	first []int // of the buffers there, the one of instance 0 and microbatch 0 here
}

func (d *Device) expanded() Device {
	if !d.repeats() {
		return *d
	}
	x := &expansion{from: d}
	out := *d
	out.Stacks = nil
	out.Buffers = x.buffers()
	out.Progs = make([]Program, len(d.Progs))
	at := map[string]*issued{}
	for i := range d.Progs {
		out.Progs[i], at[d.Progs[i].Name] = x.program(&d.Progs[i])
	}
	out.Tensors = nil
	for i := range d.Tensors {
		t := &d.Tensors[i]
		x.each(t.Buffer, func(k, buffer int) {
			out.Tensors = append(out.Tensors, Tensor{Path: of(t.Path, k), Buffer: buffer, Init: t.Init, Train: t.Train, Of: of(t.Of, k)})
		})
	}
	out.Ports = nil
	for i := range d.Ports {
		port := &d.Ports[i]
		x.each(port.Buffer, func(k, buffer int) {
			one := *port
			one.Path, one.Buffer = of(port.Path, k), buffer
			if port.After > 0 {
				one.After = 1 + at[port.Program].last(port.After-1, k)
			}
			if k != once && port.Role == RoleIndex {
				one.Number += int32(k)
			}
			out.Ports = append(out.Ports, one)
		})
	}
	return out
}

func (x *expansion) buffers() (out []Buffer) {
	for i := range x.from.Buffers {
		x.first = append(x.first, len(out))
		b := x.from.Buffers[i]
		one := b
		one.Stack, one.Step, one.Ring, one.MicroStep, one.MicroRing = 0, 0, 0, 0, 0
		instances, micros := b.Places()
		for m := range micros {
			for k := range instances {
				one.Offset = b.Place(k, m)
				out = append(out, one)
			}
		}
	}
	return out
}

// buffer is the number of a buffer of instance k for microbatch m.
func (x *expansion) buffer(i, k, m int) int {
	b, n := &x.from.Buffers[i], x.first[i]
	instances, micros := b.Places()
	if micros > 1 {
		n += m % micros * instances
	}
	if instances > 1 {
		n += k % instances
	}
	return n
}

// each calls do for every instance, or every microbatch, of what a buffer is of.
func (x *expansion) each(buffer int, do func(k, buffer int)) {
	b := &x.from.Buffers[buffer]
	switch {
	case b.Stack > 0:
		for k := range x.from.Count(b.Stack) {
			do(k, x.buffer(buffer, k, once))
		}
	case b.MicroRing > 0:
		for m := range b.MicroRing {
			do(m, x.buffer(buffer, once, m))
		}
	default:
		do(once, x.buffer(buffer, once, once))
	}
}

// issued says where the instructions of a program are that is written out: each in its
// latest tick, and those that are posted for each microbatch.
type issued struct {
	order  *Order
	first  []int // of each instruction, the place of its instance 0 in at
	at     []int
	posted map[[2]int]int // by instruction and microbatch
}

func newIssued(o *Order) *issued {
	s, n := &issued{order: o, first: make([]int, o.Ops), posted: map[[2]int]int{}}, 0
	for i := range s.first {
		s.first[i], n = n, n+o.Instances(i)
	}
	s.at = make([]int, n)
	return s
}

// add notes where an instruction is.
func (s *issued) add(x rolled.Issue, at int) {
	if s.order.Posted(x.Op) {
		s.posted[[2]int{x.Op, x.Micro}] = at
	}
	s.at[s.first[x.Op]+max(x.Instance, 0)] = at
}

// of is where an instruction is, which has been issued.
func (s *issued) of(x rolled.Issue) int {
	if s.order.Posted(x.Op) {
		return s.posted[[2]int{x.Op, x.Micro}]
	}
	return s.at[s.first[x.Op]+max(x.Instance, 0)]
}

// last is where instruction i is issued for the last time, for instance k, or for the
// one that comes last where it is of more than one and what is asked for is not.
func (s *issued) last(i, k int) int {
	if r := s.order.RunOf(i); r < 0 {
		k = 0
	} else if k == once {
		_, k = s.order.Runs[r].Ends()
	}
	return s.at[s.first[i]+k]
}

// program writes a program out, and says where each instruction comes.
func (x *expansion) program(p *Program) (out Program, at *issued) {
	out.Name, at = p.Name, newIssued(x.from.Order(p))
	for i := range at.order.Issues() {
		one := x.instr(&p.Instrs[i.Op], i, at)
		if at.order.with(i.Op, i.Instance) {
			one.NoWait, one.With = true, true
		}
		at.add(i, len(out.Instrs))
		out.Instrs = append(out.Instrs, one)
	}
	return out, at
}

// instr is an instruction as it is issued. What a done is of is where at says.
func (x *expansion) instr(in *Instr, i rolled.Issue, at *issued) Instr {
	out := *in.In(i.First)
	out.Ahead, out.Scope = 0, of(in.Scope, i.Instance)
	bufs := out.Bufs
	out.Bufs = nil
	for _, b := range bufs {
		out.Bufs = append(out.Bufs, x.buffer(b, i.Instance, i.Micro))
	}
	if in.Comm == nil {
		return out
	}
	c := *in.Comm
	if out.Comm = &c; c.Kind == collective.Done {
		i.Op = c.Of
		c.Of = at.of(i)
	}
	if c.Each != 0 {
		c.Tag, c.Each = c.Tag+c.Each*i.Micro, 0
	}
	return out
}
