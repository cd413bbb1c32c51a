package compiler_test

import (
	"strings"
	"testing"
	"time"

	"ptc/compiler"
)

// attentionSource is a model of two blocks, of which fields and body are the module
// Attention. Documents hold different tokens: among equal ones all values are equal, and
// no score has a gradient.
func attentionSource(fields, body, rules string) string {
	return `import std.nn
import std.optim
import std.data

config {
  layers = 2
  batch  = 4
  seq    = 8
  embed  = 8
  heads  = 4
  kv     = 2
  head   = 4
  low    = 6
  vocab  = 11
  steps  = 2
}

module Attention {
` + fields + `
  fn apply(x: [batch, seq, embed], docs: i32[batch, seq]) -> [batch, seq, embed] {
` + body + `
  }
}

module Block {
  ln1  : nn.LayerNorm
  attn : Attention

  fn apply(x, docs) { return x + attn(ln1(x), docs) }
}

model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]

  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]
    docs = cast(floor(cast(tokens, f32) / 4), i32)
    for b in blocks { x = b(x, docs) }
    return dot(x, wte, over = embed)
  }
}

train M {
  loss      = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-3)
  data      = data.synthetic_tokens(pattern = "random")
  steps     = steps
}

layout l {
` + rules + `
}
`
}

const (
	headFields = `  param wq, wk, wv : [embed, heads, head] ~ normal(std = 0.5)
  param wo : [heads, head, embed] ~ normal(std = 0.5)`
	headValues = `    q = dot(x, wq, over = embed)
    k = dot(x, wk, over = embed).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    s = dot(q, k, over = head) / sqrt(head)
    see = index(s, seq) >= index(s, kseq)
`
	headResult = "\n    return dot(dot(p, v, over = kseq), wo, over = (heads, head))"
)

type kind struct{ name, fields, body string }

// heads are the axes that tensor parallelism shards.
func (k *kind) heads() string {
	if strings.Contains(k.name, "grouped") {
		return "heads, kv"
	}
	return "heads"
}

// kinds of attention that are one kernel in each phase.
var kinds = []kind{
	{"causal", headFields, headValues + `    p = softmax(where(see, s, -inf), over = kseq)` + headResult},
	{"all positions", headFields, headValues + `    p = softmax(s, over = kseq)` + headResult},
	{"soft cap", headFields, headValues + `    p = softmax(where(see, 5.0 * tanh(s / 5.0), -inf), over = kseq)` + headResult},
	{"window", headFields, headValues + `    p = softmax(where(see and index(s, seq) < index(s, kseq) + 3, s, -inf), over = kseq)` + headResult},
	{"documents", headFields, headValues + `    p = softmax(where(see and docs == docs.rename(seq = kseq), s, -inf), over = kseq)` + headResult},
	{"slopes", headFields, headValues + `    far = outer(cast(index(s, kseq), f32), 1 / (cast(index(s, heads), f32) + 1))
    p = softmax(where(see, s + far, -inf), over = kseq)` + headResult},
	{"dropout", headFields + "\n  drop : nn.Dropout(0.25)", headValues + `    p = drop(softmax(where(see, s, -inf), over = kseq))` + headResult},
	{"gated scores", headFields, headValues + `    p = softmax(where(see, s * sigmoid(s), -inf), over = kseq)` + headResult},
	{"grouped", "  inner : nn.GroupedQueryAttention", "    return inner(x)"},
	{"latent", `  param wq, wk, wv : [embed, heads, head] ~ normal(std = 0.5)
  param wr : [embed, heads, low] ~ normal(std = 0.5)
  param ws : [embed, low] ~ normal(std = 0.5)
  param wo : [heads, head, embed] ~ normal(std = 0.5)`, `    q = dot(x, wq, over = embed)
    k = dot(x, wk, over = embed).rename(seq = kseq)
    v = dot(x, wv, over = embed).rename(seq = kseq)
    r = nn.rope(dot(x, wr, over = embed), over = low)
    t = nn.rope(dot(x, ws, over = embed), over = low).rename(seq = kseq)
    s = (dot(q, k, over = head) + dot(r, t, over = low)) / sqrt(head + low)
    p = softmax(where(index(s, seq) >= index(s, kseq), s, -inf), over = kseq)` + headResult},
	{"one key for all heads", `  param wq : [embed, heads, low] ~ normal(std = 0.5)
  param wc : [embed, low] ~ normal(std = 0.5)
  param wo : [heads, low, embed] ~ normal(std = 0.5)`, `    q = dot(x, wq, over = embed)
    c = dot(x, wc, over = embed).rename(seq = kseq)
    s = dot(q, c, over = low) / sqrt(low)
    p = softmax(where(index(s, seq) >= index(s, kseq), s, -inf), over = kseq)
    return dot(dot(p, c, over = kseq), wo, over = (heads, low))`},
}

