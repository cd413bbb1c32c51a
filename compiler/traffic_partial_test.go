package compiler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// scattered are the bytes that a device sends to scatter the gradients of its part
// of the parameters among those that have the same: n, or half as many where cp cuts
// the parameter.
func scattered(d *program.Device, n int64) (bytes int64) {
	for _, x := range d.Tensors {
		if !x.Train {
			continue
		}
		size, n := int64(f32), n
		for _, a := range d.Buffers[x.Buffer].Axes {
			size *= int64(a.Size)
			if slices.Contains(a.Mesh, "cp") {
				n /= 2
			}
		}
		bytes += size * (n - 1) / n
	}
	return bytes
}

// TestZeroOverTwo: with zero 1 and 2 over N·M devices and tensor parallelism besides,
// of the gradients of its part of the parameters a device sends (NM−1)/(NM) as they
// are scattered, and as much as new parameters are gathered; the optimizer's state
// stays where it is. Rajbhandari et al., "ZeRO: memory optimizations toward training
// trillion parameter models" (2020), section 7.1. Over one of the two after the other
// these are (N−1)/N and (M−1)/M of the Nth.
func TestZeroOverTwo(t *testing.T) {
	const n = 2 * 2
	for _, spec := range []string{"dp2 cp2 tp2", "cp2 tp2 dp2", "tp2 dp2 cp2"} {
		for level := 1; level <= 2; level++ {
			extra := fmt.Sprintf("zero %d over (dp, cp)", level)
			p := planFor(t, "gpt", spec, "ffn=40", extra)
			d := &p.Devices[0]
			sent := map[string]int64{}
			for _, in := range step(t, d) {
				over := strings.Join(in.Comm.Over, ",")
				if strings.Contains(over, "tp") {
					if in.Comm.Kind != "all_reduce" {
						t.Errorf("%s %s: %s over %s in %s", spec, extra, in.Comm.Kind, over, in.Scope)
					}
					continue
				}
				size := int64(1)
				for _, m := range in.Comm.Over {
					for _, a := range p.Mesh {
						if a.Name == m {
							size *= int64(a.Size)
						}
					}
				}
				sent[in.Comm.Kind] += in.Comm.Bytes * (size - 1) / size
			}
			want := scattered(d, n)
			if sent["reduce_scatter"] != want || sent["all_gather"] != want || sent["all_reduce"] > f32*2*(n-1)/n {
				t.Errorf("%s %s: sent %v, want %d scattered and gathered each", spec, extra, sent, want)
			}
		}
	}
}

// TestExpertsReducedOnce: where the devices of an expert, or of all experts, have partial
// sums of its outputs, they are reduced when the choices of a token are added up: one
// activation forward and one backward, as in an MLP (Shoeybi et al., "Megatron-LM",
// 2019, section 3), and not the slots of all experts or the choices of each token. Of
// the router's gradient a number for each choice is reduced.
func TestExpertsReducedOnce(t *testing.T) {
	for _, c := range []struct {
		spec, over string
		n          int64 // devices that share the batch
		times      int
	}{
		{"ex2", "ex", 1, 2 * moeLayers}, {"ex4", "ex", 1, 2 * moeLayers},
		{"ep2 tp2", "tp", 2, 4 * moeLayers}, {"dp2 ep2 tp2", "tp", 4, 4 * moeLayers}, // with attention's
	} {
		d := &planFor(t, "moe", c.spec, "", "").Devices[0]
		act, choices := int64(activation)/c.n, int64(batch*seq*chosen*f32)/c.n
		got := blocks(count(t, d))
		for m, n := range got {
			if m.kind != "all_to_all" && m.bytes > choices && (m != message{"all_reduce", c.over, true, act}) {
				t.Errorf("%s: %d times %s", c.spec, n, m)
			}
		}
		if n := got[message{"all_reduce", c.over, true, act}]; n != c.times {
			t.Errorf("%s: %d all-reduces of an activation, want %d", c.spec, n, c.times)
		}
	}
}
