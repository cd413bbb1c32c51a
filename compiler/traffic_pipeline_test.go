package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// sendsOf are the sends of all devices in a step, by bytes, besides those of a few
// numbers: the loss, the norm of the gradients and the like.
func sendsOf(t *testing.T, p *program.Plan) map[int64]int {
	t.Helper()
	out := map[int64]int{}
	for i := range p.Devices {
		for _, in := range step(t, &p.Devices[i]) {
			if in.Comm.Kind == "send" && in.Comm.Bytes > 2*f32 {
				out[in.Comm.Bytes] += p.Copies()
			}
		}
	}
	return out
}

// TestBoundaryTraffic: across each boundary between stages, a device sends for each
// microbatch its shard of one activation forward and of one gradient backward, in
// the compute dtype, whatever is sharded besides: with sequence parallelism a shard of
// seq over tp, without it one that is gathered behind the boundary. Narayanan et al., "Efficient large-scale language model
// training on GPU clusters using Megatron-LM" (2021), section 4.1; Korthikanti et
// al. (2022), section 4.2.2. A tied embedding is sent once in a step, and its
// gradient back: the devices' shard of it, over dp as zero shards it.
func TestBoundaryTraffic(t *testing.T) {
	const vocab = 44
	for _, c := range []struct {
		spec, extra       string
		boundaries, micro int
		devices           int   // of each stage
		shards            int64 // of an activation
		size              int64 // bytes of its elements
		table, tableGrad  int64 // shards of the embedding and of its gradient
		tableSize         int64
		models            string
	}{
		{"1f1b:2:4", "", 1, 4, 1, 1, f32, 1, 1, f32, "gpt llama"},
		{"tp2 1f1b:2:4", "", 1, 4, 2, 2, f32, 2, 2, f32, "gpt llama"},
		{"tp2 sp 1f1b:2:4", "", 1, 4, 2, 2, f32, 2, 2, f32, "gpt llama moe"},
		{"tp4 sp 1f1b:2:4", "", 1, 4, 4, 4, f32, 4, 4, f32, "gpt llama"},
		{"tp2 sp gpipe:4:2", "", 3, 2, 2, 2, f32, 2, 2, f32, "gpt llama"},
		{"tp2 sp zb_h1:2:4", "", 1, 4, 2, 2, f32, 2, 2, f32, "gpt llama"},
		{"tp2 sp interleaved:2:4:2", "", 3, 4, 2, 2, f32, 2, 2, f32, "gpt llama"},
		{"tp2 sp 1f1b:2:4", "recompute Block", 1, 4, 2, 2, f32, 2, 2, f32, "gpt llama"},
		{"tp2 sp 1f1b:2:4", "precision { compute = bf16 }", 1, 4, 2, 2, f32 / 2, 2, 2, f32 / 2, "gpt llama"},
		{"1f1b:2:4", "precision { compute = f16 }", 1, 4, 1, 1, f32 / 2, 1, 1, f32 / 2, "gpt llama"},
		{"1f1b:2:4", "precision { compute = f16  products = f8 }", 1, 4, 1, 1, f32 / 2, 1, 1, f32 / 2, "gpt llama"},
		{"dp2 tp2 sp 1f1b:2:4", "", 1, 4, 4, 4, f32, 2, 2, f32, "gpt llama"},
		{"dp2 z1 tp2 sp 1f1b:2:4", "", 1, 4, 4, 4, f32, 2, 4, f32, "gpt llama"},
		{"dp2 z2 1f1b:2:4", "", 1, 4, 2, 2, f32, 1, 2, f32, "gpt"},
		{"dp2 z3 1f1b:2:4", "", 1, 4, 2, 2, f32, 2, 2, f32, "gpt"},
		{"cp2 1f1b:2:4", "", 1, 4, 2, 2, f32, 1, 1, f32, "gpt llama"},
		{"vocab/2 1f1b:2:4", "", 1, 4, 2, 2, f32, 2, 2, f32, "gpt llama"},
	} {
		for _, model := range strings.Fields(c.models) {
			p := planFor(t, model, c.spec, "layers=4", c.extra)
			act := int64(batch*seq*embed) / int64(c.micro) / c.shards * c.size
			want := map[int64]int{act: 2 * c.boundaries * c.micro * c.devices}
			if model != "llama" { // its output has a matrix of its own
				want[vocab*embed*c.tableSize/c.table] += c.devices
				want[vocab*embed*f32/c.tableGrad] += c.devices
			}
			if got := sendsOf(t, p); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s %s %s: sends by bytes %v, want %v", model, c.spec, c.extra, got, want)
			}
		}
	}
}
