package compiler_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
	"ptc/compiler"
	"ptc/runtime/program"
)

// transposed has tensors that are [seq, wide] over (x, y), and under other names over
// (y, x): their reshards send least over a half of x. No axis is large enough for both.
const transposed = `import std.nn
import std.optim
import std.data

config {
  layers = 2
  batch  = 8
  seq    = 4
  wide   = 4
  vocab  = 32
}

module Block {
  param w1 : [left = seq, right = wide, out = 8] ~ normal(std = 0.3)
  param w2 : [out = 8, seq, wide] ~ normal(std = 0.3)

  fn apply(x) {
    g = tanh(x.rename(seq = left, wide = right))
    return x + dot(dot(g, w1, over = (left, right)), w2, over = out)
  }
}

model Exchanged {
  param table : [vocab, wide]      ~ normal(std = 0.1)
  param head  : [seq, wide, vocab] ~ normal(std = 0.1)
  blocks : Block[layers]

  fn apply(tokens: i32[batch, seq]) -> [batch, vocab] {
    h = table[vocab = tokens]
    for b in blocks { h = b(h) }
    return dot(h, head, over = (seq, wide))
  }
}

train Exchanged {
  loss      = nn.cross_entropy(Exchanged(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 3e-3)
  data      = data.text("*.txt", tokenizer = bytes, window = seq, predict = last)
  steps     = 4
}

layout test {
  %s
}
`

const swapped = "shard seq, right over x  shard wide, left over y"

// refinedLayouts are layouts of transposed, and the mesh of their plans. The first two
// run as native code too.
var refinedLayouts = []struct{ rules, mesh string }{
	{"mesh x = 4, y = 2  " + swapped, "x_1=2 x_2=2 y=2"},
	{"mesh pp = 2, x = 4, y = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }  zero 1 over x  offload optimizer to host  " + swapped, "pp=2 x_1=2 x_2=2 y=2"},
	{"mesh y = 2, x = 4  " + swapped, "y=2 x_1=2 x_2=2"},
	{"mesh dp = 2, x = 4, y = 2  shard batch over dp  zero 1 over x  " + swapped, "dp=2 x_1=2 x_2=2 y=2"},
	{"mesh dp = 2, x = 4, y = 2  shard batch over dp  zero 3 over (dp, x)  " + swapped, "dp=2 x_1=2 x_2=2 y=2"},
	{"mesh node = 2, x = 4, y = 2  shard batch over node  zero 2 over (node, x)  two_level = 0  " + swapped, "node=2 x_1=2 x_2=2 y=2"},
	{"mesh dp = 2, x = 4, x_1 = 2  shard batch over dp  shard seq, right over x  shard wide, left over x_1", "dp=2 x_1_=2 x_2=2 x_1=2"},
	{"mesh x = 2, y = 2  " + swapped, "x=2 y=2"},
}

func compileExchanged(t *testing.T, rules, target string) *program.Plan {
	t.Helper()
	p, _, err := compiler.Compile(compiler.Options{File: "transposed.ptl", Source: fmt.Appendf(nil, transposed, rules), Target: target})
	if err != nil {
		t.Fatalf("%s: %v", rules, err)
	}
	return p
}

// TestRefined: a plan in which a mesh axis is written as two trains as one device
// does, is the same when it is rebuilt, and shows the mesh as the
// layout has it. Its all_to_all are over a part of x.
func TestRefined(t *testing.T) {
	targets := []matrix.Target{{Name: "ref:f64", Tolerance: 1e-10}}
	if _, err := llvm.Load(); err == nil {
		targets = append(targets, matrix.Target{Name: "cpu", Tolerance: 1e-5})
	} else if os.Getenv(llvm.EnvLLVM) != "none" {
		t.Fatal(err)
	}
	for _, target := range targets {
		want, err := matrix.TrainOn(compileExchanged(t, "", target.Name), 4, 32)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range refinedLayouts {
			if target.Name == "cpu" && i >= 2 {
				break
			}
			t.Run(target.Name+" "+l.rules, func(t *testing.T) {
				p := compileExchanged(t, l.rules, target.Name)
				got, err := matrix.TrainOn(p, 4, 32)
				if err != nil {
					t.Fatal(err)
				}
				if r := matrix.Compare(want, got, target); !r.OK() {
					t.Error(r)
				}
				refinedPlan(t, p, l.rules, l.mesh)
			})
		}
	}
}

func refinedPlan(t *testing.T, p *program.Plan, rules, mesh string) {
	t.Helper()
	text := func(axes []program.MeshAxis, sign string) string {
		var out []string
		for _, a := range axes {
			out = append(out, fmt.Sprintf("%s%s%d", a.Name, sign, a.Size))
		}
		return strings.Join(out, " ")
	}
	if got := text(p.Mesh, "="); got != mesh {
		t.Errorf("mesh %s, want %s", got, mesh)
	}
	declared := strings.ReplaceAll(text(p.Declared(), " = "), " ", "")
	if first, _, _ := strings.Cut(rules, "  "); declared != strings.NewReplacer("mesh ", "", ",", "", " ", "").Replace(first) {
		t.Errorf("declared as %s, want %s", declared, first)
	}
	if len(p.Refined) > 0 && !slices.ContainsFunc(step(t, &p.Devices[0]), func(in program.Instr) bool {
		return len(in.Comm.Over) == 1 && len(p.DeclaredOver(in.Comm.Over)) == 1 && p.DeclaredOver([]string{"x_2"})[0] == in.Comm.Over[0]
	}) {
		t.Error("nothing is transposed over a part of x")
	}
	p, have := stored(t, p)
	again, _, err := compiler.Rebuild(p, "")
	if err != nil {
		t.Fatal(err)
	}
	if again, got := stored(t, again); !bytes.Equal(got, have) {
		t.Errorf("rebuilt, the plan differs in %v", compiler.Differences(p, again))
	}
}

// TestRefinedForbids: what a layout forbids is refused in the names that it has.
func TestRefinedForbids(t *testing.T) {
	source := fmt.Appendf(nil, transposed, "mesh x = 4, y = 2  forbid all_to_all  "+swapped)
	_, _, err := compiler.Compile(compiler.Options{File: "transposed.ptl", Source: source, Target: "ref"})
	if err == nil || !strings.Contains(err.Error(), "E0612") || strings.Contains(err.Error(), "x_") {
		t.Errorf("%v, want E0612 over mesh axes of the layout", err)
	}
}
