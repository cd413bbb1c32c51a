package exec

import "ptc/runtime/program"

// Machine is a captured plan: memory and code of the devices of this process.
type Machine struct {
	*crew
	values
	progs    []*Program
	counters counters
}

// Open captures a plan. It checks the plan, what the host can run and whether
// the arenas fit; every error is an *Error. Tensors have no values until Initialize
// or a Write; the plan must not be changed while the machine lives.
func Open(plan *program.Plan, o Options) (*Machine, error) {
	if err := plan.Validate(); err != nil {
		return nil, errorf(ReasonPlan, err, "ptc cannot run the plan")
	}
	plan, err := plan.Expanded()
	if err != nil {
		return nil, errorf(ReasonPlan, err, "ptc cannot run the plan")
	}
	if o.Threads < 0 {
		return nil, errorf(ReasonInput, nil, "the number of threads is %d, but must not be negative", o.Threads)
	}
	c, err := openCrew(plan, o)
	if err != nil {
		c.close()
		return nil, err
	}
	m := &Machine{crew: c, values: newValues(c)}
	for i := range c.devices[0].prog.Progs {
		p, err := newProgram(c, &m.counters, i)
		if err != nil {
			m.Close()
			return nil, err
		}
		m.progs = append(m.progs, p)
	}
	return m, nil
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

// SetStep tells the programs which step comes, from 1.
func (m *Machine) SetStep(step int64) {
	m.crew.step.Store(step)
	for _, p := range m.counters.steps {
		*p = int32(step)
	}
}

// SetSeed gives the programs the low 32 bits of the run's seed.
func (m *Machine) SetSeed(seed uint64) {
	for _, p := range m.counters.seeds {
		*p = int32(uint32(seed))
	}
}

// Close frees the memory and ends the threads. No view of a tensor or field may
// be used any more. Closing again does nothing.
func (m *Machine) Close() {
	if m.closed {
		return
	}
	m.crew.close()
	// Nothing may reach the freed memory by accident.
	m.values, m.counters = values{crew: m.crew}, counters{}
	for _, p := range m.progs {
		p.unbind()
	}
}
