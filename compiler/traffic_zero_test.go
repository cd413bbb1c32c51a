package compiler_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// gatheredBy are the bytes that a device gathers over dp in a step.
func gatheredBy(t *testing.T, d *program.Device) (bytes int64) {
	for _, in := range step(t, d) {
		if in.Comm.Kind == "all_gather" && slices.Equal(in.Comm.Over, []string{"dp"}) {
			bytes += in.Comm.Bytes
		}
	}
	return bytes
}

// TestRecomputedGathers: with zero 3, what is computed again reads the parameters that the
// backward phase gathers anyway, so that each is gathered twice a step, forward and backward,
// in every precision, in stacks of blocks and outside. Parameters that gradients do not
// depend on, as biases, are gathered a second time to compute again what they are added to.
// Rajbhandari et al., "ZeRO" (2020), section 7.2.2. Under a pipeline, for the microbatches
// of both phases together, each is gathered once.
func TestRecomputedGathers(t *testing.T) {
	for _, x := range lowPrecisions {
		for _, c := range []struct{ model, spec string }{
			{"gpt", "dp2 z3"}, {"llama", "dp2 z3"}, {"moe", "dp2 z3"}, {"llama", "dp2 z3 1f1b:2:4"}, {"gpt", "dp2 z3 interleaved:2:4:2"},
		} {
			for _, layers := range []int{1, 4} {
				pipeline, set := strings.Contains(c.spec, ":"), fmt.Sprint("layers=", layers)
				if pipeline && x.name != "bf16" || layers == 1 && c.spec != "dp2 z3" || layers == 1 && c.model != "llama" {
					continue
				}
				kept, again := planFor(t, c.model, c.spec, set, x.rule), planFor(t, c.model, c.spec, set, x.rule+"\nrecompute Block")
				for i := range kept.Devices {
					want := gatheredBy(t, &kept.Devices[i])
					most := want
					if !pipeline {
						most += biases(&kept.Devices[i])
					}
					if got := gatheredBy(t, &again.Devices[i]); got < want || got > most {
						t.Errorf("%s %s %s of %d layers: gathers of %d bytes where blocks are recomputed, want %d to %d", c.model, c.spec, x.name, layers, got, want, most)
					}
				}
			}
		}
	}
}

// biases are the bytes of the vectors among the parameters of blocks, of each expert too.
func biases(d *program.Device) (bytes int64) {
	for _, x := range d.Tensors {
		name := x.Path[strings.LastIndex(x.Path, ".")+1:]
		if x.Train && strings.HasPrefix(x.Path, "blocks.") && slices.Contains([]string{"shift", "b1", "b2", "scale"}, name) {
			bytes += whole(&d.Buffers[x.Buffer])
		}
	}
	return bytes
}

// TestAccumulatorsAreGradients: what microbatches add up is counted as gradients, as many
// bytes as the parameters of the stage have in f32.
func TestAccumulatorsAreGradients(t *testing.T) {
	for _, spec := range []string{"1f1b:2:4", "dp2 z1 1f1b:2:4", "dp2 interleaved:2:4:2"} {
		p := planFor(t, "gpt", spec, "layers=4", "precision { compute = bf16 }")
		least := explain.Describe(p).Memory.Arena[program.Grads]
		largest := slices.MaxFunc(p.Devices, func(a, b program.Device) int { return int(a.Arena - b.Arena) })
		if params, _ := parameters(t, &largest); least < params {
			t.Errorf("%s: %d bytes of gradients, want the %d of the parameters at least", spec, least, params)
		}
	}
}
