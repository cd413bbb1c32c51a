package compiler_test

import (
	"os"
	"testing"

	"ptc/compiler"
)

// TestMathematics: the arithmetic of a model's step is the same under every layout, and what devices compute is no less. It is
// that of the products to a few percent: 6 FLOP for each element of a matrix and token, and half of the scores.
func TestMathematics(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src) + "\nlayout again { recompute Block }\n"
	const layers, embed, ffn, vocab, seq, batch = 4, 256, 1024, 4096, 256, 8
	set := []string{"layers=4", "embed=256", "heads=4", "head=64", "ffn=1024", "vocab=4096", "seq=256", "batch=8"}
	tokens := float64(seq * batch)
	products := 6*tokens*(layers*(4*embed*embed+2*embed*ffn)+embed*vocab) + 3*tokens*layers*(4*embed*seq/2)
	first := 0.0
	for _, l := range []string{"single", "data", "three_d", "again"} {
		p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: []byte(text), Layout: l, Set: set, Target: "ref"})
		if err != nil {
			t.Fatal(err)
		}
		got := p.Stats.ModelFlops
		if first == 0 {
			first = got
		}
		if got < products || got > 1.05*products || got < 0.999*first || got > 1.001*first {
			t.Errorf("layout %s: %g FLOP; the products take %g, layout single %g", l, got, products, first)
		}
		if all := p.Stats.FlopsPerStep; all < 0.99*got || l == "again" && all < 1.15*got {
			t.Errorf("layout %s: devices compute %g FLOP of %g", l, all, got)
		}
	}
}
