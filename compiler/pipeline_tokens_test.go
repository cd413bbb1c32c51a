package compiler_test

import (
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/compiler"
)

// tokens is a program of two blocks that reads tokens, by its sizes, the members of a
// block, the members of the model, and what follows them.
func tokens(sizes, block, members, body string) string {
	return `import std.nn
import std.optim
import std.data
config { batch = 8  seq = 4  heads = 2  head = 4  ffn = 16  layers = 2  ` + sizes + ` }
module Block {
  ` + block + `
}
model M {
  ` + members + `
  blocks : Block[layers]
  ` + body + `
}
` + layoutsOfTokens
}

const layoutsOfTokens = `
layout single { }
layout three { mesh dp = 2, pp = 2, tp = 2  shard batch over dp  shard heads, ffn, vocab over tp  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }  zero 1 over dp }
`

const (
	untied       = `param table, head : [vocab, embed] ~ normal(std = 0.5)`
	gptBlock     = "n, k : nn.RMSNorm  a : nn.CausalAttention  m : nn.MLP\n  fn apply(x) { h = x + a(k(x))  return h + m(n(h)) }"
	bodyOfTokens = `fn apply(tokens: i32[batch, seq]) {
    x = table[vocab = tokens]
    for b in blocks { x = b(x) }
    return dot(x, head, over = embed)
  }
}
train M {
  loss      = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 0.01, clip = 1.0)
  data      = data.synthetic_tokens(pattern = random)
`
)

// pipelinedTokens are programs whose values are partial, shared or unused in ways that
// single layers are not. The sum of squares of a large table is two kernels.
var pipelinedTokens = map[string]string{
	"sums over two mesh axes": tokens("embed = 64  vocab = 1024", gptBlock, untied, bodyOfTokens),
}

// TestPipelinedTokens: losses, gradients and parameters are those of one device.
func TestPipelinedTokens(t *testing.T) {
	for name, src := range pipelinedTokens {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			var want *matrix.Run
			for _, layout := range []string{"single", "three"} {
				p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64", VerifyEach: true})
				if err != nil {
					t.Fatalf("%s: %v", layout, err)
				}
				got, err := matrix.TrainOn(p, 3, 2)
				if err != nil {
					t.Fatalf("%s: %v", layout, err)
				}
				if want == nil {
					want = got
				} else if r := matrix.Compare(want, got, matrix.Target{Tolerance: 1e-10}); !r.OK() {
					t.Errorf("%s: %v", layout, r)
				}
			}
		})
	}
}
