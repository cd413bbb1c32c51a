package gpu

import (
	"testing"

	"ptc/backend/gpu/target"
	"ptc/ir"
	"ptc/ir/irtest"
)

// Attentions of the heads that models have fit into a block of each target, in both phases: the
// schedule that is chosen leaves enough shared memory for exchanges.
func TestAttentionsFit(t *testing.T) {
	for _, a := range []irtest.Attention{
		{Batch: 2, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 2, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 64, Values: 64, Causal: true, Stats: true, BF16: true},
		{Batch: 2, Heads: 2, Group: 4, Rows: 500, Keys: 500, Cols: 128, Values: 128, Causal: true, Stats: true, BF16: true},
		{Batch: 2, Heads: 2, Group: 4, Rows: 512, Keys: 512, Cols: 128, Values: 128, Causal: true, Stats: true},
		{Batch: 1, Heads: 2, Group: 1, Rows: 300, Keys: 300, Cols: 256, Values: 256, Causal: true, Stats: true},
		{Batch: 1, Heads: 4, Group: 1, Rows: 512, Keys: 512, Cols: 128, Values: 128, Causal: true, Stats: true, BF16: true, Latent: true},
		{Batch: 1, Heads: 4, Group: 8, Rows: 1, Keys: 512, Cols: 128, Values: 128, BF16: true},
	} {
		for _, text := range []string{a.Forward(), a.Backward()} {
			m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			for _, name := range target.Names() {
				to, err := target.Resolve(name)
				if err != nil {
					t.Fatal(err)
				}
				k, err := Kernel(m.Funcs[0], to, nil)
				if err != nil {
					t.Errorf("%+v: %v", a, err)
					continue
				}
				t.Log(a, k.Blocks, k.Shared, k.Entry.Threads, len(k.Entry.Body))
			}
		}
	}
}