var attentionLayouts = []struct{ name, rules string }{
	{"single", ""},
	{"bf16", "  precision { compute = bf16 }"},
	{"recompute", "  recompute Block"},
	{"tp", "  mesh tp = 2\n  shard HEADS over tp"},
	{"cp", "  mesh cp = 2\n  shard seq over cp { order = zigzag }"},
	{"dp pp", "  mesh dp = 2, pp = 2\n  shard batch over dp\n  zero 3 over dp\n  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }"},
}

// Every kind of attention is a kernel in each phase, under every layout, and no pass
// changes results.
func TestAttentionKinds(t *testing.T) {
	for i, k := range kinds {
		for j, l := range attentionLayouts {
			if k.name != "causal" && l.name != "single" && (testing.Short() || !*slow && (i+j)%3 != 0) {
				continue
			}
			t.Run(k.name+" "+l.name, func(t *testing.T) {
				kernels, rules := "", strings.Replace(l.rules, "HEADS", k.heads(), 1)
				o := compiler.Options{File: "m.ptl", Source: []byte(attentionSource(k.fields, k.body, rules)), Layout: "l", Target: "ref"}
				o.Hooks = []compiler.Hook{func(_ int, name string, text func() string, _ time.Duration) error {
					if name == "fuse" {
						kernels = text()
					}
					return nil
				}}
				report, r, err := compiler.Check(o)
				if err != nil {
					t.Fatal(err)
				}
				nothingChanges(t, report)
				for _, x := range r.Remarks {
					if strings.Contains(x.Text, "attention takes several kernels") || strings.Contains(x.Text, "scores are stored") {
						t.Error(x)
					}
				}
				if n := strings.Count(kernels, "func @attention_"); n < 2 {
					t.Errorf("%d attention kernels", n)
				}
			})
		}
	}
}

// A learned bias of scores has a gradient that sums them over the batch: such an
// attention stays several kernels in both phases, with a warning, and results as they are.
func TestLearnedBiasOfScores(t *testing.T) {
	for _, l := range attentionLayouts {
		if testing.Short() && l.name != "single" {
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			rules := strings.Replace(l.rules, "HEADS", "heads", 1)
			fields := headFields + "\n  param slope : [heads] ~ normal(std = 0.5)"
			body := headValues + "    p = softmax(where(see, s - outer(cast(index(s, kseq), f32), slope), -inf), over = kseq)" + headResult
			report, r, err := compiler.Check(compiler.Options{File: "m.ptl", Source: []byte(attentionSource(fields, body, rules)), Layout: "l", Target: "ref"})
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range report.Rows {
				if !x.OK {
					t.Errorf("%s changes results: %s by %.3g, tolerance %.3g", x.Pass, x.Worst, x.Diff, x.Tol)
				}
			}
			told := false
			for _, x := range r.Remarks {
				told = told || strings.Contains(x.Text, "attention takes several kernels")
			}
			if !told && l.name != "cp" {
				t.Error("no remark says that scores are stored")
			}
		})
	}
}
