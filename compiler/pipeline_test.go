package compiler_test

import (
	"strings"
	"testing"

	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/internal/diag"
)

// stacked is a program of four blocks, by the members of a block, the members and
// the result of the model, and the loss of p and q, which are result and target.
func stacked(block, members, result, loss string) string {
	return `import std.nn
import std.optim
import std.data
config { batch = 16  n = 6  inputs = 6  outputs = 6 }
module Block {
  ` + block + `
}
model M {
  blocks : Block[4]
  ` + members + `
  fn apply(x) {
    for b in blocks { x = b(x) }
    return ` + result + `
  }
}
fn of(p, q) { return ` + loss + ` }
train M {
  loss      = of(M(x.rename(inputs = n)), y.rename(outputs = n))
  optimizer = optim.AdamW(lr = 0.01, clip = 1.0)
  data      = data.synthetic(inputs, outputs)
}
layout single { }
layout gpipe { mesh pp = 2  pipeline blocks over pp { schedule = gpipe  microbatches = 4 } }
layout f1b { mesh dp = 2, pp = 2  shard batch over dp  zero 1 over dp  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 } }
layout interleaved { mesh dp = 2, pp = 2  shard batch over dp  zero 3 over dp  pipeline blocks over pp { schedule = interleaved  microbatches = 2  chunks = 2 } }
layout zb_h1 { mesh dp = 2, pp = 4  shard batch over dp  pipeline blocks over pp { schedule = zb_h1  microbatches = 4 } }
layout zb_h2 { mesh pp = 4  pipeline blocks over pp { schedule = zb_h2  microbatches = 8 } }
layout zb_v { mesh dp = 2, pp = 2  shard batch over dp  zero 2 over dp  pipeline blocks over pp { schedule = zb_v  microbatches = 4 } }
layout interleaved_zb { mesh pp = 2  pipeline blocks over pp { schedule = interleaved_zb  microbatches = 8 } }
layout dualpipe_v { mesh dp = 2, pp = 2  shard batch over dp  pipeline blocks over pp { schedule = dualpipe_v  microbatches = 8 } }
layout accumulate { accumulate = 4 }
layout once { mesh dp = 2, pp = 2  shard batch over dp  zero 1 over dp  pipeline blocks over pp { schedule = 1f1b  microbatches = 1 } }
layout alone { mesh pp = 1  pipeline blocks over pp { microbatches = 2 } }
layout zero1 { mesh dp = 2  shard batch over dp  zero 1 over dp  accumulate = 4 }
layout zero2 { mesh dp = 2  shard batch over dp  zero 2 over dp  accumulate = 2 }
layout zero3 { mesh dp = 2  shard batch over dp  zero 3 over dp  accumulate = 4  recompute Block }
layout unsharded { mesh dp = 1, tp = 2  shard n over tp  zero 3 over dp  accumulate = 2 }
layout tensor { mesh dp = 2, tp = 2  shard batch over dp  shard n over tp  zero 2 over dp  accumulate = 2 }
layout rounds { mesh dp = 2, pp = 2  shard batch over dp  accumulate = 2  pipeline blocks over pp { schedule = gpipe  microbatches = 2 } }
layout rounds_zb { mesh dp = 2, pp = 2  shard batch over dp  zero 3 over dp  accumulate = 2  pipeline blocks over pp { schedule = zb_v  microbatches = 4 } }
layout breadth_first { mesh dp = 2, pp = 2  shard batch over dp  zero 3 over dp  pipeline blocks over pp { schedule = breadth_first  microbatches = 4 } }
`
}

const (
	plain  = "param w : [n, m = 6] ~ normal(std = 0.5)\n  fn apply(x) { return x + tanh(dot(x, w, over = n)).rename(m = n) }"
	masked = "sum(where(q > 0.2, (p - q) ** 2, 0)) / "
	hidden = "fn seen(p, y, h) { return sum(where(h, (p - y) ** 2, 0)) / max(sum(cast(h, f32)), 1)"
)

