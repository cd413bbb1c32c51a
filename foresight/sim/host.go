package sim

import (
	"slices"

	"ptc/foresight/machine"
	"ptc/runtime/program"
)

// segment is work of the compute stream between two events.
type segment struct {
	slow   int64
	total  machine.PS
	parts  []part
	device machine.PS // what it has done in the turn
	host   machine.PS // and the host, which launches kernels ahead of the device, but not ahead of the turn
}

// issued is the host's work for what the device does next, which does not begin before that is done.
func (s *segment) issued(t machine.PS) {
	if t == 0 {
		return
	}
	s.host += t
	if s.host > s.device {
		s.add(causeHost, s.host-s.device, false)
	}
}

// waited has the host wait for what took t.
func (s *segment) waited(t machine.PS, waits bool) {
	if waits {
		s.host += t
	}
}

func (s *segment) add(cause int32, t machine.PS, kernel bool) {
	if kernel && s.slow != full {
		t = machine.PS(scaled(int64(t), s.slow))
	}
	if t == 0 {
		return
	}
	s.total, s.device = s.total+t, s.device+t
	for i := range s.parts {
		if s.parts[i].cause == cause {
			s.parts[i].time += t
			return
		}
	}
	s.parts = append(s.parts, part{cause, t})
}

// take is what was added, and begins anew.
func (s *segment) take() (machine.PS, []part) {
	t, p := s.total, s.parts
	s.total, s.parts = 0, nil
	return t, p
}

// backward reports whether a kernel is of a backward pass: its run goes down the instances of its stack.
func (w *writer) backward(op int) bool {
	r := w.order.RunOf(op)
	return r >= 0 && w.prog.Runs[r].Down
}

// hostOf is the time of the host for the launch of an instruction.
func (w *writer) hostOf(op int) machine.PS {
	if w.atOnce(op) {
		return 0
	}
	return w.model.Host(w.backward(op))
}

// atOnce reports whether the host has one launch for an instruction and others of its task: in a program without tasks, for what
// follows the backward pass of the blocks.
func (w *writer) atOnce(op int) bool {
	switch {
	case !w.options.UpdateAtOnce:
		return false
	case len(w.prog.Tasks) == 0:
		return w.last > 0 && op >= w.last
	}
	return slices.ContainsFunc(w.prog.Tasks, func(t program.Task) bool { return t.Once && t.From <= op && op < t.To })
}
