package passes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/irtest"
)

// Where zero shards over several mesh axes, one gather brings a parameter together after its update, and one
// scatter brings its gradient to the shards: each moves as many bytes as the parameter has on a device.
func TestZeroOverSeveralMeshAxes(t *testing.T) {
	tp := shard("tp", "heads", "ffn", "vocab")
	batch := rule("shard", "axes", ir.Names{"batch"}, "over", ir.Names{"dp", "ep"})
	s := irtest.Sizes{Layers: 1, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 64, Vocab: 16}
	for _, l := range []struct {
		name  string
		mesh  []ir.MeshAxis
		rules ir.Terms
		over  []string
	}{
		{"dp cp", mesh("dp", 2, "cp", 2), ir.Terms{shard("dp", "batch"), shard("cp", "seq")}, []string{"dp", "cp"}},
		{"cp dp", mesh("cp", 2, "dp", 2), ir.Terms{shard("dp", "batch"), shard("cp", "seq")}, []string{"dp", "cp"}},
		{"dp cp tp", mesh("dp", 2, "cp", 2, "tp", 2), ir.Terms{shard("dp", "batch"), shard("cp", "seq"), tp}, []string{"dp", "cp"}},
		{"tp dp cp", mesh("tp", 2, "dp", 2, "cp", 2), ir.Terms{tp, shard("dp", "batch"), shard("cp", "seq")}, []string{"dp", "cp"}},
		{"dp ep", mesh("dp", 2, "ep", 2), ir.Terms{batch}, []string{"dp", "ep"}},
		{"dp ep tp", mesh("dp", 2, "ep", 2, "tp", 2), ir.Terms{batch, tp}, []string{"dp", "ep"}},
		{"dp ep cp", mesh("dp", 2, "ep", 2, "cp", 2), ir.Terms{batch, shard("cp", "seq")}, []string{"dp", "ep", "cp"}},
	} {
		t.Run(l.name, func(t *testing.T) {
			seen := false
			count := func(_ int, pass string, m *ir.Module, _ time.Duration) error {
				if pass == "partition" {
					seen = true
					movesParameters(t, m)
				}
				return nil
			}
			lowered(t, s, l.mesh, append(slices.Clone(l.rules), zero(1, l.over...)), Options{Hooks: []Hook{count}}, nil)
			if !seen {
				t.Error("partition is not a pass")
			}
		})
	}
}

// movesParameters compares what m gathers and scatters with the parameters of a device.
func movesParameters(t *testing.T, m *ir.Module) {
	t.Helper()
	f := m.Func("step")
	want := 0
	for _, a := range f.Args {
		if a.Role == ir.RoleParam {
			want += a.Value.Count() * a.Value.Type.Bytes()
		}
	}
	gathered, scattered := 0, 0
	for _, o := range f.Ops {
		switch {
		case o.Name == collective.AllGather && strings.Contains(o.Attrs.Text("why"), ir.RoleParam):
			gathered += o.Result().Type.Bytes()
		case o.Name == collective.ReduceScatter && o.Result().Type.Index("batch") < 0: // a gradient of a parameter
			scattered += o.Args[0].Type.Bytes()
		}
	}
	if gathered != want || scattered != want {
		t.Errorf("%d bytes are gathered, %d scattered; parameters have %d", gathered, scattered, want)
	}
}
