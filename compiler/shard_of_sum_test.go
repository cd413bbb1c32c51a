package compiler

import "testing"

// The gradient of tied embeddings is a sum over the last stage's microbatches, of which the
// first stage needs a shard: that is cut and sent once, behind the last one.
const tied = `import std.nn
import std.optim
import std.data
config { batch = 6  seq = 2  embed = 2  vocab = 3  heads = 1  kv = 1  head = 2 }
module Block {
  param gate : [embed] ~ normal(std = 0.3)
  fn apply(x) { return cumsum(x, over = seq) * sigmoid(x * gate) }
}
model Net {
  param wte : [vocab, embed] ~ normal(std = 0.3)
  blocks : Block[2]
  tail : nn.GroupedQueryAttention(heads = heads, kv = kv, std = 0.3, out_std = 0.3)
  fn apply(tokens: i32[batch, seq]) {
    h = wte[vocab = tokens]
    for b in blocks { h = h + b(h) }
    return dot(h + tail(h), wte, over = embed)
  }
}
train Net {
  loss = nn.cross_entropy(Net(tokens), targets, over = vocab)
  optimizer = optim.SGD(lr = 0.1, momentum = 0)
  data = data.synthetic_tokens()
}
`

func TestShardOfASum(t *testing.T) {
	for _, schedule := range []string{"1f1b", "gpipe", "zb_h1", "zb_h2"} {
		text := tied + "layout l { mesh tp = 2, pp = 2  pipeline blocks over pp { schedule = " + schedule +
			"  microbatches = 6 }  shard embed of tail.wv over tp }\n"
		report, _, err := Check(Options{File: "tied.ptl", Source: []byte(text), Layout: "l", Target: "ref"})
		if err != nil {
			t.Errorf("%s: %v", schedule, err)
		} else if x := report.First(); x != nil {
			t.Errorf("%s: %s changes %s by %.3g, allowed are %.3g", schedule, x.Pass, x.Worst, x.Diff, x.Tol)
		}
	}
}
