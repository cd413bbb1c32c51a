package compiler_test

import (
	"testing"

	"ptc/bench/matrix"
)

// layered is a model with layers of another kind in front of its blocks and behind them, as dense layers
// are in front of those with experts. Its heads are in groups of fewer keys than tp has devices.
const layered = `import std.nn
import std.optim
import std.data
config { layers = 4  batch = 8  seq = 8  embed = 16  heads = 8  kv = 2  head = 4  ffn = 32  vocab = 16 }
module Dense {
  norm : nn.RMSNorm
  mlp  : nn.MLP
  fn apply(x) { return x + mlp(norm(x)) }
}
module Block {
  n1   : nn.RMSNorm
  attn : nn.GroupedQueryAttention
  mlp  : nn.SwiGLU
  fn apply(x) {
    h = n1(x)
    return x + attn(h) + mlp(h)
  }
}
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  first  : Dense[3]
  blocks : Block[layers]
  last   : Dense[3]
  fn apply(tokens: i32[batch, seq]) {
    x = wte[vocab = tokens]
    for b in first { x = b(x) }
    for b in blocks { x = b(x) }
    for b in last { x = b(x) }
    return dot(x, wte, over = embed)
  }
}
train M {
  loss = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// TestBeside: layers in front of a pipeline's blocks and behind them stay written once on the first
// stage and the last, and train as on one device.
func TestBeside(t *testing.T) {
	one := trainedLayered(t, "mesh dp = 1", 0)
	for _, l := range []struct {
		rules  string
		stacks int // after the stages are known
	}{
		{"mesh pp = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }  recompute Block", 4},
		{"mesh dp = 2, pp = 2  shard batch over dp  pipeline blocks over pp { schedule = zb_v  microbatches = 2 }  zero 1 over dp  recompute Block, Dense", 2},
		{"mesh pp = 2, tp = 4  shard heads, ffn, vocab over tp  shard seq over tp between Block, Dense  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }  recompute Block", 4},
		{"mesh tp = 8  shard heads, ffn, vocab over tp  shard seq over tp between Block, Dense", 3},
		{"mesh dp = 2, tp = 4  shard batch over dp  shard heads, ffn, vocab over tp  zero 3 over dp  accumulate = 2", 3},
	} {
		t.Run(l.rules, func(t *testing.T) {
			if r := matrix.Compare(one, trainedLayered(t, l.rules, l.stacks), matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
				t.Error(r)
			}
		})
	}
}

// trainedLayered trains the model under the rules, which leave it so many stacks.
func trainedLayered(t *testing.T, rules string, stacks int) *matrix.Run {
	t.Helper()
	return trainedInStacks(t, layered+"layout l {\n  "+rules+"\n}\n", stacks)
}
