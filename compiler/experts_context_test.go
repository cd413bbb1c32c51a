package compiler_test

import (
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/internal/collective"
)

// sequences is a model of experts whose places are five times as many as the tokens of a sequence.
const sequences = `import std.nn
import std.optim
import std.data
config { layers = 2  batch = 4  seq = 16  embed = 16  heads = 2  head = 8  experts = 8  ffn = 2  vocab = 32 }
module Block {
  norm1 : nn.RMSNorm
  attn  : nn.CausalAttention
  norm2 : nn.RMSNorm
  moe   : nn.MoE(k = 4, capacity = 1.25, std = 0.5, out_std = 0.5)
  fn apply(x) {
    h = x + attn(norm1(x))
    y, aux = moe(norm2(h))
    return h + y, aux
  }
}
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]
  fn loss(tokens: i32[batch, seq], targets: i32[batch, seq]) {
    x = wte[vocab = tokens]
    total = 0
    for b in blocks {
      x, aux = b(x)
      total = total + aux
    }
    return nn.cross_entropy(dot(x, wte, over = embed), targets, over = vocab) + total
  }
}
train M {
  loss = M.loss(tokens, targets)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// TestExpertsOfSharedSequences: where devices share sequences, and so the rows of experts, no device has places of other
// rows than its share: in f32 and in less the largest message of a block's experts is a gathered activation, what is
// exchanged is a share of the places, and training is that of one device.
func TestExpertsOfSharedSequences(t *testing.T) {
	const layers, batch, seq, embed, slots = 2, 4, 16, 16, 8 * 10
	one := trainedOn(t, sequences, "mesh cp = 1", "ref:f64")
	ticks := trainedOn(t, sequences, "accumulate = 2", "ref:f64")
	for _, l := range []struct {
		rules         string
		cp, ep, micro int64
		like          *matrix.Run
	}{
		{"mesh cp = 2  shard seq over cp { attention = gather }", 2, 1, 1, one},
		{"mesh cp = 2, ep = 2  shard seq over cp { attention = ring  order = zigzag }  shard batch, experts over ep", 2, 2, 1, one},
		{"mesh cp = 2, ep = 2  shard seq over cp { attention = ring }  shard batch, experts over ep  accumulate = 2  recompute Block", 2, 2, 2, ticks},
		{"mesh pp = 2, cp = 2, ep = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }  shard seq over cp { attention = ring }  shard batch, experts over ep  zero 1 over (cp, ep)", 2, 2, 2, ticks},
	} {
		if r := matrix.Compare(l.like, trainedOn(t, sequences, l.rules, "ref:f64"), matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s: %v", l.rules, r)
		}
		rows := batch / l.ep / l.micro * embed
		for _, x := range []precision{precisions[0], lowPrecisions[0], lowPrecisions[1]} {
			p := expanded(t, planUnder(t, sequences, l.rules+"  bucket = 0  overlap none  "+x.rule, "ref"))
			for i := range p.Devices {
				exchanged := 0
				for _, in := range step(t, &p.Devices[i]) {
					most := rows * seq * x.size
					switch {
					case !strings.HasSuffix(in.Scope, ".moe"):
						continue
					case in.Comm.Kind == collective.AllToAll:
						exchanged++
						most = rows * slots / l.cp * x.size
					}
					if in.Comm.Bytes > most {
						t.Errorf("%s %s: %s of %d bytes in %s, at most %d", l.rules, x.name, in.Comm.Kind, in.Comm.Bytes, in.Scope, most)
					}
				}
				if exchanged == 0 {
					t.Errorf("%s %s: places are not exchanged", l.rules, x.name)
				}
			}
		}
	}
}
