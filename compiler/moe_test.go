package compiler

import (
	"os"
	"strings"
	"testing"
	"time"

	"ptc/ir"
	"ptc/ir/op"
)

// moeLayouts are layouts of examples/moe besides its own, and over how many
// devices each cuts the batch, and exchanges tokens.
var moeLayouts = []struct {
	name, text     string
	batch, experts int
}{
	{"ep", "", 4, 4},
	{"shared", "mesh dp = 2  shard batch, experts over dp  zero 1 over dp", 2, 2},
	{"replicas", "mesh dp = 2, ep = 2  shard batch over (dp, ep)  shard experts over ep", 4, 2},
	{"replicas_within", "mesh dp = 2, ep = 2  shard batch over (dp, ep)  shard experts over dp", 4, 2},
	{"nodes", "mesh node = 2, ep = 2  shard batch, experts over (node, ep)  two_level = 1 TiB", 4, 4},
	{"data", "mesh dp = 4  shard batch over dp", 4, 1},
	{"tensor", "mesh ep = 2, tp = 2  shard batch, experts over ep  shard heads, ffn over tp", 2, 2},
	{"experts_alone", "mesh ep = 2  shard experts over ep", 1, 1},
}

// Every layout computes what one device does, and sharding the batch and the
// experts over one mesh axis takes two all-to-alls forward and two backward for
// each block, of k · capacity rows for every token, and no other traffic of
// tokens. Lepikhin et al., "GShard" (2020), section 3.2.
func TestMoELayouts(t *testing.T) {
	const layers, batch, seq, embed, experts, k = 2, 4, 16, 16, 4, 2
	const slots = seq * k / experts * 5 / 4
	src, err := os.ReadFile("../examples/moe/moe.ptl")
	if err != nil {
		t.Fatal(err)
	}
	set := []string{"layers=2", "batch=4", "seq=16", "embed=16", "heads=2", "head=8", "experts=4", "ffn=12", "capacity=1.25"}
	for _, l := range moeLayouts {
		t.Run(l.name, func(t *testing.T) {
			text := string(src)
			if l.text != "" {
				text += "\nlayout " + l.name + " { " + l.text + " }\n"
			}
			var after string
			report, r, err := Check(Options{File: "moe.ptl", Source: []byte(text), Set: set, Layout: l.name, Target: "ref",
				Hooks: []Hook{func(_ int, name string, ir func() string, _ time.Duration) error {
					if name == "partition" {
						after = ir()
					}
					return nil
				}}})
			if err != nil {
				t.Fatalf("%v (%v)", err, r)
			}
			if bad := report.First(); bad != nil {
				t.Errorf("%s changes %s by %g", bad.Pass, bad.Worst, bad.Diff)
			}
			m, errs := ir.Parse("moe.ptir", []byte(after))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			for fn, passes := range map[string]int{"step": 4, "eval": 2} {
				exchanged := 0
				for _, o := range m.Func(fn).Ops {
					if op.Of(o).Class != op.Collective || !strings.HasSuffix(o.Scope, ".moe") {
						continue
					}
					elems := o.Result().Type.Elems()
					switch {
					case o.Name == "all_to_all":
						exchanged++
						if want := experts * slots * batch / l.batch * embed; elems != want {
							t.Errorf("@%s exchanges %d elements, want %d: %s", fn, elems, want, o.Result().Type)
						}
					case l.name != "tensor" && l.name != "experts_alone" && elems > 1:
						t.Errorf("@%s has %s of %s", fn, o.Name, o.Result().Type)
					}
				}
				want := passes * layers
				if l.experts == 1 {
					want = 0
				}
				if exchanged != want {
					t.Errorf("@%s has %d all_to_alls, want %d", fn, exchanged, want)
				}
			}
		})
	}
}
