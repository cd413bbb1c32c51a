package pipeline

// ZB-H1: 1F1B with the backward pass split, so that a device answers the one
// before it as soon as the gradient of its input is known, and computes the
// gradients of its weights when it would otherwise wait.
//
//	device 0  F0 F1 F2 F3 .. .. .. I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5
//	device 1  .. F0 F1 F2 .. .. I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5
//	device 2  .. .. F0 F1 .. I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5
//	device 3  .. .. .. F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5
//
// Here p = 4, m = 6, and forward, input and weight backward take one unit each. The
// forward and input-backward passes are those of 1f1b. Device d runs the
// weight backward of a microbatch only when d more input backwards have passed,
// so every device holds at most p activations, the most that 1f1b holds on its
// first device; the d that remain at the end fill its drain.
func init() {
	Register(Row{
		Name:    "zb_h1",
		Summary: "1f1b with split backward; weight gradients fill the bubble at the memory of 1f1b",
		Source:  "Qi, Wan, Huang, Lin, Zero Bubble Pipeline Parallelism, ICLR 2024, §2.1 and table 2",
		Split:   true,
		Slots:   each(zbH1),
		Bubble:  zbH1Bubble,
		Peak:    func(s Shape, _ int) int { return min(s.Devices, s.Microbatches) },
	})
}

func zbH1(s Shape, stages []int, device int) []Slot {
	m := s.Microbatches
	slots := make([]Slot, 0, 3*m)
	inputs, weights := 0, 0
	for _, slot := range oneFOneB(s, stages, device) {
		if slot.Kind == Forward {
			slots = append(slots, slot)
			continue
		}
		slots = append(slots, Slot{BackwardInput, slot.Stage, slot.Microbatch})
		if inputs++; inputs-weights > device {
			slots = append(slots, Slot{BackwardWeight, stages[0], weights})
			weights++
		}
	}
	for ; weights < m; weights++ {
		slots = append(slots, Slot{BackwardWeight, stages[0], weights})
	}
	return slots
}

// zbH1Bubble is table 2's idle time (p−1)(T_F + T_B − T_W), with T_B the input
// backward, over the step. It is exact for m ≥ p and T_W no longer than T_F and
// T_B. Beyond that, only m−1 microbatches have a weight backward that another one
// leaves time for, and each fills no more than a forward or an input backward.
func zbH1Bubble(s Shape, u Unit) float64 {
	fill, filled := float64(s.Devices-1), float64(min(s.Devices, s.Microbatches)-1)
	idle := fill*(u.Forward+u.Input) - filled*min(u.Weight, u.Forward, u.Input)
	if idle == 0 {
		return 0
	}
	return idle / (float64(s.Microbatches)*(u.Forward+u.Input+u.Weight) + idle)
}
