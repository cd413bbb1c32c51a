package program

import "fmt"

// maxIssued is how many instructions, buffers, tensors or ports a device may have
// with those of every instance: to run them, each is written out.
const maxIssued = maxCount

// Expanded is p with every run written out, and with a buffer, a tensor and a port
// for every instance: what runs a plan works on that. It is p itself where nothing
// is repeated. p must be valid; the error is an *InvalidError about its size.
func (p *Plan) Expanded() (*Plan, error) {
	repeats := false
	for i := range p.Devices {
		if err := p.Devices[i].expandable(); err != nil {
			return nil, invalid("device %d: %w", i, err)
		}
		repeats = repeats || len(p.Devices[i].Stacks) > 0
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

// expandable says whether all that there is of every instance can be written out.
func (d *Device) expandable() error {
	total := func(what string, n int, count func(i int) int) error {
		sum := int64(0)
		for i := range n {
			sum += int64(count(i))
		}
		return within(CountLimit, "%d "+what+" of all instances", sum, maxIssued)
	}
	if err := total("buffers", len(d.Buffers), func(i int) int { return d.Buffers[i].Places() }); err != nil {
		return err
	}
	if err := total("tensors", len(d.Tensors), func(i int) int { return d.Count(d.Buffers[d.Tensors[i].Buffer].Stack) }); err != nil {
		return err
	}
	if err := total("ports", len(d.Ports), func(i int) int { return d.Count(d.Buffers[d.Ports[i].Buffer].Stack) }); err != nil {
		return err
	}
	for i := range d.Progs {
		p := &d.Progs[i]
		if err := total("instructions", len(p.Instrs), func(i int) int { return d.Times(p, i) }); err != nil {
			return fmt.Errorf("program %s: %w", p.Name, err)
		}
	}
	return nil
}

// issue is an instruction for an instance: [once] of what is there once.
//
// What is repeated a second time, as a piece of a program is for microbatches, has
// a number of its own here.
type issue struct{ instr, instance int }

// expansion writes a device out.
type expansion struct {
	from  *Device
	first []int // of the buffers there, the one of instance 0 here
}

func (d *Device) expanded() Device {
	if len(d.Stacks) == 0 {
		return *d
	}
	x := &expansion{from: d}
	out := *d
	out.Stacks = nil
	out.Buffers = x.buffers()
	out.Progs = make([]Program, len(d.Progs))
	at := map[string]map[issue]int{} // by program, where each instruction comes
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
				one.After = 1 + at[port.Program][x.last(port, k)]
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
		one.Stack, one.Step, one.Ring = 0, 0, 0
		for k := range b.Places() {
			one.Offset = b.Place(k)
			out = append(out, one)
		}
	}
	return out
}

// buffer is the number of a buffer of instance k.
func (x *expansion) buffer(i, k int) int {
	if ring := x.from.Buffers[i].Ring; ring > 0 {
		return x.first[i] + k%ring
	}
	return x.first[i]
}

// each calls do for every instance of what a buffer is of.
func (x *expansion) each(buffer int, do func(k, buffer int)) {
	b := &x.from.Buffers[buffer]
	if b.Stack == 0 {
		do(once, x.buffer(buffer, once))
		return
	}
	for k := range x.from.Count(b.Stack) {
		do(k, x.buffer(buffer, k))
	}
}

// last is the instruction after which a gradient of instance k is read.
func (x *expansion) last(port *Port, k int) issue {
	for i := range x.from.Progs {
		p := &x.from.Progs[i]
		if p.Name != port.Program {
			continue
		}
		r := p.RunOf(port.After - 1)
		if r == nil {
			k = once
		} else if count := x.from.Count(r.Stack); k == once {
			k = r.number(count-1, count)
		}
	}
	return issue{port.After - 1, k}
}

// program writes a program out, and says where each instruction comes.
func (x *expansion) program(p *Program) (out Program, at map[issue]int) {
	out.Name, at = p.Name, map[issue]int{}
	write := func(i, k int) error {
		at[issue{i, k}] = len(out.Instrs)
		out.Instrs = append(out.Instrs, x.instr(p, i, k, at))
		return nil
	}
	// The error is write's, which has none.
	_ = x.from.walk(p, write, func(r *Run) error { return x.from.all(p, r, write) })
	return out, at
}

// instr is instruction i for instance k.
func (x *expansion) instr(p *Program, i, k int, at map[issue]int) Instr {
	in := p.Instrs[i]
	in.Ahead, in.Scope = 0, of(in.Scope, k)
	if in.Comm == nil {
		in.Bufs = x.all(in.Bufs, k, nil)
		return in
	}
	c := *in.Comm
	if c.Kind == Done {
		c.Of = at[issue{c.Of, k}]
	}
	sources, destinations := in.Ends()
	var views []View
	if own := c.Views(); len(own) == len(sources) {
		in.Bufs = x.all(sources, k, func(i int) { views = append(views, own[i]) })
		c.Outer, c.Inner, c.Rest = views[0].Outer, views[0].Inner, views[1:]
	} else {
		in.Bufs = x.all(sources, k, nil)
	}
	if len(c.Rest) == 0 {
		c.Rest = nil
	}
	in.Bufs, in.Comm = append(in.Bufs, x.all(destinations, k, nil)...), &c
	return in
}

// all are the buffers that an instruction takes for an instance, each of which also is
// told by its place in the list.
func (x *expansion) all(list []int, k int, also func(i int)) (out []int) {
	x.from.each(list, k, func(i, k int) {
		out = append(out, x.buffer(list[i], k))
		if also != nil {
			also(i)
		}
	})
	return out
}
