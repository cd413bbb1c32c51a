package pipeline

import (
	"errors"
	"fmt"

	"ptc/internal/progress"
)

// Prove returns nil if the schedule, on want's pipeline with room for so many
// messages in each channel, does all of the work once, in an order that every
// dependency allows, and never waits in a circle. Otherwise it returns a [*Fault]
// that says which slot or which devices are wrong.
//
// Every stage takes the microbatches in order: so channels carry them in order,
// and sums over microbatches are added in the order of one device.
//
// A run proves that none waits for ever, whatever the costs (package progress).
func Prove(s *Schedule, want Shape, room int) error {
	if err := want.Validate(); err != nil {
		return err
	}
	if s.Shape != want {
		return faultf(BadShape, "made for %s, wanted for %s", s.Shape, want)
	}
	_, err := s.run(Uniform(want, Unit{}), room, nil)
	return err
}

// run checks the slots, runs them and gives the time at which the last one ends.
func (s *Schedule) run(c Costs, room int, ran func(device, slot int, start, end float64)) (float64, error) {
	if room < 1 {
		return 0, faultf(BadShape, "channels need room for at least 1 message, found %d", room)
	}
	for _, check := range []func(*Schedule) error{checkSlots, proveWork, proveOrdered} {
		if err := check(s); err != nil {
			return 0, err
		}
	}
	if err := c.check(s.Shape); err != nil {
		return 0, err
	}
	sys := s.system(c, room)
	if ran != nil {
		sys.Ran = func(d, i int, start, end float64) {
			if i%3 == 1 {
				ran(d, i/3, start, end)
			}
		}
	}
	end, err := sys.Run()
	var f *progress.Fault
	if errors.As(err, &f) {
		return 0, explain(sys, f)
	}
	return end, err
}

// explain puts a circle into the words of pipelines. Where all work is there and in
// order, nothing else can go wrong with messages.
func explain(sys progress.System, f *progress.Fault) error {
	text := "these devices wait for each other:"
	switch {
	case sys.Room == 1:
		text = "with room for 1 message in each channel " + text
	case sys.Room < Unbounded:
		text = fmt.Sprintf("with room for %d messages in each channel ", sys.Room) + text
	}
	for _, at := range f.At {
		x, _ := sys.Step(at.Process, at.Step)
		if x.Kind == progress.Send {
			text += fmt.Sprintf("\n  device %d waits for room to send %s to device %d", at.Process, x.What, x.Channel.To)
		} else {
			text += fmt.Sprintf("\n  device %d waits to receive %s from device %d", at.Process, x.What, x.Channel.From)
		}
	}
	return faultf(Deadlock, "%s", text)
}

