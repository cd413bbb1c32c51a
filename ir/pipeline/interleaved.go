package pipeline

// Interleaved 1F1B: each device holds v chunks, so that filling and draining
// the pipeline costs p−1 passes of a chunk instead of a whole device's share.
//
//	device 0  F0.0 F1.0 F0.1 F1.1 F2.0 B0.1 F3.0 B1.1 F2.1 B0.0 F3.1 B1.0 .... B2.1 .... B3.1 B2.0 B3.0
//	device 1  .... F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 F2.0 B0.0 F3.0 B1.0 F2.1 B2.1 F3.1 B3.1 B2.0 B3.0 ....
//
// Here p = 2, v = 2, m = 4, and F3.1 is the forward of microbatch 3 through the
// device's chunk 1.
//
// Microbatches advance in groups of p: a device runs the group through its
// chunk 0, then through its chunk 1 when the group comes round again, and so
// on. The bubble is (p−1)/(v·m+p−1). It stays so where m is no multiple of p, with
// groups a little larger: in a group larger than p a microbatch that has come round
// waits for its turn, in a smaller one the device would wait for it. With fewer
// microbatches than devices there is one group, and devices do wait.
//
// Before its first backward pass device d starts 2(p−d−1) + (v−1)g + 1 forward
// passes: (v−1)g to bring the first group, of g, to the last chunk, and 2 for each
// device behind it. With g = p device 0 thus holds v·p + p − 1 activations of 1/(p·v)
// of the model each, the 1 + (p−1)/(p·v) of Korthikanti et al., Reducing Activation
// Recomputation in Large Transformer Models (MLSys 2023), §4.2.
//
// With one chunk this is 1f1b, and is built as such.
func init() {
	Register(Row{
		Name:    "interleaved",
		Summary: "1f1b over v chunks per device; the bubble shrinks by v, the messages grow by v",
		Source:  "Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, SC 2021, §2.2",
		Most:    Any,
		Slots:   each(interleaved),
		Bubble:  fillAndDrain,
		Peak: func(s Shape, device int) int {
			if s.Chunks == 1 {
				return min(s.Devices-device, s.Microbatches)
			}
			return min(interleavedWarm(s, device)+1, s.Chunks*s.Microbatches)
		},
	})
}

// group is the first microbatch and the size of the group that microbatch i advances
// in. There are ⌊m/p⌋ of them, at least 1, as even as can be, the larger ones first.
func (s Shape) group(i int) (first, size int) {
	n := max(1, s.Microbatches/s.Devices)
	size = s.Microbatches / n
	more := s.Microbatches % n
	if i < more*(size+1) {
		return i / (size + 1) * (size + 1), size + 1
	}
	return i - (i-more)%size, size
}

func interleavedWarm(s Shape, device int) int {
	_, size := s.group(0)
	return min(2*(s.Devices-1-device)+(s.Chunks-1)*size, s.Chunks*s.Microbatches)
}

func interleaved(s Shape, stages []int, device int) []Slot {
	if s.Chunks == 1 {
		return oneFOneB(s, stages, device)
	}
	total, warm := s.Chunks*s.Microbatches, interleavedWarm(s, device)
	slots := make([]Slot, 0, 2*total)
	for k := range total + warm {
		if k < total {
			chunk, i := interleavedAt(s, k)
			slots = append(slots, Slot{Forward, stages[chunk], i})
		}
		if k >= warm {
			chunk, i := interleavedAt(s, k-warm)
			slots = append(slots, Slot{Backward, stages[s.Chunks-1-chunk], i})
		}
	}
	return slots
}

// interleavedAt returns the chunk and the microbatch of the k-th pass of a
// device: a group of microbatches goes through all chunks before the next.
func interleavedAt(s Shape, k int) (chunk, microbatch int) {
	first, size := s.group(k / s.Chunks)
	in := k - first*s.Chunks
	return in / size, first + in%size
}
