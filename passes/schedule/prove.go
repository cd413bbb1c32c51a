package schedule

import "fmt"

// Limits are the bounds under which a proof must hold.
type Limits struct {
	Sends Sends
	// Buffers are the numbers of buffers there are; those that are nil are not
	// checked. See [Buffers].
	Buffers Buffers
}

// Prove returns nil if the schedule, run on want's pipeline with each slot
// receiving right before it and sending right after it (see [Plain]), does all
// of the work once, in an order that every dependency allows, never waits in a
// circle, and never overwrites a live buffer. Otherwise it returns a [*Fault]
// that says which slot or which devices are wrong.
//
// The proof is static. Each wait of the pipeline is for one particular event:
// because channels keep their order, the k-th send into a channel with room for
// c waits for the receive of message k−c and nothing else. Such a system of
// waits comes to its end for every speed of its devices if and only if the
// graph of its events has no cycle (Commoner, Holt, Even, Pnueli, Marked
// Directed Graphs, 1971, theorem 1); Prove searches that graph for one.
func Prove(s *Schedule, want Shape, lim Limits) error {
	if err := checkSlots(s); err != nil {
		return err
	}
	return ProveProgram(Plain(s), want, lim)
}

// ProveProgram is [Prove] for a program. In addition every message must be sent
// once and received once, by the devices of its boundary, the send after the
// slot that makes it and the receive before the slot that reads it.
func ProveProgram(p *Program, want Shape, lim Limits) error {
	if err := want.Validate(); err != nil {
		return err
	}
	if err := lim.Sends.Validate(); err != nil {
		return err
	}
	if p.Shape != want {
		return faultf(BadShape, "made for %s, wanted for %s", p.Shape, want)
	}
	for _, check := range []func(*Program) error{checkProgram, proveWork, proveMessages, proveOrdered} {
		if err := check(p); err != nil {
			return err
		}
	}
	if err := proveProgress(p, lim.Sends); err != nil {
		return err
	}
	return proveBuffers(p, lim.Buffers)
}

// String says the shape in words.
func (s Shape) String() string {
	return fmt.Sprintf("%d devices × %d chunks and %d microbatches", s.Devices, s.Chunks, s.Microbatches)
}

// proveWork: each stage runs each microbatch forward once and backward once,
// whole or split.
func proveWork(p *Program) error {
	runs := map[Slot]bool{}
	for d, actions := range p.Devices {
		for _, a := range actions {
			if !a.IsRun() {
				continue
			}
			if runs[a.Slot] {
				return faultf(Duplicate, "device %d runs the %s twice", d, a.Slot)
			}
			runs[a.Slot] = true
		}
	}
	for stage := 0; stage < p.Shape.Stages(); stage++ {
		for i := 0; i < p.Shape.Microbatches; i++ {
			if err := workAt(p.Shape, runs, stage, i); err != nil {
				return err
			}
		}
	}
	return nil
}

func workAt(s Shape, runs map[Slot]bool, stage, i int) error {
	has := func(k Kind) bool { return runs[Slot{k, stage, i}] }
	missing := func(k Kind) error {
		return faultf(Missing, "device %d does not run the %s", s.Device(stage), Slot{k, stage, i})
	}
	whole, input, weight := has(Backward), has(BackwardInput), has(BackwardWeight)
	switch {
	case !has(Forward):
		return missing(Forward)
	case whole && (input || weight):
		return faultf(Duplicate, "device %d runs the backward of microbatch %d at stage %d both whole and split", s.Device(stage), i, stage)
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

// proveMessages: each boundary has one send and one receive of each microbatch's
// activation and gradient.
func proveMessages(p *Program) error {
	ends := map[Transfer]bool{}
	for d, actions := range p.Devices {
		for _, a := range actions {
			for _, t := range a.Transfers {
				if ends[t] {
					return faultf(Duplicate, "device %d has to %s twice", d, t)
				}
				ends[t] = true
			}
		}
	}
	if p.Shape.Devices == 1 {
		return nil
	}
	for b := 0; b < p.Shape.Boundaries(); b++ {
		for i := 0; i < p.Shape.Microbatches; i++ {
			for k := Payload(0); k < payloads; k++ {
				for _, send := range []bool{true, false} {
					t := p.Shape.transfer(Message{k, b, i}, send)
					if !ends[t] {
						return faultf(Missing, "device %d does not %s", p.Shape.Device(stageOf(t)), t)
					}
				}
			}
		}
	}
	return nil
}

// stageOf returns the stage at this end of a transfer.
func stageOf(t Transfer) int {
	if t.Send == (t.Message.Payload == Activation) {
		return t.Message.Boundary
	}
	return t.Message.Boundary + 1
}

// proveOrdered: on each device every slot comes after the slots and receives
// that it reads from, and every send after the slot that makes its message.
// The program is complete, so each of these exists once.
func proveOrdered(p *Program) error {
	for d, actions := range p.Devices {
		done, made, arrived := map[Slot]bool{}, map[Message]bool{}, map[Message]bool{}
		for _, a := range actions {
			if a.IsRun() {
				for _, need := range localNeeds(p.Shape, a.Slot) {
					if !anyDone(done, need) {
						return faultf(Order, "device %d: the %s runs before the %s", d, a.Slot, need[0])
					}
				}
				if m, ok := p.Shape.Input(a.Slot); ok && !arrived[m] {
					return faultf(Order, "device %d: the %s runs before the device receives %s", d, a.Slot, m)
				}
				if m, ok := p.Shape.Output(a.Slot); ok {
					made[m] = true
				}
				done[a.Slot] = true
			}
			for _, t := range a.Transfers {
				if t.Send && !made[t.Message] {
					return faultf(Order, "device %d sends %s before it is made", d, t.Message)
				}
			}
			// What an action receives is there only when the action ends.
			for _, t := range a.Transfers {
				if !t.Send {
					arrived[t.Message] = true
				}
			}
		}
	}
	return nil
}

func anyDone(done map[Slot]bool, slots []Slot) bool {
	for _, s := range slots {
		if done[s] {
			return true
		}
	}
	return false
}

// LeastCapacity returns the smallest capacity of asynchronous channels with
// which the schedule comes to its end, or the fault that no capacity cures.
func LeastCapacity(s *Schedule) (int, error) {
	if err := Prove(s, s.Shape, Limits{Sends: Sends{Capacity: Unbounded}}); err != nil {
		return 0, err
	}
	p := Plain(s)
	// A channel carries one message for each microbatch. More room only takes
	// waits away, so the capacities that suffice are all above the smallest.
	low, high := 1, s.Shape.Microbatches
	for low < high {
		if mid := (low + high) / 2; proveProgress(p, Sends{Capacity: mid}) == nil {
			high = mid
		} else {
			low = mid + 1
		}
	}
	return low, nil
}
