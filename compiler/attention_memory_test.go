package compiler_test

import (
	"os"
	"testing"

	"ptc/compiler"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// A layer keeps what selective recomputation keeps (Korthikanti et al., "Reducing
// activation recomputation in large transformer models", 2022, table 2), with no rule
// that asks for it: in units of positions times width, for 16 bits an element, 34 alone,
// 10 + 24/t with tensor parallelism, 34/t with sequence parallelism as well.
func TestAttentionKeepsNoScores(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	const seq, batch, embed, tp = 2048, 64, 256, 4
	tensor := "  mesh tp = 4\n  shard heads, ffn, vocab over tp\n"
	for _, c := range []struct {
		name, rules string
		most        float64
	}{
		{"alone", "", 34},
		{"tensor parallelism", tensor, 10 + 24./tp},
		{"sequence parallelism", tensor + "  shard seq over tp between Block\n", 34. / tp},
	} {
		kept := func(layers string) float64 {
			p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Target: "ref", Layout: "l",
				Source: []byte(string(src) + "\nlayout l {\n" + c.rules + "  precision { compute = bf16 }\n}\n"),
				Set:    []string{"layers=" + layers, "batch=64", "seq=2048", "embed=256", "heads=8", "head=32"}})
			if err != nil {
				t.Fatal(err)
			}
			return float64(explain.Describe(p).Memory.Arena[program.Activations])
		}
		if got := (kept("8") - kept("4")) / 4 / (seq * batch * embed); got > c.most {
			t.Errorf("%s: a layer keeps %.2f, more than %.2f", c.name, got, c.most)
		}
	}
}

// TestMovedGradients: gradients lie where activations were, but for less than those of one block, as those that
// are made at the end of an iteration need not be moved to another block's place. Parameters, two states and gradients
// are four times the parameters.
func TestMovedGradients(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	memory := func(layers string) (arena, params int64) {
		p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Target: "ref", Source: src, Set: []string{"layers=" + layers, "batch=1"}})
		if err != nil {
			t.Fatal(err)
		}
		return p.Devices[0].Arena, explain.Describe(p).Memory.Arena[program.Params]
	}
	_, before := memory("11")
	arena, params := memory("12")
	if more, block := arena-4*params, params-before; more <= 0 || more >= block {
		t.Errorf("%d bytes of %d are no parameter, state or gradient; a block's gradients are %d", more, arena, block)
	}
}
