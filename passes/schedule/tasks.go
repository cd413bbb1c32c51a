package schedule

import (
	"ptc/ir"
	"ptc/ir/op"
)

// inTasks gives the functions of devices that have the whole model tasks, where they
// have microbatches: one for what a microbatch does, forward and backward, between one
// before and one after all of them.
//
//	before  step:0  step:1  …  after
//
// Both phases of a microbatch are one task, as without microbatches, so that what is
// fused, overlapped and placed in memory does not depend on how many there are.
func inTasks(m *ir.Module) {
	for i, f := range m.Funcs {
		if f.Micro == 0 {
			continue
		}
		s := &split{m: m, f: f, devices: 1}
		w := s.together()
		p := newProgram(s, 0, w, &traffic{home: map[*ir.Value]int{}})
		p.f.Name, p.f.Of, p.f.Stage = f.Name, "", 0
		p.results = f.Results
		for _, a := range f.Args { // which stay, though nothing may read them
			if a.Role == ir.RoleParam || a.Role == ir.RoleState {
				p.traffic.home[a.Value] = 0
			}
		}
		p.build(w)
		m.Funcs[i] = p.f
	}
}

// together is the work of a device that does all stages.
func (s *split) together() *work {
	begin, each, end := &ir.Task{Name: "before", Once: true}, &ir.Task{Name: s.f.Name}, &ir.Task{Name: "after", Once: true}
	pieces := []piece{{task: begin}, {task: each}, {task: end}}
	for _, o := range s.f.Ops {
		at := 0
		switch _, somewhere := o.Stage.Get(); {
		case !somewhere && op.Of(o).Class != op.Boundary: // whoever reads it has it made
			continue
		case o.Phase == ir.Update:
			at = 2
		case o.Micro:
			at = 1
		}
		pieces[at].ops = append(pieces[at].ops, o)
	}
	w := &work{pieces: pieces, ticks: []ir.Tick{{Task: begin}}}
	for i := range s.f.Micro {
		w.ticks = append(w.ticks, ir.Tick{Task: each, Micro: i})
	}
	w.ticks = append(w.ticks, ir.Tick{Task: end})
	return w
}
