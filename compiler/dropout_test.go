package compiler_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/fusion"
)

// dropped is a model of blocks with dropout in the attention and on both residual branches,
// trained by an optimizer that has the constant of a dropout, 1 - rate.
const dropped = `import std.nn
import std.optim
import std.data
config { layers = 8  batch = 8  seq = 8  embed = 16  heads = 4  head = 4  ffn = 32  vocab = 16 }
module Core {
  d : nn.Dropout(rate = 0.1)
  fn apply(q, k, v) {
    s = dot(q, k, over = head) / sqrt(size(q, head))
    p = d(softmax(where(index(s, seq) >= index(s, kseq), s, -inf), over = kseq))
    return dot(p, v, over = kseq)
  }
}
module Attention {
  param wq, wk, wv : [embed, heads, head] ~ normal(std = 0.5)
  param wo : [heads, head, embed] ~ normal(std = 0.5)
  core : Core
  fn apply(x) {
    k = dot(x, wk, over = embed).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    return dot(core(dot(x, wq, over = embed), k, v), wo, over = (heads, head))
  }
}
module Block {
  n1 : nn.LayerNorm  a : Attention  d1 : nn.Dropout(rate = 0.5)  n2 : nn.LayerNorm  m : nn.MLP  d2 : nn.Dropout(rate = 0.5)
  fn apply(x) { h = x + d1(a(n1(x)))  return h + d2(m(n2(h))) }
}
model G {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  d : nn.Dropout(rate = 0.25)
  blocks : Block[layers]
  fn apply(tokens: i32[batch, seq]) {
    x = d(wte[vocab = tokens])
    for b in blocks { x = b(x) }
    return dot(x, wte, over = embed)
  }
}
train G {
  loss = nn.cross_entropy(G(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-2)
  data = data.synthetic_tokens(seq, vocab)
  steps = 3
}
`

// TestDropout: under every schedule, precision and rule of rematerialization the numbers
// drawn are those of one device; blocks stay written once, attention is a kernel in both
// phases, and what is kept of a mask takes a byte at most.
func TestDropout(t *testing.T) {
	schedules := map[string]string{
		"none":        "mesh dp = 2, tp = 2  shard batch over dp  shard heads, ffn, vocab over tp",
		"1f1b":        "mesh pp = 2, tp = 2  shard heads, ffn, vocab over tp  shard seq over tp between Block  pipeline blocks over pp { schedule = 1f1b  microbatches = 4 }",
		"interleaved": "mesh dp = 2, pp = 2  shard batch over dp  pipeline blocks over pp { schedule = interleaved  chunks = 2  microbatches = 4 }",
		"zb":          "mesh dp = 2, pp = 2  shard batch over dp  zero 1 over dp  pipeline blocks over pp { schedule = zb_h1  microbatches = 2 }",
	}
	for precision, x := range map[string]matrix.Target{"f32": {Name: "ref:f64", Tolerance: 1e-10}, "bf16": {Name: "ref"}} {
		rounds := "\n  precision { compute = " + precision + "  params = " + precision + " }"
		one := trainedDropped(t, "mesh dp = 1", rounds, x.Name)
		for _, recompute := range []string{"", "recompute Block", "recompute Core"} {
			for name, rules := range schedules {
				t.Run(strings.Join(strings.Fields(precision+" "+recompute+" "+name), "_"), func(t *testing.T) {
					got := trainedDropped(t, rules+"\n  "+recompute, rounds, x.Name)
					if x.Tolerance > 0 {
						if r := matrix.Compare(one, got, x); !r.OK() {
							t.Error(r)
						}
					}
					for i, loss := range got.Losses {
						if math.Abs(loss-one.Losses[i]) > 0.01*one.Losses[i] {
							t.Errorf("loss %d is %g, of one device %g", i, loss, one.Losses[i])
						}
					}
				})
			}
		}
	}
}

// trainedDropped compiles dropped under the rules, and trains it.
func trainedDropped(t *testing.T, rules, precision, target string) *matrix.Run {
	t.Helper()
	fused := ""
	p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(dropped + "layout l {\n  " + rules + precision + "\n}\n"), Target: target, VerifyEach: true,
		Hooks: []compiler.Hook{func(_ int, name string, text func() string, _ time.Duration) error {
			if name == "fuse" {
				fused = text()
			}
			return nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("fused.ptir", []byte(fused))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	forward, backward := 0, 0 // attentions by instances and phases
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			storesFewBits(t, f)
			continue
		}
		if f.Name != "step" && f.Of != "step" {
			continue
		}
		if len(f.Stacks) == 0 {
			t.Errorf("@%s has each block for itself", f.Name)
		}
		for _, o := range f.Ops {
			if o.Callee == nil || o.Callee.Attrs.Text("kind") != string(fusion.Attend) || o.Run == nil {
				continue
			}
			if k, err := fusion.Analyze(o.Callee); err == nil && len(k.Attention.Into) > 1 {
				backward += o.Run.Stack.Count
			} else {
				forward += o.Run.Stack.Count
			}
		}
	}
	if forward < 8 || backward != 8 {
		t.Errorf("%d attentions forward and %d backward are kernels, of 8", forward, backward)
	}
	got, err := matrix.TrainOn(p, 2, 16)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// storesFewBits fails where a kernel stores what is made of random numbers and constants alone in
// more than a byte an element.
func storesFewBits(t *testing.T, f *ir.Func) {
	t.Helper()
	drawn := map[*ir.Value]bool{}
	for _, a := range f.Args {
		drawn[a.Value] = a.Value.Type.Rank() == 0 && a.Value.Type.DType == ir.I32 // seed, step, instance, microbatch
	}
	for _, o := range f.Ops {
		all := true
		for _, v := range o.Args {
			all = all && drawn[v]
		}
		for _, r := range o.Results {
			drawn[r] = all
		}
	}
	for _, r := range f.Results {
		if v := r.Value; drawn[v] && v.Type.Rank() > 0 && v.Type.DType.Size() > 1 {
			t.Errorf("@%s stores %s of a mask", f.Name, v.Type)
		}
	}
}
