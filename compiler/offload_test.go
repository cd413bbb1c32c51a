package compiler_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
)

var slow = flag.Bool("slow", false, "all cases of tests that take long")

// TestOffloadIsExact: where states and activations are makes no difference, to
// the bit, compared with the same layout with all in device memory.
func TestOffloadIsExact(t *testing.T) {
	targets := []string{"ref:f64"}
	if _, err := llvm.Load(); err == nil {
		targets = append(targets, "cpu")
	} else if os.Getenv(llvm.EnvLLVM) != "none" {
		t.Fatal(err)
	}
	optimizer := "offload optimizer to host { piece = 2 KiB }"
	both := optimizer + "  offload activations of Block to disk"
	type layout struct {
		model, spec, set, extra, rest string
		native                        bool // as native code too: kernels of pieces, of parts, of fewer bits
	}
	layouts := []layout{
		{"gpt", "single", "", both, "", true},
		{"gpt", "single", "", "offload optimizer to disk { piece = 1 }  offload activations to host", "", *slow},
		{"gpt", "single", "layers=4", optimizer, "", *slow},
		{"gpt", "dp2 z3", "layers=4", optimizer, "", false},
		{"gpt", "dp2 z1 1f1b:2:4 tp2 sp", "layers=6", optimizer, "", true},
		{"gpt", "dp2 z1", "layers=3", optimizer, "precision { compute = f16 }", *slow},
		{"gpt", "dp2 z3", "", both, "", false},
		{"gpt", "dp2 z1", "", both, "precision { compute = f16 }", true},
		{"gpt", "single", "", both, "precision { compute = bf16  params = bf16 }", true},
		{"mlp", "single", "", optimizer, "", false},
		{"moe", "ep4", "", "offload optimizer, activations to disk", "", true},
		{"llama", "tp2", "", both, "", false},
		{"gpt", "single", "layers=4", both, "", *slow},
		{"gpt", "dp2 z3", "layers=4", both, "", false},
		{"gpt", "dp2 z1", "layers=4", both, "recompute Block", false},
		{"gpt", "1f1b:2:4", "layers=6", both, "", false},
		{"gpt", "zb_v:2:4", "layers=9", both, "", true},
		{"gpt", "dp2 z1 interleaved:2:4:2 tp2 sp", "layers=8", both, "", false},
	}
	if *slow {
		layouts = append(layouts, []layout{
			{"gpt", "single", "layers=3", "offload optimizer to disk { piece = 1 }", "", true},
			{"gpt", "dp2", "", optimizer, "", false},
			{"gpt", "dp2 z1", "", both, "", false},
			{"gpt", "dp2 z2", "", both, "", false},
			{"gpt", "dp2 z1 1f1b:2:2 tp2 sp", "layers=3", both, "", true},
			{"gpt", "dp2", "", both, "recompute Block", false},
			{"gpt", "gpipe:2:4", "layers=5", both, "", false},
			{"gpt", "interleaved:2:4:2", "layers=8", both, "", false},
			{"gpt", "zb_h1:2:4", "layers=6", both, "", false},
			{"gpt", "dualpipe_v:2:8", "layers=8", "offload activations to disk", "", false},
			{"gpt", "dp2 z2 zb_v:2:4", "layers=8", both, "recompute Block { keep = [attn] }", false},
		}...)
	}
	for _, c := range layouts {
		m, err := matrix.Find(c.model)
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range targets {
			if target == "cpu" && !c.native {
				continue
			}
			name := strings.TrimSpace(c.model+" "+c.spec+" "+c.rest) + " " + target
			t.Run(name, func(t *testing.T) {
				run := func(offloaded bool, extra string) *matrix.Run {
					p, err := matrix.Compile("..", m, matrix.Layout{Spec: c.spec, Set: c.set, Extra: extra}, target)
					if err != nil {
						t.Fatal(err)
					}
					if d := p.Devices[0]; (d.Host+d.Disk > 0) != offloaded {
						t.Errorf("%d bytes on the host, %d on disk", d.Host, d.Disk)
					}
					r, err := matrix.Train(p)
					if err != nil {
						t.Fatal(err)
					}
					return r
				}
				if r := matrix.Compare(run(false, c.rest), run(true, c.extra+"  "+c.rest), matrix.Target{Tolerance: 0}); !r.OK() {
					t.Error(r)
				}
			})
		}
	}
}
