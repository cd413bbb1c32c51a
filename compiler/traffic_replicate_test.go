package compiler_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// TestReplicatedTraffic: of a parameter that is replicated though the model computes
// with a shard of it, devices gather the gradient once, and nothing else: the
// optimizer's states and the new parameter are computed in the sharding in which
// they are stored. With zero they gather the shards of the gradient that they have
// after its reduction. Sequence parallelism gathers the gradient of positions that
// are added in shards of seq.
func TestReplicatedTraffic(t *testing.T) {
	for _, c := range []struct {
		model, spec, rule string
		path              string // of the parameters that are replicated: what it contains
		zero              int64  // devices of zero
	}{
		{"gpt", "tp2", "replicate blocks.*.attn over tp", ".attn.", 1},
		{"gpt", "tp2", "replicate blocks.*.attn", ".attn.", 1},
		{"gpt", "tp2", "replicate blocks.*.attn over tp\nreplicate wte over tp", ".attn.", 1},
		{"gpt", "tp4", "replicate blocks.*.attn over tp", ".attn.", 1},
		{"gpt", "tp2", "replicate blocks.*.mlp over tp", ".mlp.", 1},
		{"gpt", "tp2 sp", "replicate blocks.*.attn over tp", ".attn.", 1},
		{"gpt", "dp2 tp2", "replicate blocks.*.attn over tp", ".attn.", 1},
		{"gpt", "dp2 tp2", "replicate blocks.*.attn over dp\nreplicate blocks.*.attn over tp", ".attn.", 1},
		{"gpt", "dp2 z1 tp2", "replicate blocks.*.attn over tp", ".attn.", 2},
		{"gpt", "dp2 z1 tp2 sp", "replicate blocks.*.attn over tp", ".attn.", 2},
		// Keys have fewer heads than tp has devices, so that tp is two mesh axes.
		{"llama", "tp4", "replicate blocks.*.attn over tp", ".attn.", 1},
	} {
		d := &planFor(t, c.model, c.spec, "", c.rule).Devices[0]
		want := int64(0)
		for _, x := range d.Tensors {
			positions := x.Path == "wpe" && strings.Contains(c.spec, "sp")
			table := x.Path == "wte" && strings.Contains(c.rule, "wte")
			if !x.Train || !strings.Contains(x.Path, c.path) && !positions && !table {
				continue
			}
			b := &d.Buffers[x.Buffer]
			for _, a := range b.Axes {
				if slices.ContainsFunc(a.Mesh, func(m string) bool { return strings.HasPrefix(m, "tp") }) {
					t.Errorf("%s %s %s: %s is sharded over %v", c.model, c.spec, c.rule, x.Path, a.Mesh)
				}
			}
			if slices.ContainsFunc(b.Axes, func(a program.Axis) bool { return strings.Contains("heads kv ffn vocab seq", a.Name) }) {
				want += whole(b) / c.zero
			}
		}
		got := int64(0)
		for _, in := range step(t, d) {
			if in.Comm.Kind == "all_gather" && strings.HasPrefix(strings.Join(in.Comm.Over, " "), "tp") && strings.HasPrefix(in.Scope, "optimizer") {
				got += in.Comm.Bytes
			}
		}
		if got != want {
			t.Errorf("%s %s %s: the optimizer gathers %d bytes, want the %d of the gradients", c.model, c.spec, c.rule, got, want)
		}
	}
}
