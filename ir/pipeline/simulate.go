package pipeline

// Run is a slot with its times.
type Run struct {
	Slot       Slot
	Start, End float64
}

// Result is what a simulation measured. Times are in the unit of the costs.
type Result struct {
	Shape Shape
	Place *Placement
	// Devices holds the runs of each device in order.
	Devices [][]Run
	// Makespan is the time from the start of the step to the end of the last
	// slot.
	Makespan float64
	// Idle is, for each device, the part of the makespan without a slot running.
	Idle []float64
	// Bubble is the idle share of all devices' time: ΣIdle / (p · Makespan).
	Bubble float64
	// Peak is, for each device, the greatest number of activations held at
	// once. One is held for each virtual stage and microbatch from the start of
	// its forward pass to the end of its backward pass or weight backward; of a
	// forward pass alone, to its own end. A chunk has 1/v of a device's share of the model, so Peak / v is in shares.
	Peak []int
}

// Simulate runs a schedule in time, with room for so many messages in each
// channel: a message leaves when its slot has ended and its channel has room, and
// arrives after its cost. It returns an error if [Prove] would.
func Simulate(s *Schedule, c Costs, room int) (*Result, error) {
	r := &Result{Shape: s.Shape, Place: s.Place, Devices: make([][]Run, len(s.Devices))}
	end, err := s.run(c, room, func(d, k int, start, end float64) {
		r.Devices[d] = append(r.Devices[d], Run{s.Devices[d][k], start, end})
	})
	if err != nil {
		return nil, err
	}
	r.Makespan = end
	idle := 0.0
	for _, runs := range r.Devices {
		rest, held, peak := end, 0, 0
		for _, run := range runs {
			rest -= run.End - run.Start
			switch run.Slot.Kind {
			case Forward:
				held++
			case Backward, BackwardWeight:
				held--
			}
			peak = max(peak, held)
			if s.Shape.ForwardOnly {
				held-- // nothing reads its activations later
			}
		}
		r.Idle, r.Peak = append(r.Idle, rest), append(r.Peak, peak)
		idle += rest
	}
	if end > 0 {
		r.Bubble = idle / (float64(len(r.Devices)) * end)
	}
	return r, nil
}
