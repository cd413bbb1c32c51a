package exec

import (
	"slices"

	"ptc/runtime/program"
)

// Program is a captured program with its ports. It lives as long as its
// machine.
type Program struct {
	crew  *crew
	index int // in Device.Progs
	name  string
	inputs
	results
	grads  []gradient
	due    [][]gradPart         // by rank: its parts of gradients, by when they are computed
	guards []guard              // by rank
	whole  func(*logical) error // runs all of it
}

// gradient is one that a program computes, and the devices' parts of it.
type gradient struct {
	Tensor
	parts []part
}

// gradPart is a device's part of a gradient, which it has after some
// instructions.
type gradPart struct {
	after int
	grad  int // in Program.grads
	part  int // in gradient.parts
}

// newProgram resolves the ports of a program.
func newProgram(c *crew, n *counters, index int) (*Program, error) {
	p := &Program{crew: c, index: index, name: c.devices[0].prog.Progs[index].Name,
		due: make([][]gradPart, len(c.ranks)), guards: make([]guard, len(c.ranks))}
	p.inputs.program = p.name
	p.whole = func(d *logical) error { return d.runGuarded(index, &p.guards[d.rank]) }
	for _, d := range c.ranks {
		for i := range d.prog.Ports {
			if d.prog.Ports[i].Program == p.name {
				p.bind(n, d, i)
			}
		}
	}
	for _, list := range p.due {
		slices.SortStableFunc(list, func(a, b gradPart) int { return a.after - b.after })
	}
	return p, p.bindReports(c, p.name)
}

// bind adds one device's port. Of devices of other processes, what they report
// matters here.
func (p *Program) bind(n *counters, d *logical, i int) {
	port := &d.prog.Ports[i]
	var mem []byte
	if d.here() {
		mem = d.progs[p.index].Port(i)
	}
	switch {
	case port.Role == program.RoleGrad:
		p.bindGradient(d, port)
	case port.Role == program.RoleLoss || port.Role == program.RoleStat:
		p.results.bind(d, port, mem)
	case mem == nil:
	case port.Role == program.RoleStep:
		n.steps = append(n.steps, &elements[int32](mem)[0])
	case port.Role == program.RoleSeed:
		n.seeds = append(n.seeds, &elements[int32](mem)[0])
	case port.Role == program.RoleSetting:
		setPort(p.crew.plan, d, port, mem)
	case port.Role == program.RoleCoord:
		for k, at := range p.crew.plan.Mesh.Coordinates(d.rank) {
			elements[int32](mem)[k] = int32(at)
		}
	case port.Role == program.RoleIndex:
		elements[int32](mem)[0] = port.Number
	case port.Role == program.RoleData:
		p.inputs.bind(p.crew.plan, d, port, mem)
	}
}

// bindGradient adds a device's part, also of a device of another process: the
// root is sent it.
func (p *Program) bindGradient(d *logical, port *program.Port) {
	i := 0
	for i < len(p.grads) && p.grads[i].Path != port.Path {
		i++
	}
	if i == len(p.grads) {
		p.grads = append(p.grads, gradient{Tensor: tensorOf(port.Path, &d.prog.Buffers[port.Buffer])})
	}
	g := &p.grads[i]
	g.parts = add(g.parts, partOf(p.crew.plan, d, port.Buffer))
	if n := len(g.parts) - 1; g.parts[n].own {
		p.due[d.rank] = append(p.due[d.rank], gradPart{port.After, i, n})
	}
}

// unbind drops every reference into the memory of the devices.
func (p *Program) unbind() {
	*p = Program{crew: p.crew, index: p.index, name: p.name, inputs: inputs{program: p.name}}
}

// Name is "step", "eval", ….
func (p *Program) Name() string { return p.name }

// Run replays the program once. On native code it does not allocate. It cannot
// be interrupted: a caller that is to stop does so between runs. After
// ErrNotFinite, which all processes have, Loss is that of the run, and a stat that was
// not computed is NaN.
func (p *Program) Run() error {
	return p.ended(p.crew.each(p.whole))
}

// ended reports what a run computed, which had the error err, and gives its error.
func (p *Program) ended(err error) error {
	if err != nil && err != ErrNotFinite {
		return err
	}
	p.stopped = err != nil
	if e := p.report(p.crew.devices[0].rank, p.name); e != nil {
		return e
	}
	return err
}