// checkSlots returns an error unless the shape is valid, its stages are placed on
// its devices, there is a list for each device, and every slot exists in the shape
// and is on its stage's device.
func checkSlots(s *Schedule) error {
	if err := s.Shape.Validate(); err != nil {
		return err
	}
	if p := s.Place; p == nil || len(p.device) != s.Shape.Stages() || len(p.stages) != s.Shape.Devices {
		return faultf(BadShape, "the placement is not one of %d stages on %d devices", s.Shape.Stages(), s.Shape.Devices)
	}
	for d, stages := range s.Place.stages {
		if len(stages) != s.Shape.Chunks {
			return faultf(BadShape, "device %d has %d chunks, its shape has %d", d, len(stages), s.Shape.Chunks)
		}
	}
	if len(s.Devices) != s.Shape.Devices {
		return faultf(BadShape, "the schedule has lists for %d devices, its shape has %d", len(s.Devices), s.Shape.Devices)
	}
	for d, slots := range s.Devices {
		for k, slot := range slots {
			if err := s.checkSlot(d, k, slot); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Schedule) checkSlot(d, k int, slot Slot) error {
	at := func() string { return fmt.Sprintf("device %d, step %d", d, k) }
	switch {
	case slot.Kind >= kinds:
		return faultf(Misplaced, "%s: there is no slot of %s", at(), slot.Kind)
	case slot.Stage < 0 || slot.Stage >= s.Shape.Stages():
		return faultf(Misplaced, "%s: the %s, but there are %d stages", at(), slot, s.Shape.Stages())
	case slot.Microbatch < 0 || slot.Microbatch >= s.Shape.Microbatches:
		return faultf(Misplaced, "%s: the %s, but there are %d microbatches", at(), slot, s.Shape.Microbatches)
	case s.Place.Device(slot.Stage) != d:
		return faultf(Misplaced, "%s: the %s, but that stage is on device %d", at(), slot, s.Place.Device(slot.Stage))
	}
	return nil
}

// proveWork: each stage runs each microbatch forward once and, unless the schedule is
// forward only, backward once, whole or split.
func proveWork(s *Schedule) error {
	runs := make([][kinds]bool, s.Shape.Stages()*s.Shape.Microbatches) // by stage and microbatch
	at := func(stage, i int) *[kinds]bool { return &runs[stage*s.Shape.Microbatches+i] }
	for d, slots := range s.Devices {
		for _, slot := range slots {
			done := &at(slot.Stage, slot.Microbatch)[slot.Kind]
			if *done {
				return faultf(Duplicate, "device %d runs the %s twice", d, slot)
			}
			*done = true
		}
	}
	for stage := range s.Shape.Stages() {
		for i := range s.Shape.Microbatches {
			if err := s.workAt(at(stage, i), stage, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Schedule) workAt(runs *[kinds]bool, stage, i int) error {
	d := s.Place.Device(stage)
	has := func(k Kind) bool { return runs[k] }
	missing := func(k Kind) error {
		return faultf(Missing, "device %d does not run the %s", d, Slot{k, stage, i})
	}
	whole, input, weight := has(Backward), has(BackwardInput), has(BackwardWeight)
	switch {
	case !has(Forward):
		return missing(Forward)
	case s.Shape.ForwardOnly && (whole || input || weight):
		return faultf(Misplaced, "device %d runs the backward of microbatch %d at stage %d, and the schedule is forward only", d, i, stage)
	case s.Shape.ForwardOnly:
		return nil
	case whole && (input || weight):
		return faultf(Duplicate, "device %d runs the backward of microbatch %d at stage %d both whole and split", d, i, stage)
	case whole:
		return nil
	case !input && !weight:
		return missing(Backward)
	case !input:
		return missing(BackwardInput)
	case !weight:
		return missing(BackwardWeight)
	}
	return nil
}

// proveOrdered: on each device every slot comes after those of the device that it
// reads from, and each stage takes the microbatches in order: forward, in its
// input gradients, and in those of its weights. The schedule is complete, so each
// slot exists once.
func proveOrdered(s *Schedule) error {
	// done counts the microbatches of each stage: forward, input, weight gradients.
	done := make([][3]int, s.Shape.Stages())
	for d, slots := range s.Devices {
		for _, slot := range slots {
			for _, work := range parts[slot.Kind] {
				at := &done[slot.Stage][work]
				if *at != slot.Microbatch {
					return faultf(Order, "device %d: the %s runs before that of microbatch %d", d, slot, *at)
				}
				for _, need := range s.needs(work, slot.Stage) {
					if done[need.Stage][need.work] <= slot.Microbatch {
						return faultf(Order, "device %d: the %s runs before the %s", d, slot, Slot{need.Kind, need.Stage, slot.Microbatch})
					}
				}
				*at++
			}
		}
	}
	return nil
}

// parts is the work of a slot: forward 0, input gradients 1, weight gradients 2.
var parts = [kinds][]int{Forward: {0}, Backward: {1, 2}, BackwardInput: {1}, BackwardWeight: {2}}

type need struct {
	work  int
	Kind  Kind
	Stage int
}

// needs is what must have been done on the same device before work at a stage,
// next to the message that it reads.
func (s *Schedule) needs(work, stage int) (out []need) {
	here := func(other int) bool {
		return other >= 0 && other < s.Shape.Stages() && s.Place.Device(other) == s.Place.Device(stage)
	}
	switch work {
	case 0:
		if here(stage - 1) {
			out = append(out, need{0, Forward, stage - 1})
		}
	case 1:
		out = append(out, need{0, Forward, stage})
		if here(stage + 1) {
			out = append(out, need{1, Backward, stage + 1})
		}
	case 2:
		out = append(out, need{1, BackwardInput, stage})
	}
	return out
}
