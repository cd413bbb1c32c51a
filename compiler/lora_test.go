package compiler_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/bench/matrix"
)

// TestLora: under every kind of layout adapters are trained as on one device, and what
// they adapt stays as it is, to the bit.
func TestLora(t *testing.T) {
	m := mustFind(t, "gpt")
	m.Drop = append(slices.Clone(m.Drop), [2]string{"train GPT {", "train GPT {\n  lora { rank = 2  alpha = 4  on = blocks.*.attn.wq, **.wo, **.mlp.w1, wte }"})
	alone := map[string]*matrix.Run{}
	for _, l := range []struct{ spec, set string }{
		{"single", ""}, {"dp2 z1", ""}, {"dp2 z3", ""}, {"dp2 tp2 sp", ""}, {"single", "layers=3"}, {"1f1b:2:2", "layers=3"}, {"zb_h1:2:4", "layers=3"},
	} {
		p, err := matrix.Compile("..", m, matrix.Layout{Spec: l.spec, Set: l.set}, "ref:f64")
		if err != nil {
			t.Errorf("%s: %v", l.spec, err)
			continue
		}
		after, err := matrix.Train(p)
		if err != nil {
			t.Fatalf("%s: %v", l.spec, err)
		}
		for path := range after.Grads {
			if !strings.Contains(path, ".lora_") {
				t.Errorf("%s: a gradient of %s", l.spec, path)
			}
		}
		if alone[l.set] == nil {
			alone[l.set] = after
			before, err := matrix.TrainOn(p, 1, 44)
			if err != nil {
				t.Fatal(err)
			}
			for path, x := range before.Params {
				if part := strings.Contains(path, ".lora_"); slices.Equal(x, after.Params[path]) == part && !strings.Contains(path, "/") {
					t.Errorf("%s: of an adapter %t, changed by steps %t", path, part, !part)
				}
			}
			continue
		}
		if r := matrix.Compare(alone[l.set], after, matrix.Target{Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s %s: %v", l.spec, l.set, r)
		}
	}
}
