package schedule

import "fmt"

// localNeeds lists what must have run on the same device before a slot, beside
// the message it reads. Each entry is a list of alternatives.
func localNeeds(s Shape, slot Slot) [][]Slot {
	stage, i := slot.Stage, slot.Microbatch
	switch slot.Kind {
	case Forward:
		if s.Devices == 1 && stage > 0 {
			return [][]Slot{{{Forward, stage - 1, i}}}
		}
		return nil
	case Backward, BackwardInput:
		needs := [][]Slot{{{Forward, stage, i}}}
		if s.Devices == 1 && stage < s.Stages()-1 {
			needs = append(needs, []Slot{{Backward, stage + 1, i}, {BackwardInput, stage + 1, i}})
		}
		return needs
	}
	return [][]Slot{{{BackwardInput, stage, i}}}
}

// checkSlots returns an error unless the shape is valid, there is a list for
// each device, and every slot exists in the shape and is on its stage's device.
func checkSlots(s *Schedule) error {
	if err := s.Shape.Validate(); err != nil {
		return err
	}
	if len(s.Devices) != s.Shape.Devices {
		return faultf(BadShape, "the schedule has lists for %d devices, its shape has %d", len(s.Devices), s.Shape.Devices)
	}
	for d, slots := range s.Devices {
		for k, slot := range slots {
			if err := checkSlot(s.Shape, d, k, slot); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSlot(s Shape, d, k int, slot Slot) error {
	at := fmt.Sprintf("device %d, step %d", d, k)
	switch {
	case slot.Kind >= kinds:
		return faultf(Misplaced, "%s: there is no slot of %s", at, slot.Kind)
	case slot.Stage < 0 || slot.Stage >= s.Stages():
		return faultf(Misplaced, "%s: the %s, but there are %d stages", at, slot, s.Stages())
	case slot.Microbatch < 0 || slot.Microbatch >= s.Microbatches:
		return faultf(Misplaced, "%s: the %s, but there are %d microbatches", at, slot, s.Microbatches)
	case s.Device(slot.Stage) != d:
		return faultf(Misplaced, "%s: the %s, but that stage is on device %d", at, slot, s.Device(slot.Stage))
	}
	return nil
}

// checkProgram is checkSlots for a program, and the same for its transfers.
func checkProgram(p *Program) error {
	if err := p.Shape.Validate(); err != nil {
		return err
	}
	if len(p.Devices) != p.Shape.Devices {
		return faultf(BadShape, "the program has lists for %d devices, its shape has %d", len(p.Devices), p.Shape.Devices)
	}
	for d, actions := range p.Devices {
		for k, a := range actions {
			if a.IsRun() {
				if err := checkSlot(p.Shape, d, k, a.Slot); err != nil {
					return err
				}
			}
			for _, t := range a.Transfers {
				if err := checkTransfer(p.Shape, d, k, t); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func checkTransfer(s Shape, d, k int, t Transfer) error {
	at, m := fmt.Sprintf("device %d, step %d", d, k), t.Message
	switch {
	case m.Payload >= payloads:
		return faultf(Misplaced, "%s: there is no %s to transfer", at, m.Payload)
	case m.Boundary < 0 || m.Boundary >= s.Boundaries():
		return faultf(Misplaced, "%s: %s, but there are %d boundaries", at, t, s.Boundaries())
	case m.Microbatch < 0 || m.Microbatch >= s.Microbatches:
		return faultf(Misplaced, "%s: %s, but there are %d microbatches", at, t, s.Microbatches)
	case s.Devices == 1:
		return faultf(Misplaced, "%s: %s, but there is a single device", at, t)
	}
	from, to := s.Ends(m)
	here, peer := to, from
	if t.Send {
		here, peer = from, to
	}
	if here != d || t.Peer != peer {
		return faultf(Misplaced, "%s: %s with device %d, but that message goes from device %d to device %d", at, t, t.Peer, from, to)
	}
	return nil
}
