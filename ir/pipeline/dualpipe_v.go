package pipeline

// DualPipeV: the model goes there and back over the devices as in zb_v, and forward
// passes of one chunk run in pairs with backward passes of the other, which can hide
// each other's communication.
//
//	device 0  F0.0 F1.0 F2.0 F3.0 F4.0 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 F2.1 F5.0 B2.1 ---- F3.1 B0.0 ---- B3.1 ---- F4.1 .... B1.0 ---- B4.1 ---- F5.1 .... B2.0 ---- B5.1 ---- I3.0 W3.0 I4.0 W4.0 I5.0 W5.0
//	device 1  .... F0.0 F1.0 F2.0 F0.1 F3.0 F1.1 I0.1 W0.1 F2.1 F4.0 B1.1 ---- F3.1 B0.0 ---- F5.0 B2.1 ---- F4.1 B1.0 ---- B3.1 ---- F5.1 .... B2.0 ---- B4.1 ---- B3.0 ---- I5.1 I4.0 W5.1 I5.0 W4.0 W5.0
//	device 2  .... .... F0.0 F0.1 F1.0 F1.1 F2.0 F2.1 F3.0 B0.1 ---- F3.1 B0.0 ---- F4.0 B1.1 ---- F4.1 B1.0 ---- F5.0 B2.1 ---- F5.1 B2.0 ---- B3.1 ---- B3.0 ---- B4.1 ---- I4.0 I5.1 I5.0 W4.0 W5.1 W5.0
//
// Here p = 3, m = 6; forward, input and weight backward of a chunk take one unit each,
// a whole backward two. A device goes through eight phases, whose lengths follow from
// its place: forward passes of chunk 0; of both chunks; input and weight backwards of
// chunk 1 with its forward passes; pairs; pairs without forward passes of chunk 0;
// backward passes of both, the second half of them split; input backwards of chunk 0
// with the weight backwards left over; the rest of these. Every device holds 2p+1
// activations of a chunk.
//
// The phases need 2p microbatches. Fewer are placed by the list scheduler (greedy.go)
// under the same limit.
func init() {
	Register(Row{
		Name:    "dualpipe_v",
		Summary: "two chunks per device, there and back, forward and backward passes in pairs; half a stage's activations more than 1f1b",
		Source:  "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, §3.2.1; cut in half: Qi et al., DualPipe could be better without the Dual, 2025",
		Least:   2,
		Split:   true,
		Place:   Fold,
		Slots: func(s Shape, at *Placement, c Costs) [][]Slot {
			if s.Microbatches < 2*s.Devices {
				return greedy(s, at, c, 2*s.Devices+1)
			}
			return each(dualPipeV)(s, at, c)
		},
		Peak: func(s Shape, _ int) int { return min(2*s.Devices+1, 2*s.Microbatches) },
	})
}

func dualPipeV(s Shape, stages []int, device int) (slots []Slot) {
	next := [2][kinds]int{} // microbatch of each chunk and kind
	var waiting []Slot      // weight gradients
	run := func(k Kind, chunk int) {
		slots = append(slots, Slot{k, stages[chunk], next[chunk][k]})
		next[chunk][k]++
	}
	forward := func(chunk int) { run(Forward, chunk) }
	backward := func(chunk int, split bool) {
		i := next[chunk][Backward]
		next[chunk][Backward]++
		if !split {
			slots = append(slots, Slot{Backward, stages[chunk], i})
			return
		}
		slots = append(slots, Slot{BackwardInput, stages[chunk], i})
		waiting = append(waiting, Slot{BackwardWeight, stages[chunk], i})
	}
	weight := func() {
		slots, waiting = append(slots, waiting[0]), waiting[1:]
	}
	before, behind := device+1, s.Devices-device-1
	for range 2 * behind {
		forward(0)
	}
	for range before {
		forward(0)
		forward(1)
	}
	for range behind {
		backward(1, true)
		weight()
		forward(1)
	}
	for range s.Microbatches - 2*s.Devices + before {
		forward(0)
		backward(1, false)
		forward(1)
		backward(0, false)
	}
	for range behind {
		backward(1, false)
		forward(1)
		backward(0, false)
	}
	for i := range 2 * before {
		backward(1-i%2, i >= before)
	}
	for range behind {
		weight()
		backward(0, true)
	}
	for range before {
		weight()
	}
	return slots
}
