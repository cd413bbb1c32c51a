package exec

import (
	"math"
	"slices"
	"time"
	"unsafe"

	"ptc/runtime/program"
)

// Program is a captured program with its ports. It lives as long as its
// machine.
type Program struct {
	m      *Machine
	index  int // in Device.Progs
	name   string
	n      int // instructions, of the device with most
	fields []Field
	data   [][]View
	parts  [][]part // of fields
	loss   *float32
	stats  []string
	values []*float32 // of stats
	grads  []gradient
}

// Field is one input of a program that is data: a whole tensor.
type Field struct {
	Name  string
	DType string // i32 or f32
	Axes  []string
	Shape []int
}

// View is the part of a field that one device reads: the box [Lo, Hi) of the
// whole, row-major, in the device's memory.
type View struct {
	Rank   int
	Lo, Hi []int
	I32    []int32 // nil for a field of f32
	F32    []float32
}

// gradient is a gradient that can be read after some instructions.
type gradient struct {
	Tensor
	parts []part
	after int
}

// Program is the program of that name ("step", "eval"), or nil.
func (m *Machine) Program(name string) *Program {
	for _, p := range m.progs {
		if p.name == name {
			return p
		}
	}
	return nil
}

// Name is "step", "eval", ….
func (p *Program) Name() string { return p.name }

// Len is the number of instructions, of the device with most.
func (p *Program) Len() int { return p.n }

// Run replays the program once. On native code it does not allocate. It cannot
// be interrupted: a caller that is to stop does so between runs.
func (p *Program) Run() error { return p.m.replay(p.index, 0, p.n) }

// Step runs the program "step".
func (m *Machine) Step() error {
	p := m.Program("step")
	if p == nil {
		return errorf(ReasonPlan, nil, "the plan has no program step: it does not train")
	}
	return p.Run()
}

// Fields lists what the program is fed, in the order of the plan.
func (p *Program) Fields() []Field { return p.fields }

// Data is the memory of a field on each device that reads it, to be filled
// before a run; nil for an unknown field. Programs may share it: fill it before
// each run.
func (p *Program) Data(field string) []View {
	for i := range p.fields {
		if p.fields[i].Name == field {
			return p.data[i]
		}
	}
	return nil
}

// Feed gives each device its part of a whole field: its elements row-major,
// little-endian. It does not allocate.
func (p *Program) Feed(field string, whole []byte) error {
	for i := range p.fields {
		if p.fields[i].Name != field {
			continue
		}
		parts := p.parts[i]
		if want := parts[0].wholeBytes(); len(whole) != want {
			return errorf(ReasonInput, nil, "the field %s has %d bytes, and program %s reads %d", field, len(whole), p.name, want)
		}
		for j := range parts {
			parts[j].scatter(whole)
		}
		return nil
	}
	return errorf(ReasonInput, nil, "program %s reads no field %s", p.name, field)
}

// SetStep tells the programs which step comes, from 1.
func (m *Machine) SetStep(step int64) {
	for _, p := range m.steps {
		*p = int32(step)
	}
}

// SetSeed gives the programs the low 32 bits of the run's seed.
func (m *Machine) SetSeed(seed uint64) {
	for _, p := range m.seeds {
		*p = int32(uint32(seed))
	}
}

// Loss is the loss of the last run, NaN for a program without one.
func (p *Program) Loss() float64 {
	if p.loss == nil {
		return math.NaN()
	}
	return float64(*p.loss)
}

// Stats are the names of the scalars that the program reports besides the
// loss, in the order of the plan.
func (p *Program) Stats() []string { return p.stats }

// Stat is a scalar of the last run, such as grad_norm or lr.
func (p *Program) Stat(name string) (value float64, ok bool) {
	for i, s := range p.stats {
		if s == name {
			return float64(*p.values[i]), true
		}
	}
	return 0, false
}

// Gradients lists the gradients that RunWithGradients reads, in the order in
// which they are computed.
func (p *Program) Gradients() []Tensor {
	out := make([]Tensor, len(p.grads))
	for i, g := range p.grads {
		out[i] = g.Tensor
	}
	return out
}

// RunWithGradients is Run, and gives each parameter's gradient when it is
// computed: whole, row-major, little-endian, in g's dtype. The bytes are valid
// until read returns. An error of read ends the run, whose results are then
// incomplete.
func (p *Program) RunWithGradients(read func(g Tensor, whole []byte) error) error {
	at := 0
	var buf []byte
	for i := range p.grads {
		g := &p.grads[i]
		if err := p.m.replay(p.index, at, g.after); err != nil {
			return err
		}
		at = g.after
		n := g.parts[0].wholeBytes()
		buf = slices.Grow(buf[:0], n)[:n]
		for j := range g.parts {
			g.parts[j].gather(buf)
		}
		if err := read(g.Tensor, buf); err != nil {
			return err
		}
	}
	return p.m.replay(p.index, at, p.n)
}

