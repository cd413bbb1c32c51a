package compiler_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/bench/matrix"
)

// besides is a model of which a block adds up several modules, as BLOCK says.
const besides = `import std.nn
import std.optim
import std.data
config { layers = 4  batch = 8  seq = 8  embed = 24  heads = 4  kv = 1  head = 4  ffn = 32  vocab = 16  experts = 4 }
module Block {
  norm1, norm2 : nn.RMSNorm
  attn  : nn.GroupedQueryAttention
  mlp, more : nn.SwiGLU
  moe   : nn.MoE(k = 2, capacity = 2.0)
  fn apply(x) {
    BLOCK
  }
}
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]
  norm : nn.RMSNorm
  fn loss(tokens: i32[batch, seq], targets: i32[batch, seq]) {
    x = wte[vocab = tokens]
    for b in blocks { x = b(x) }
    return nn.cross_entropy(dot(norm(x), wte, over = embed), targets, over = vocab)
  }
}
train M {
  loss = M.loss(tokens, targets)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// besideBlocks are blocks that add up modules, and how many sums of an activation they have in either phase.
var besideBlocks = []struct {
	text string
	sums int
}{
	{"h = norm1(x)\n return x + attn(h) + mlp(h)", 1}, // Chowdhery et al., "PaLM" (2022), section 2
	{"h = norm1(x)\n return attn(h) + x + mlp(h)", 1},
	{"h = norm1(x)\n return x + attn(h) + mlp(h) + more(h)", 1},
	{"h = norm1(x)\n return mlp(h) + (attn(h) + x)", 1},
	{"x = x + attn(norm1(x))\n h = norm2(x)\n y, aux = moe(h)\n return x + y + mlp(h)", 2}, // DeepSeek-AI, "DeepSeekMoE" (2024), section 3.2
	{"x = x + attn(norm1(x))\n h = norm2(x)\n y, aux = moe(h)\n return x + (mlp(h) + y)", 2},
}

// TestSumsBesideEachOther: with sequence parallelism, modules of one input that a block adds up reduce-scatter their
// sum once, and their gradients of the input once, in the dtype in which products leave results, in every precision, with
// microbatches, pipelines and rematerialization or without, whichever way the sum is written. Of three precisions each
// combination has one or two.
func TestSumsBesideEachOther(t *testing.T) {
	const layers, tokens, width, tp = 4, 8 * 8, 24, 2
	for i, l := range []struct {
		rules string
		micro int64
	}{
		{"mesh tp = 2", 1},
		{"mesh tp = 2  recompute Block", 1},
		{"mesh pp = 2, tp = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }", 2},
		{"mesh pp = 2, tp = 2  recompute Block  pipeline blocks over pp { schedule = zb_h1  microbatches = 2 }", 2},
	} {
		for j, b := range besideBlocks {
			src := strings.Replace(besides, "BLOCK", b.text, 1)
			rules := l.rules + "  shard heads, ffn over tp  shard seq over tp between Block  bucket = 0  overlap none  "
			for k, x := range precisions {
				if (i+j+k)%3 > 0 {
					continue
				}
				p := expanded(t, planUnder(t, src, rules+x.rule, "ref"))
				act := tokens * width * x.size / l.micro
				got := map[message]int{}
				for m, n := range inBlocks(t, p, tp, act/3) {
					if m.kind == "reduce_scatter" || m.kind == "all_reduce" {
						got[m] = n
					}
				}
				again := 0 // a block's last sum is read by no gradient
				if strings.Contains(l.rules, "recompute") {
					again = b.sums - 1
				}
				equal(t, fmt.Sprint(l.rules, ": ", b.text, ", ", x.name), got,
					map[message]int{{"reduce_scatter", "tp", true, act}: (2*b.sums + again) * layers * int(l.micro)})
			}
		}
	}
}

// TestSumsBesideEachOtherTrain: blocks that add up modules train as on one device.
func TestSumsBesideEachOtherTrain(t *testing.T) {
	for i, b := range besideBlocks {
		src := strings.Replace(besides, "BLOCK", b.text, 1)
		one := trainedOn(t, src, "mesh tp = 1", "ref:f64")
		rules := []string{
			"mesh tp = 4  shard heads, ffn, vocab over tp  shard seq over tp between Block",
			"mesh pp = 2, tp = 2  shard heads, ffn over tp  shard seq over tp between Block  recompute Block  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }",
		}[i%2]
		if r := matrix.Compare(one, trainedOn(t, src, rules, "ref:f64"), matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s: %s: %v", rules, b.text, r)
		}
	}
}
