package exec

import (
	"math"
	"slices"
	"unsafe"

	"ptc/internal/dtype"
	"ptc/runtime/program"
)

// Program is a captured program with its ports. It lives as long as its
// machine.
type Program struct {
	m      *Machine
	index  int // in Device.Progs
	name   string
	fields []Field
	feeds  [][]fed // of fields
	stats  []string
	grads  []gradient
	whole  func(*logical) error // runs all of it

	scalars []*scalar
	reports []report
	// late are the stats that a run which stops before its update may not have computed,
	// and stopped is whether the last one did.
	late    map[string]bool
	stopped bool
}

// Field is one input of a program that is data: a whole tensor.
type Field struct {
	Name  string
	DType dtype.DType // I32 or F32
	Axes  []string
	Shape []int
}

// fed is a device's box of a field, and the bytes of its port.
type fed struct {
	box
	bytes []byte
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

// Run replays the program once. On native code it does not allocate. It cannot
// be interrupted: a caller that is to stop does so between runs. After
// ErrNotFinite, which all processes have, Loss is that of the run, and a stat that was
// not computed is NaN.
func (p *Program) Run() error {
	return p.ended(p.m.each(p.whole))
}

// ended reports what a run computed, which had the error err, and gives its error.
func (p *Program) ended(err error) error {
	if err != nil && err != ErrNotFinite {
		return err
	}
	p.stopped = err != nil
	if e := p.report(); e != nil {
		return e
	}
	return err
}

// Fields lists what the program is fed, in the order of the plan.
func (p *Program) Fields() []Field { return p.fields }

// Feed gives each device its part of a whole field: its elements row-major,
// little-endian. It does not allocate.
func (p *Program) Feed(field string, whole []byte) error {
	for i := range p.fields {
		if p.fields[i].Name != field {
			continue
		}
		feeds := p.feeds[i]
		if want := feeds[0].wholeBytes(); len(whole) != want {
			return errorf(ReasonInput, nil, "the field %s has %d bytes, and program %s reads %d", field, len(whole), p.name, want)
		}
		for j := range feeds {
			feeds[j].pick(feeds[j].bytes, 0, whole)
		}
		return nil
	}
	return errorf(ReasonInput, nil, "program %s reads no field %s", p.name, field)
}

// FeedPart gives the one device of this process its part of a field: the box that
// its layout gives it. It does not allocate.
func (p *Program) FeedPart(field string, box []byte) error {
	for i := range p.fields {
		if p.fields[i].Name != field {
			continue
		}
		own := &p.feeds[i][0]
		if len(p.feeds[i]) != 1 || len(box) != len(own.bytes) {
			return errorf(ReasonInput, nil, "%d bytes are not the part of field %s that %d devices read", len(box), field, len(p.feeds[i]))
		}
		copy(own.bytes, box)
		return nil
	}
	return errorf(ReasonInput, nil, "program %s reads no field %s", p.name, field)
}

// SetStep tells the programs which step comes, from 1.
func (m *Machine) SetStep(step int64) {
	m.step.Store(step)
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

// Loss is the loss of the last run, NaN for a program without one. Devices that
// have it have the same.
func (p *Program) Loss() float64 { return p.scalar(program.RoleLoss, "").value() }

// Stats are the names of the scalars that the program reports besides the
// loss, in the order of the plan.
func (p *Program) Stats() []string { return p.stats }

// Known reports whether the last run computed the stat of that name, if there is one: one
// that stopped before its update may not have.
func (p *Program) Known(name string) bool { return !p.stopped || !p.late[name] }

// Stat is a scalar of the last run, such as grad_norm or lr. It is NaN where the run
// stopped before its update and before the scalar was computed.
func (p *Program) Stat(name string) (value float64, ok bool) {
	s := p.scalar(program.RoleStat, name)
	if s == nil {
		return 0, false
	}
	if !p.Known(name) {
		return math.NaN(), true
	}
	return s.value(), true
}

// bindPrograms resolves the ports of every program.
func (m *Machine) bindPrograms() error {
	for i := range m.devices[0].prog.Progs {
		p := &Program{m: m, index: i, name: m.devices[0].prog.Progs[i].Name}
		p.whole = func(d *logical) error { return d.runGuarded(p.index) }
		for _, d := range m.ranks {
			for j := range d.prog.Ports {
				if d.prog.Ports[j].Program == p.name {
					p.bind(d, j)
				}
			}
		}
		if err := p.bindReports(); err != nil {
			return err
		}
		m.progs = append(m.progs, p)
	}
	for _, d := range m.ranks {
		for _, list := range d.grads {
			slices.SortStableFunc(list, func(a, b gradPart) int { return a.after - b.after })
		}
	}
	return nil
}

// bind adds one device's port. Of devices of other processes, what they report
// matters here.
func (p *Program) bind(d *logical, i int) {
	port := &d.prog.Ports[i]
	var mem []byte
	if d.here() {
		mem = d.progs[p.index].Port(i)
	}
	switch {
	case port.Role == program.RoleGrad:
		p.bindGradient(d, port)
	case port.Role == program.RoleLoss || port.Role == program.RoleStat:
		p.bindScalar(d, port, mem)
	case mem == nil:
	case port.Role == program.RoleStep:
		p.m.steps = append(p.m.steps, &elements[int32](mem)[0])
	case port.Role == program.RoleSeed:
		p.m.seeds = append(p.m.seeds, &elements[int32](mem)[0])
	case port.Role == program.RoleSetting:
		p.m.settings(d, port, mem)
	case port.Role == program.RoleCoord:
		for k, at := range p.m.plan.Mesh.Coordinates(d.rank) {
			elements[int32](mem)[k] = int32(at)
		}
	case port.Role == program.RoleIndex:
		elements[int32](mem)[0] = port.Number
	case port.Role == program.RoleData:
		p.bindData(d, port, mem)
	}
}

func (p *Program) bindData(d *logical, port *program.Port, mem []byte) {
	b := &d.prog.Buffers[port.Buffer]
	i := slices.IndexFunc(p.fields, func(f Field) bool { return f.Name == port.Path })
	if i < 0 {
		i = len(p.fields)
		t := tensorOf(port.Path, b)
		p.fields = append(p.fields, Field{Name: port.Path, DType: t.DType, Axes: t.Axes, Shape: t.Shape})
		p.feeds = append(p.feeds, nil)
	}
	p.feeds[i] = append(p.feeds[i], fed{p.m.box(d, b), mem})
}

// settings gives a port what the plan's settings come to. The plan was checked: there is
// nothing that cannot be.
func (m *Machine) settings(d *logical, port *program.Port, mem []byte) {
	of := d.prog.Buffers[port.Buffer].DType
	v, err := m.plan.Setting(port, of)
	if err != nil {
		v = math.NaN() // which ends the run at its first step
	}
	switch of {
	case dtype.I32.String():
		elements[int32](mem)[0] = int32(v)
	case dtype.F64.String():
		elements[float64](mem)[0] = v
	default:
		elements[float32](mem)[0] = float32(v)
	}
}

// unbind drops every reference into the memory of the devices.
func (p *Program) unbind() {
	*p = Program{m: p.m, index: p.index, name: p.name}
}

// elements is memory as elements; ports are aligned for any.
func elements[T any](mem []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), len(mem)/int(unsafe.Sizeof(zero)))
}