// Span is the time that one instruction took on one device.
type Span struct {
	Rank       int
	Instr      int
	Kernel     string
	Class      string
	Scope      string
	Start, End time.Time
}

// Trace is Run instruction by instruction, each reported when it is done. The
// results are those of Run; the times include entering native code for each
// instruction, and nothing runs beside it.
func (p *Program) Trace(report func(Span)) error {
	if p.m.closed {
		return errClosed
	}
	for i := range p.n {
		for _, d := range p.m.devices {
			prog := &d.prog.Progs[p.index]
			if i >= len(prog.Instrs) || d.engine == nil {
				continue
			}
			in := &prog.Instrs[i]
			k := &p.m.plan.Kernels[in.Kernel]
			s := Span{Rank: d.rank, Instr: i, Kernel: k.Name, Class: k.Class, Scope: in.Scope, Start: time.Now()}
			if err := d.engine.Replay(p.index, i, i+1); err != nil {
				return errorf(ReasonBug, err, "program %s failed", p.name)
			}
			s.End = time.Now()
			report(s)
		}
	}
	return nil
}

// bindPrograms resolves the ports of every program.
func (m *Machine) bindPrograms() {
	first := m.devices[0].prog
	for i := range first.Progs {
		p := &Program{m: m, index: i, name: first.Progs[i].Name}
		for _, d := range m.devices {
			p.n = max(p.n, len(d.prog.Progs[i].Instrs))
			for j := range d.prog.Ports {
				if port := &d.prog.Ports[j]; port.Program == p.name {
					p.bind(d, port)
				}
			}
		}
		slices.SortStableFunc(p.grads, func(a, b gradient) int { return a.after - b.after })
		m.progs = append(m.progs, p)
	}
}

// bind adds one device's port.
func (p *Program) bind(d *device, port *program.Port) {
	mem := d.buffer(port.Buffer)
	b := &d.prog.Buffers[port.Buffer]
	switch port.Role {
	case program.RoleStep:
		p.m.steps = append(p.m.steps, &elements[int32](mem)[0])
	case program.RoleSeed:
		p.m.seeds = append(p.m.seeds, &elements[int32](mem)[0])
	case program.RoleLoss:
		if p.loss == nil {
			p.loss = &elements[float32](mem)[0]
		}
	case program.RoleStat:
		if !slices.Contains(p.stats, port.Path) {
			p.stats = append(p.stats, port.Path)
			p.values = append(p.values, &elements[float32](mem)[0])
		}
	case program.RoleData:
		p.bindData(d, port, b, mem)
	case program.RoleGrad:
		i := slices.IndexFunc(p.grads, func(g gradient) bool { return g.Path == port.Path })
		if i < 0 {
			i = len(p.grads)
			p.grads = append(p.grads, gradient{Tensor: tensorOf(port.Path, b), after: port.After})
		}
		p.grads[i].parts = append(p.grads[i].parts, p.m.part(d, b, mem))
	}
}

func (p *Program) bindData(d *device, port *program.Port, b *program.Buffer, mem []byte) {
	i := slices.IndexFunc(p.fields, func(f Field) bool { return f.Name == port.Path })
	if i < 0 {
		i = len(p.fields)
		t := tensorOf(port.Path, b)
		p.fields = append(p.fields, Field{Name: port.Path, DType: b.DType, Axes: t.Axes, Shape: t.Shape})
		p.data, p.parts = append(p.data, nil), append(p.parts, nil)
	}
	part := p.m.part(d, b, mem)
	v := View{Rank: d.rank, Lo: part.lo, Hi: part.hi}
	if b.DType == "i32" {
		v.I32 = elements[int32](mem)
	} else {
		v.F32 = elements[float32](mem)
	}
	p.data[i] = append(p.data[i], v)
	p.parts[i] = append(p.parts[i], part)
}

// unbind drops every reference into the arenas.
func (p *Program) unbind() {
	*p = Program{m: p.m, index: p.index, name: p.name, n: p.n}
}

// elements is memory as elements; arenas and buffers are aligned for any.
func elements[T any](mem []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/int(unsafe.Sizeof(zero)))
}
