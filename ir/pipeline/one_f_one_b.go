package pipeline

// 1F1B: after enough forward passes to fill the pipeline behind it, a device
// alternates one forward and one backward pass.
//
//	device 0  F0 F1 F2 F3 .. .. .. B0 F4 B1 F5 B2 .. B3 .. B4 .. B5
//	device 1  .. F0 F1 F2 .. .. B0 F3 B1 F4 B2 F5 B3 .. B4 .. B5 ..
//	device 2  .. .. F0 F1 .. B0 F2 B1 F3 B2 F4 B3 F5 B4 .. B5 .. ..
//	device 3  .. .. .. F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 .. .. ..
//
// Here p = 4, m = 6, and forward and backward take one unit each. Every device d
// starts p−d forward passes before its first backward pass and so never holds more
// than p−d activations, whatever m is. The bubble is that of gpipe.
func init() {
	Register(Row{
		Name:    "1f1b",
		Summary: "one forward, one backward in turn; device d holds at most p-d activations",
		Source:  "Narayanan et al., PipeDream, SOSP 2019, §3.2; with the flush at the end of a batch: Memory-Efficient Pipeline-Parallel DNN Training, ICML 2021, §2.2",
		Slots:   each(oneFOneB),
		Bubble:  fillAndDrain,
		Peak:    func(s Shape, device int) int { return min(s.Devices-device, s.Microbatches) },
	})
}

func oneFOneB(s Shape, stages []int, device int) []Slot {
	m := s.Microbatches
	warm := min(s.Devices-1-device, m)
	slots := make([]Slot, 0, 2*m)
	for i := 0; i < m+warm; i++ {
		if i < m {
			slots = append(slots, Slot{Forward, stages[0], i})
		}
		if i >= warm {
			slots = append(slots, Slot{Backward, stages[0], i - warm})
		}
	}
	return slots
}
