package passes

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes/fuse"
	"ptc/passes/pass"
)

// TestStagesAlike: of a deep pipeline, whose stages are alike, each is fused as it is alone, and most
// are copies of one before.
func TestStagesAlike(t *testing.T) {
	sizes := irtest.Sizes{Layers: 8, Batch: 4, Seq: 8, Heads: 4, Head: 4, FFN: 32, Vocab: 24, Dropout: true}
	chunks := func(schedule string) ir.Term {
		p := pipelined(schedule, 4)
		p.Args = p.Args.With("chunks", ir.Int(2))
		return p
	}
	for _, l := range []struct {
		name  string
		mesh  []ir.MeshAxis
		rules ir.Terms
		first int // the functions at most that are no copies, of step and eval
	}{
		{"1f1b", mesh("pp", 8), ir.Terms{pipelined("1f1b", 4)}, 6},
		{"gpipe tp2", mesh("pp", 4, "tp", 2), ir.Terms{shard("tp", "heads", "ffn", "vocab"), betweenBlocks, pipelined("gpipe", 4)}, 6},
		{"interleaved", mesh("pp", 4), ir.Terms{chunks("interleaved"), rule("recompute", "of", ir.Str("blocks.*"))}, 6},
		{"zb_v dp2", mesh("dp", 2, "pp", 4), ir.Terms{shard("dp", "batch"), zero(1, "dp"), chunks("zb_v")}, 6},
		{"zero3 cp2 pp4", mesh("dp", 2, "cp", 2, "pp", 4), ir.Terms{shard("dp", "batch"), shard("cp", "seq"), zero(3, "dp"), pipelined("1f1b", 4), rule("recompute", "of", ir.Str("blocks.*"))}, 6},
	} {
		t.Run(l.name, func(t *testing.T) {
			m := irtest.Transformer(sizes)
			m.Mesh = l.mesh
			m.Meta = append(m.Meta, rule("layout", "name", ir.Str(l.name), "rules", l.rules))
			if err := Run(&pass.Context{}, m, &Options{Stop: "chunk"}); err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, f := range m.Funcs {
				alone := *m
				alone.Meta, alone.Funcs = append([]ir.Term(nil), m.Meta...), []*ir.Func{f.Clone()}
				want = append(want, fused(t, &alone)...)
			}
			got := fused(t, m)
			first := 0
			for i, text := range got {
				if got[i] = asOther.ReplaceAllString(text, ""); got[i] == text {
					first++
				}
			}
			if first > l.first {
				t.Errorf("%d of %d functions are fused anew, at most %d are unlike", first, len(got), l.first)
			}
			if len(got) != len(want) {
				t.Fatalf("%d functions, alone %d", len(got), len(want))
			}
			for i := range got {
				if got[i] != want[i] {
					t.Errorf("fused with the others:\n%s\nalone:\n%s", got[i], want[i])
				}
			}
		})
	}
}

// asOther is where a remark says of which function another is a copy.
var asOther = regexp.MustCompile(`, as @[\w.]+`)

// fused fuses m, whose entry functions it returns as texts, with the remarks on each, and
// kernels by their texts in the place of names, which count from the first function on.
func fused(t *testing.T, m *ir.Module) []string {
	c := &pass.Context{}
	if err := fuse.Run(c, m); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			f.Name = ""
			f.Name = "kernel " + fmt.Sprintf("%x", ir.PrintFunc(f))
		}
	}
	var out []string
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			continue
		}
		text := ir.PrintFunc(f) + fmt.Sprint(f.NextID())
		for _, r := range c.Remarks {
			if strings.HasPrefix(r.Text, "@"+f.Name+":") {
				text += r.String()
			}
		}
		out = append(out, text)
	}
	return out
}
