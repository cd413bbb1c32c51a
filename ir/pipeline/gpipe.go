package pipeline

// GPipe: all forward passes, then all backward passes.
//
//	device 0  F0 F1 F2 F3 .. .. .. .. .. .. B0 B1 B2 B3
//	device 1  .. F0 F1 F2 F3 .. .. .. .. B0 B1 B2 B3 ..
//	device 2  .. .. F0 F1 F2 F3 .. .. B0 B1 B2 B3 .. ..
//	device 3  .. .. .. F0 F1 F2 F3 B0 B1 B2 B3 .. .. ..
//
// Here p = 4, m = 4, and forward and backward take one unit each. The bubble is
// (p−1)/(m+p−1) of the step for every ratio of the two: fill and drain cost
// p−1 forward and p−1 backward units. Every device holds all m activations.
//
// The backward passes run in the order of the microbatches, as in all schedules here.
func init() {
	Register(Row{
		Name:    "gpipe",
		Summary: "all forward passes, then all backward passes; holds every microbatch's activations",
		Source:  "Huang et al., GPipe: Efficient Training of Giant Neural Networks using Pipeline Parallelism, NeurIPS 2019, §2.3",
		Slots:   each(breadthFirst),
		Bubble:  fillAndDrain,
		Peak:    func(s Shape, _ int) int { return s.Microbatches },
	})
}

// breadthFirst runs all microbatches through one chunk before the next.
func breadthFirst(s Shape, stages []int, _ int) (slots []Slot) {
	for _, stage := range stages {
		for i := range s.Microbatches {
			slots = append(slots, Slot{Forward, stage, i})
		}
	}
	for k := range stages {
		for i := range s.Microbatches {
			slots = append(slots, Slot{Backward, stages[len(stages)-1-k], i})
		}
	}
	return slots
}

// fillAndDrain is (p−1)/(v·m+p−1): p−1 units of idle time, a unit being one
// chunk's forward and backward, against v·m units of work. GPipe §2.3 gives it
// for v = 1; Narayanan et al. (SC'21 §2.2) as the ratio of idle time to work,
// (p−1)/(v·m), which is the same. Where there are fewer microbatches than devices,
// each chunk but the last waits besides until they come round.
func fillAndDrain(s Shape, _ Unit) float64 {
	p, m, v := s.Devices, s.Microbatches, s.Chunks
	idle := p - 1 + (v-1)*max(0, p-m)
	return float64(idle) / float64(v*m+idle)
}
