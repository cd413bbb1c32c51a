package passes

import (
	"testing"

	"ptc/ir/irtest"
	"ptc/passes/pass"
)

// BenchmarkDeep runs every pass over 48 layers.
func BenchmarkDeep(b *testing.B) {
	s := irtest.Sizes{Layers: 48, Batch: 8, Seq: 64, Heads: 4, Head: 16, FFN: 256, Vocab: 256}
	for range b.N {
		m := irtest.Transformer(s)
		t := &Timings{}
		if err := Run(&pass.Context{}, m, &Options{Hooks: []Hook{t.Hook}}); err != nil {
			b.Fatal(err)
		}
		b.Log("\n" + t.String())
	}
}
