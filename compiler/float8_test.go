package compiler_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/exec"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// lossesOf runs a plan for five steps.
func lossesOf(t *testing.T, p *program.Plan) []float64 {
	t.Helper()
	m, err := exec.Open(p, exec.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.Initialize(5); err != nil {
		t.Fatal(err)
	}
	var out []float64
	for n := range 5 {
		feedZeros(t, m, int64(n)+1)
		if err := m.Program("step").Run(); err != nil {
			t.Fatal(err)
		}
		out = append(out, m.Program("step").Loss())
	}
	return out
}

// TestLayoutsOfFloat8: the scale of an operand is of all of it, wherever its shards are, so that all layouts round
// the same numbers by the same unit: losses differ as sums do that are added in another order, a few of which are
// rounded to the next number of eight bits. Microbatches have scales of their own, so that there the losses only stay
// together.
func TestLayoutsOfFloat8(t *testing.T) {
	for _, l := range []struct {
		spec, set string
		tolerance float64
	}{
		{"dp2 z1", "", 1e-4}, {"dp4 z3", "", 1e-4}, {"tp2 sp", "", 1e-4}, {"cp2", "", 1e-4}, {"dp2 z3 tp2", "", 1e-4},
		{"1f1b:2:2", "", 4.0 / 512}, {"dp2 1f1b:2:2 tp2 sp", "layers=3", 4.0 / 512},
	} {
		want := lossesOf(t, gptUnder(t, "single", l.set, "precision { products = f8 }", "ref"))
		got := lossesOf(t, gptUnder(t, l.spec, l.set, "precision { products = f8 }", "ref"))
		t.Logf("%s: %v %v", l.spec, got, want)
		for i := range want {
			if !(math.Abs(got[i]-want[i]) <= l.tolerance*want[i]) {
				t.Errorf("%s: losses %v, on one device %v", l.spec, got, want)
				break
			}
		}
	}
}

// TestFloat8TrainsLikeBF16 compares losses along a run with linear products of eight bits with those in bf16.
func TestFloat8TrainsLikeBF16(t *testing.T) {
	if best(t) == "ref" {
		t.Skip("PTC_LLVM=none: the reference would need minutes; TestLayoutsOfFloat8 trains there")
	}
	half, float8 := gpt(t, "compute = bf16"), gpt(t, "compute = bf16  products = f8")
	first := math.Inf(1)
	for _, steps := range []int64{1, 40, 80} {
		var got [2]train.Summary
		for i, p := range []*program.Plan{half, float8} {
			s, err := train.Run(context.Background(), p, train.Options{Steps: steps})
			if err != nil {
				t.Fatal(err)
			}
			got[i] = s
		}
		t.Logf("step %d: bf16 %.5f, f8 %.5f; validation %.5f, %.5f", steps, got[0].Loss, got[1].Loss, got[0].ValLoss, got[1].ValLoss)
		if got[0].Loss == got[1].Loss || math.Abs(got[1].Loss-got[0].Loss) > 0.01*got[0].Loss || math.Abs(got[1].ValLoss-got[0].ValLoss) > 0.01*got[0].ValLoss {
			t.Errorf("step %d: loss %.5f and validation %.5f, in bf16 %.5f and %.5f", steps, got[1].Loss, got[1].ValLoss, got[0].Loss, got[0].ValLoss)
		}
		if steps == 1 {
			first = got[1].Loss
		} else if steps == 80 && !(got[1].Loss < 0.7*first) {
			t.Errorf("the loss falls from %.3f to %.3f only", first, got[1].Loss)
		}
	}
}

// TestFloat8OfZeros: weights that are all zero, and gradients that therefore are, have a scale.
func TestFloat8OfZeros(t *testing.T) {
	const src = `import std.nn
import std.optim
import std.data
config { batch = 4  seq = 8  embed = 16  hidden = 32  vocab = 16 }
model M {
  param table : [vocab, embed] ~ normal(std = 0.3)
  param up    : [embed, hidden] ~ zeros
  param down  : [hidden, out = embed] ~ zeros
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = table[vocab = tokens]
    h = dot(x, up, over = embed)
    y = dot(h, down, over = hidden)
    return dot(x + rename(y, out = embed), table, over = embed)
  }
}
train M {
  loss = mean(nn.cross_entropy(M(tokens), targets, over = vocab))
  optimizer = optim.SGD(lr = 0.1)
  data = data.text("zeros_test", predict = next, tokenizer = bytes)
}
layout l { precision { products = f8 } }
`
	for _, target := range []string{"ref", best(t)} {
		p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Layout: "l", Target: target})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(p.Remarks, func(r program.Remark) bool { return strings.HasSuffix(r.Text, " 6 products have operands in f8") }) {
			t.Errorf("%s: nothing says that six products are of eight bits", target)
		}
		for _, loss := range lossesOf(t, p) {
			if !(loss > 0 && loss < 10) {
				t.Errorf("%s: a loss of %v", target, loss)
			}
		}
	}
}
