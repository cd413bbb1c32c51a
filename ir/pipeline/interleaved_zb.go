package pipeline

// Interleaved with a split backward: v chunks on each device, round and round, and
// weight backwards fill what would be idle.
//
//	device 0  F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 .... .... I0.1 W0.1 I1.1 I0.0 W1.1 I2.1 I1.0 F3.0 I2.0 W2.1 F3.1 W0.0 F4.0 W1.0 F5.0 I3.1 F4.1 W3.1 I3.0 F5.1 W2.0 W3.0 I4.1 W4.1 I5.1 I4.0 W5.1 I5.0 W4.0 W5.0
//	device 1  .... F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 I0.1 W0.1 I1.1 I0.0 W1.1 I2.1 I1.0 W2.1 I2.0 F3.0 W0.0 W1.0 F3.1 W2.0 F4.0 I3.1 F5.0 W3.1 I3.0 F4.1 W3.0 F5.1 I4.1 W4.1 I5.1 I4.0 W5.1 I5.0 W4.0 W5.0 ....
//	device 2  .... .... F0.0 F1.0 F2.0 F0.1 I0.1 F1.1 I1.1 I0.0 F2.1 I2.1 I1.0 W0.1 I2.0 W1.1 W2.1 F3.0 W0.0 W1.0 F3.1 I3.1 F4.0 W3.1 I3.0 F5.0 W2.0 F4.1 I4.1 F5.1 I5.1 I4.0 W4.1 I5.0 W5.1 W3.0 W4.0 W5.0
//
// Here p = 3, v = 2, m = 6; forward, input and weight backward of a chunk take one
// unit each. The list scheduler makes it (greedy.go), under the memory of 1f1b: v·p
// activations of a chunk, p of a device.
func init() {
	Register(Row{
		Name:    "interleaved_zb",
		Summary: "v chunks per device, round and round; weight gradients fill the bubble at the memory of 1f1b",
		Source:  "the split backward of Qi et al., Zero Bubble Pipeline Parallelism, ICLR 2024, on the chunks of Narayanan et al., SC 2021",
		Least:   2, Most: Any,
		Split: true,
		Slots: func(s Shape, at *Placement, c Costs) [][]Slot {
			return greedy(s, at, c, s.Chunks*s.Devices)
		},
		Peak: func(s Shape, _ int) int { return s.Chunks * min(s.Devices, s.Microbatches) },
	})
}
