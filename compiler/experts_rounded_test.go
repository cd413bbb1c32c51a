package compiler_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/runtime/program"
)

// many is a model of experts whose slots, with the groups behind them, are more rows than maxima are found of one by
// one: the maximum of each slot is of all groups, and of the batch.
const many = `import std.nn
import std.optim
import std.data
config { layers = 2  batch = 16400  seq = 2  embed = 2  experts = 2  ffn = 2  vocab = 4 }
module Block {
  norm : nn.RMSNorm
  moe  : nn.MoE(capacity = 2)
  fn apply(x) {
    y, aux = moe(norm(x))
    return x + y, aux
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
  optimizer = optim.SGD(lr = 0.1)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// planUnder compiles source under rules for the reference.
func planUnder(t *testing.T, src, rules, target string) *program.Plan {
	t.Helper()
	p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src + "layout l {\n  " + rules + "\n}\n"), Target: target, VerifyEach: true})
	if err != nil {
		t.Fatalf("%s: %v", rules, err)
	}
	return p
}

// trainedOn trains source under rules for two steps.
func trainedOn(t *testing.T, src, rules, target string) *matrix.Run {
	t.Helper()
	r, err := matrix.TrainOn(planUnder(t, src, rules, target), 2, 8)
	if err != nil {
		t.Fatalf("%s: %v", rules, err)
	}
	return r
}

// TestUnitsOfMicrobatches: an operand in eight bits has a unit in each microbatch, however many steps its maximum is found
// in, so that a pipeline rounds as one device does that takes the same microbatches in turns.
func TestUnitsOfMicrobatches(t *testing.T) {
	const rounds = "  precision { compute = bf16  products = f8 }"
	one := trainedOn(t, many, "accumulate = 2"+rounds, "ref")
	got := trainedOn(t, many, "mesh pp = 2, ep = 2  shard batch, experts over ep  pipeline blocks over pp { schedule = gpipe  microbatches = 2 }  recompute Block"+rounds, "ref")
	for i, want := range one.Losses {
		if !(math.Abs(got.Losses[i]-want) <= 1e-4*want) {
			t.Errorf("losses %v, on one device %v", got.Losses, one.Losses)
			break
		}
	}
}

// further is a model that predicts one token further, by a block behind the stack that reads what the stack made, and in
// which every expert sees every token.
const further = `import std.nn
import std.optim
import std.data
config { layers = 4  batch = 8  seq = 8  embed = 16  experts = 8  inner = 8  vocab = 128 }
module Experts {
  param router : [embed, gate = experts]     ~ normal(std = 0.5)
  param w1     : [experts, embed, inner]     ~ normal(std = 0.3)
  param w2     : [experts, inner, embed]     ~ normal(std = 0.3)
  shared       : nn.SwiGLU(hidden = inner)
  fn apply(x) {
    share = softmax(dot(x, router, over = embed), over = gate).rename(gate = experts)
    y = dot(silu(dot(x, w1, over = embed)), w2, over = inner)
    return sum(share * y, over = experts) + shared(x)
  }
}
module Block {
  norm : nn.RMSNorm
  mlp  : Experts
  fn apply(x) { return x + mlp(norm(x)) }
}
module Next {
  norm1, norm2, norm : nn.RMSNorm
  param a, b : [embed, to = embed] ~ normal(std = 0.3)
  block : Block
  fn apply(x, e) {
    h = dot(norm1(x), a, over = embed) + dot(norm2(e), b, over = embed)
    return norm(block(h.rename(to = embed)))
  }
}
model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]
  norm   : nn.RMSNorm
  output : nn.Linear(embed, vocab, bias = false)
  next   : Next
  fn loss(tokens: i32[batch, seq], targets: i32[batch, seq]) {
    x = wte[vocab = tokens]
    for b in blocks { x = b(x) }
    y = next(x, wte[vocab = targets])
    return nn.cross_entropy(output(norm(x)), targets, over = vocab) + 0.3 * nn.cross_entropy(output(y), targets, over = vocab)
  }
}
train M {
  loss = M.loss(tokens, targets)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 2
}
`

// TestOneTokenFurther: where experts and the vocabulary are over one mesh axis, the gradient of a block behind the stack
// is reduced before all experts get it, so that no message of the block is of more than one activation, and every layout
// trains as one device does. DeepSeek-AI, "DeepSeek-V3 technical report" (2024), section 2.2.
func TestOneTokenFurther(t *testing.T) {
	const tokens, embed = 8 * 8, 16
	one := trainedOn(t, further, "mesh ep = 1", "ref:f64")
	for _, l := range []struct {
		rules string
		micro int64
	}{
		{"mesh ep = 2  shard experts, vocab over ep", 1},
		{"mesh ep = 2  shard experts, vocab over ep  accumulate = 2", 2},
		{"mesh pp = 2, ep = 2  shard experts, vocab over ep  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }", 2},
	} {
		if r := matrix.Compare(one, trainedOn(t, further, l.rules, "ref:f64"), matrix.Target{Name: "ref:f64", Tolerance: 1e-10}); !r.OK() {
			t.Errorf("%s: %v", l.rules, r)
		}
		for _, x := range lowPrecisions {
			p := expanded(t, planUnder(t, further, l.rules+"  bucket = 0  overlap none  "+x.rule, "ref"))
			most := tokens * embed * x.size / l.micro
			for i := range p.Devices {
				for _, in := range step(t, &p.Devices[i]) {
					if strings.HasPrefix(in.Scope, "next") && in.Comm.Bytes > most {
						t.Errorf("%s %s: %s of %d bytes in %s, of more than an activation of %d", l.rules, x.name, in.Comm.Kind, in.Comm.Bytes, in.Scope, most)
					}
				}
			}
		}
	}
}

// TestGradientsOfTicks: in every precision, gradients of microbatches are added before devices reduce them, so that a step
// reduces each parameter once over the devices of data parallelism, whatever scales what products add up.
func TestGradientsOfTicks(t *testing.T) {
	const least = 1024 // bytes; of biases and gains, and of what maxima are found of, there are fewer
	for _, model := range []string{"gpt", "llama", "moe"} {
		for _, spec := range []string{"dp2 1f1b:2:4", "dp2"} {
			ticks := ""
			if spec == "dp2" {
				ticks = "accumulate = 4\n"
			}
			for _, x := range []precision{precisions[0], lowPrecisions[0], lowPrecisions[1]} {
				p := planFor(t, model, spec, "layers=4", ticks+x.rule)
				for i := range p.Devices {
					d := &p.Devices[i]
					var want, got int64
					for _, x := range d.Tensors {
						if b := whole(&d.Buffers[x.Buffer]); x.Train && b > least {
							want += b
						}
					}
					for m, n := range count(t, d) {
						if m.over == "dp" && m.kind == "all_reduce" && m.bytes > least {
							got += m.bytes * int64(n)
						}
					}
					if got != want {
						t.Errorf("%s: device %d reduces %d bytes over dp, want the %d of its parameters", fmt.Sprint(model, " ", spec, " ", x.name), i, got, want)
					}
				}
			}
		}
	}
}