// pipelined are programs in which a gradient, or a value that all microbatches
// need, is not where most are.
var pipelined = map[string]string{
	"read through stop_gradient": stacked("param a, c : [n] ~ normal(std = 1)\n  fn apply(x) { return a * x + stop_gradient(c) }", "", "x", "nn.mse(p, q)"),
	"one gradient for all":       stacked("param u : [n] ~ zeros\n  fn apply(x) { return x + u }", "", "x", "nn.mse(p, q)"),
	"a constant gradient":        stacked("param u : [n] ~ ones\n  fn apply(x) { return x + u }", "", "x", "mean(p - q)"),
	"of a parameter alone":       stacked("param g : [n] ~ normal(std = 1)\n  fn apply(x) { return x * g / sqrt(mean(g * g, over = n) + 0.1) }", "", "x", "nn.mse(p, q)"),
	"a gate":                     stacked("param g : [n] ~ normal(std = 1)\n  fn apply(x) { return x * g + tanh(x) * (1 - g) }", "", "x", "nn.mse(p, q)"),
	"read by several stages":     stacked(plain, "param e : [n] ~ ones", "x * e + stop_gradient(e) + blocks[1].w[m = 0] + blocks[2].w[m = 0]", "nn.mse(p, q)"),
	"a masked loss":              stacked(plain, "", "x", masked+"sum(cast(q > 0.2, f32))"),
	"at least one is kept":       stacked(plain, "", "x", masked+"max(sum(cast(q > 0.2, f32)), 1)"),
	"a mask that is drawn": stacked(plain, "", "x", "masked(p, q, q > 0.2 and random_uniform(q) > 0.3 if training else q > 0.2) }\n"+
		"fn masked(p, q, kept) { return sum(where(kept, (p - q) ** 2, 0)) / sum(cast(kept, f32))"),
	"data scaled by its batch":         stacked(plain, "", "x", "nn.mse(p, (q - mean(q, over = batch)) * rsqrt(mean(q * q, over = batch) + 1e-3))"),
	"a value that nothing reads":       stacked("norm : nn.LayerNorm(over = n)\n  "+strings.Replace(plain, "return", "z = norm(x)\n    return", 1), "", "x", "nn.mse(p, q)"),
	"two parameters with one gradient": stacked("param s : [n] ~ ones  param c : [n, taps = 3] ~ normal(std = 0.5)\n  fn apply(x) { y = tanh(x)  return x + (y + s + sum(c, over = taps)) * (y + 1) }", "", "x", "nn.mse(p, q)"),
	"a mask of first stage and loss": strings.Replace(stacked(plain, "param e : [n] ~ normal(std = 1)", "x * e", "nn.mse(p, q) }\n"+hidden),
		"of(M(x.rename(inputs = n)), y.rename(outputs = n))", "seen(M(where(x > 0.3, 0, x).rename(inputs = n)), y.rename(outputs = n), (x > 0.3).rename(inputs = n))", 1),
	"the first value is read everywhere": strings.Replace(stacked("param w : [n, m = 6] ~ normal(std = 0.5)\n  fn apply(x, x0) { return x + tanh(dot(x, w, over = n)).rename(m = n) + 0.1 * x0 }", "", "x", "nn.mse(p, q)"),
		"for b in blocks { x = b(x) }", "x0 = x\n    for b in blocks { x = b(x, x0) }", 1),
	"a start without rows": strings.Replace(stacked("param w : [n, m = 6] ~ normal(std = 0.5)\n  fn apply(x, x0) { return x + tanh(dot(x, w, over = n)).rename(m = n) + 0.1 * x0 }", "param e : [n] ~ ones", "x", "nn.mse(p, q)"),
		"for b in blocks { x = b(x) }", "x0 = x\n    x = broadcast(e, as = x0)\n    for b in blocks { x = b(x, x0) }", 1),
	"weights of the batch": stacked(plain, "param e : [n] ~ ones", "x * e", "sum(softmax(q, over = batch) * (p - q) ** 2) + "+masked+"sum(cast(q > 0.2, f32))"),
}

// TestPipelined: losses, also of validation, gradients and parameters are those of one
// device, under every schedule, alone and with data parallelism, and where gradients
// accumulate.
func TestPipelined(t *testing.T) {
	for name, src := range pipelined {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			var want *matrix.Run
			for _, layout := range []string{"single", "gpipe", "f1b", "interleaved", "zb_h1", "zb_h2", "zb_v", "interleaved_zb", "dualpipe_v", "breadth_first",
				"accumulate", "alone", "once", "zero1", "zero2", "zero3", "unsharded", "tensor", "rounds", "rounds_zb"} {
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

// TestBlocksTwice: a model that goes through the blocks of a pipeline twice is refused by
// name, under every schedule.
func TestBlocksTwice(t *testing.T) {
	once := "for b in blocks { x = b(x) }"
	src := strings.Replace(stacked(plain, "", "x", "nn.mse(p, q)"), once, once+"\n    "+once, 1)
	for _, layout := range []string{"gpipe", "f1b", "interleaved", "zb_h1", "zb_v", "dualpipe_v"} {
		_, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: layout, Target: "ref:f64"})
		if l, ok := diag.As(err); !ok || len(l) != 1 || l[0].Code != "E0606" {
			t.Errorf("%s: %v", layout, err)
		}
	}
}
