package compiler_test

import (
	"strings"
	"testing"
	"time"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/ir"
)

// terms is a model of which each block adds a term to the loss: a mean that a number scales, as
// routers of experts have it.
const terms = `import std.nn
import std.optim
import std.data
config { layers = 8  batch = 16  seq = 8  embed = 16  ffn = 32  vocab = 16 }
module Block {
  norm : nn.RMSNorm
  mlp  : nn.SwiGLU
  fn apply(x) {
    y = mlp(norm(x))
    return x + y, TERM
  }
}
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]
  fn loss(tokens: i32[batch, seq], targets: i32[batch, seq]) {
    x = wte[vocab = tokens]
    total = 0
    for b in blocks {
      x, term = b(x)
      total = total + term
    }
    return nn.cross_entropy(dot(x, wte, over = embed), targets, over = vocab) + total / layers
  }
}
train M {
  loss = M.loss(tokens, targets)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// TestTerms: blocks that each add a term to the loss stay written once where the batch is cut
// into microbatches, and train as on one device.
func TestTerms(t *testing.T) {
	layouts := []string{
		"mesh dp = 2  shard batch over dp  accumulate = 4",
		"mesh dp = 2  shard batch over dp  accumulate = 2  zero 2 over dp",
		"mesh dp = 2, pp = 2  shard batch over dp  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }  recompute Block",
		"mesh pp = 2  pipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 4 }",
		"mesh pp = 2  pipeline blocks over pp { schedule = zb_h1  microbatches = 2 }  accumulate = 2",
		"mesh pp = 2  pipeline blocks over pp { schedule = zb_h1  microbatches = 1 }",
	}
	for _, term := range []string{"0.3 * mean(y * y)", "mean(0.3 * y * y)", "mean(y * y) / 4 - mean(x * y)"} {
		one := trainedTerms(t, term, "mesh dp = 1")
		for _, l := range layouts {
			t.Run(term+"/"+l, func(t *testing.T) {
				if r := matrix.Compare(one, trainedTerms(t, term, l), matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
					t.Error(r)
				}
			})
		}
	}
}

// trainedTerms trains terms with this term under the rules.
func trainedTerms(t *testing.T, term, rules string) *matrix.Run {
	t.Helper()
	return trainedInStacks(t, strings.Replace(terms, "TERM", term, 1)+"layout l {\n  "+rules+"\n}\n", 1)
}

// trainedInStacks compiles a program of tokens, of which stage must leave at least so many stacks in
// each function, and trains it.
func trainedInStacks(t *testing.T, source string, stacks int) *matrix.Run {
	t.Helper()
	after := ""
	p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(source), Target: "ref:f64", VerifyEach: true,
		Hooks: []compiler.Hook{func(_ int, name string, text func() string, _ time.Duration) error {
			if name == "stage" {
				after = text()
			}
			return nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("stage.ptir", []byte(after))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range m.Funcs {
		if len(f.Stacks) < stacks {
			t.Errorf("@%s has %d stacks, not %d", f.Name, len(f.Stacks), stacks)
		}
	}
	got, err := matrix.TrainOn(p, 2, 16)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
