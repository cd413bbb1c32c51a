package pipeline

// ZB-H2: zb_h1 with memory for 2p−1 activations instead of p, so that no device waits
// between its first pass and its last: it runs so many forward passes before its
// first backward pass as fit until the gradients come back.
//
//	device 0  F0 F1 F2 F3 F4 F5 F6 I0 W0 I1 F7 I2 W1 I3 W2 I4 W3 I5 W4 I6 W5 W6 I7 W7 .. .. ..
//	device 1  .. F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 W0 I3 F7 I4 W1 I5 W2 I6 W3 W4 I7 W5 W6 W7 .. ..
//	device 2  .. .. F0 F1 F2 I0 F3 I1 F4 I2 F5 I3 F6 I4 W0 I5 F7 I6 W1 W2 I7 W3 W4 W5 W6 W7 ..
//	device 3  .. .. .. F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 F7 I7 W1 W2 W3 W4 W5 W6 W7
//
// Here p = 4, m = 8, and forward, input and weight backward take one unit each. The
// list scheduler makes it from that limit (greedy.go). Its step is as long as that of
// zb_h1 where all three cost the same, since neither can be shorter than what the last
// device does after p−1 forward passes; it is shorter where a weight backward is
// shorter than an input backward. What the devices leave at the end the next step can use,
// if the optimizer does not wait for all of them (Qi et al., §4), which it does here.
func init() {
	Register(Row{
		Name:    "zb_h2",
		Summary: "zb_h1 with twice the memory: no device is idle between its first pass and its last",
		Source:  "Qi, Wan, Huang, Lin, Zero Bubble Pipeline Parallelism, ICLR 2024, §2.2 and table 2",
		Split:   true,
		Slots: func(s Shape, at *Placement, c Costs) [][]Slot {
			return greedy(s, at, c, 2*s.Devices-1)
		},
		Peak: func(s Shape, _ int) int { return min(2*s.Devices-1, s.Microbatches) },
	})
}
