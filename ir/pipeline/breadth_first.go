package pipeline

// Looped breadth-first: gpipe over v chunks on each device, so that filling and
// draining the pipeline costs p−1 passes of a chunk, and each chunk's parameters
// are used in one run of passes, forward and backward.
//
//	device 0  F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 .... .... B0.1 B1.1 B2.1 B0.0 B1.0 B2.0
//	device 1  .... F0.0 F1.0 F2.0 F0.1 F1.1 F2.1 B0.1 B1.1 B2.1 B0.0 B1.0 B2.0 ....
//
// Here p = 2, v = 2, m = 3, and forward and backward take one unit each. Where
// there are fewer microbatches than devices, a chunk waits for the microbatches to
// come round: v−1 rounds of p units instead of m, forward and backward. Every
// device holds all v·m activations.
func init() {
	Register(Row{
		Name:    "breadth_first",
		Summary: "gpipe over v chunks per device: each chunk's parameters are used in one run of passes",
		Source:  "Lamy-Poirier, Breadth-First Pipeline Parallelism, MLSys 2023, §4",
		Least:   2, Most: Any,
		Slots:  each(breadthFirst),
		Bubble: fillAndDrain,
		Peak:   func(s Shape, _ int) int { return s.Chunks * s.Microbatches },
	})
}
