package pipeline

// ZB-V: the model goes there and back over the devices, in two chunks on each, so
// that the last stage is on the first device and the first backward pass begins
// where memory is held longest; weight backwards fill what would be idle.
//
//	device 0  F0.0 F1.0 F2.0 F3.0 F4.0 F0.1 I0.1 W0.1 F1.1 I1.1 W1.1 F2.1 I2.1 I0.0 W2.1 I1.0 W0.0 F3.1 I3.1 W3.1 F5.0 I2.0 W1.0 F4.1 I4.1 W4.1 W2.0 I3.0 W3.0 F5.1 I5.1 I4.0 W5.1 W4.0 .... I5.0 W5.0 ....
//	device 1  .... F0.0 F1.0 F2.0 F0.1 F3.0 F1.1 I0.1 W0.1 F2.1 I1.1 I0.0 W1.1 I2.1 I1.0 W2.1 F3.1 W0.0 F4.0 I3.1 I2.0 W3.1 F4.1 W1.0 F5.0 I4.1 I3.0 W4.1 F5.1 W2.0 I4.0 I5.1 W5.1 W3.0 I5.0 W4.0 W5.0 ....
//	device 2  .... .... F0.0 F0.1 F1.0 F1.1 F2.0 F2.1 I0.1 I0.0 W0.1 I1.1 I1.0 W1.1 F3.0 F3.1 I2.1 I2.0 W2.1 W0.0 F4.0 F4.1 I3.1 I3.0 W3.1 W1.0 F5.0 F5.1 I4.1 I4.0 W4.1 W2.0 I5.1 I5.0 W5.1 W3.0 W4.0 W5.0
//
// Here p = 3, m = 6, and F3.1 is the forward of microbatch 3 through the device's
// chunk 1; forward, input and weight backward of a chunk take one unit each. The list
// scheduler makes it (greedy.go), under the memory of 1f1b: 2p activations of a chunk,
// p of a device. All idle time is then what passes until the last device starts, p−1
// passes of a chunk, where m is above p.
func init() {
	Register(Row{
		Name:    "zb_v",
		Summary: "two chunks per device, there and back; weight gradients fill the bubble at the memory of 1f1b",
		Source:  "Qi, Wan, Huang, Lin, Zero Bubble Pipeline Parallelism, ICLR 2024, §6; Qi et al., Pipeline Parallelism with Controllable Memory, NeurIPS 2024, §4",
		Least:   2,
		Split:   true,
		Place:   Fold,
		Slots: func(s Shape, at *Placement, c Costs) [][]Slot {
			return greedy(s, at, c, 2*s.Devices)
		},
		Peak: func(s Shape, _ int) int { return 2 * min(s.Devices, s.Microbatches) },
	})
}
