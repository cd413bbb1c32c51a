package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/compiler"
)

// wideModel is a model whose matrices have axes of embed and ffn, its gains one of embed.
const wideModel = `import std.nn
import std.optim
import std.data
config { layers = 3  batch = 18  embed = 256  ffn = 512 }
module Block {
  norm : nn.RMSNorm
  mlp  : nn.SwiGLU
  fn apply(x) { return x + mlp(norm(x)) }
}
model M {
  blocks : Block[layers]
  fn loss(x: f32[batch, embed], y: f32[batch, embed]) {
    for b in blocks { x = b(x) }
    return mean((x - y) * (x - y))
  }
}
train M {
  loss = M.loss(x, y)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic(from = embed, to = embed)
  steps = 1
}
`

// TestZeroLeavesWhole: optimizer states that zero cannot shard are a warning with their bytes on each device, in every level,
// with a pipeline or without; a few gains are none, nor are states of fewer bytes than matter.
func TestZeroLeavesWhole(t *testing.T) {
	const matrices = 3 * 3 * 256 * 512 * 2 * 4 // two moments, in f32
	for _, c := range []struct {
		rules, set string
		whole      float64 // MiB; 0 for no warning
	}{
		{"mesh dp = 9  shard batch over dp  zero 1 over dp", "", matrices + 3*256*8},
		{"mesh dp = 9  shard batch over dp  zero 3 over dp", "", matrices + 3*256*8},
		{"mesh dp = 9, tp = 2  shard batch over dp  shard ffn over tp  zero 2 over dp", "", matrices/2 + 3*256*8},
		{"mesh dp = 9, pp = 3  shard batch over dp  zero 1 over dp  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }", "", matrices/3 + 256*8},
		{"mesh dp = 9  shard batch over dp  zero 1 over dp", "ffn=513", 0}, // gains alone
		{"mesh dp = 9  shard batch over dp  zero 1 over dp", "embed=16", 0},
		{"mesh dp = 2  shard batch over dp  zero 1 over dp", "", 0},
	} {
		var set []string
		if c.set != "" {
			set = []string{c.set}
		}
		_, r, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(wideModel + "layout l {\n  " + c.rules + "\n}\n"), Layout: "l", Target: "ref", Set: set})
		if err != nil {
			t.Fatalf("%s: %v", c.rules, err)
		}
		var got []string
		for _, w := range r.Warnings {
			if strings.Contains(w, "W0403") {
				got = append(got, w)
			}
		}
		want := fmt.Sprintf("leaves about %.2f MiB of ", c.whole/(1<<20))
		if c.whole == 0 && len(got) > 0 || c.whole > 0 && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s %s: %q, want %q", c.rules, c.set, got, want)
		}
	}
}
