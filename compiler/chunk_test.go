package compiler_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptc/compiler"
	"ptc/ir/targetinfo"
	"ptc/runtime/explain"
	"ptc/runtime/program"
)

// lossSource is a model of two blocks whose loss is body, of the rows x.
func lossSource(body, rules string) string {
	return `import std.nn
import std.optim
import std.data

config {
  layers = 2
  batch  = 8
  seq    = 16
  embed  = 8
  ffn    = 16
  vocab  = 48
}

module Block {
  mlp : nn.MLP(std = 0.5, out_std = 0.5)
  fn apply(x) { return x + mlp(x) }
}

model M {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  blocks : Block[layers]
  out    : nn.Linear(embed, vocab, std = 0.5)
  next   : nn.Linear(embed, vocab, bias = false, std = 0.5)

  fn apply(tokens: i32[batch, seq]) -> [batch, seq, embed] {
    x = wte[vocab = tokens]
    for b in blocks { x = b(x) }
    return x
  }

  fn loss(tokens, targets) {
    x = apply(tokens)
` + body + `
  }
}

train M {
  loss      = M.loss(tokens, targets)
  optimizer = optim.AdamW(lr = 0.01, clip = 1.0)
  data      = data.synthetic_tokens()
  steps     = 2
}

layout l {
` + rules + `
}
`
}

// lossKinds are sums over tokens of what their logits make.
var lossKinds = []struct{ name, body string }{
	{"plain", "    return nn.cross_entropy(out(x), targets, over = vocab)"},
	{"tied", "    return nn.cross_entropy(dot(x, wte, over = embed), targets, over = vocab)"},
	{"options", "    return nn.cross_entropy(out(x), where(targets % 3 == 0, -1, targets), over = vocab, smoothing = 0.1, z_loss = 0.01, masked = true)"},
	{"soft cap", "    return nn.cross_entropy(5.0 * tanh(out(x) / 5.0), targets, over = vocab)"},
	{"weighted", `    y = out(x)
    each = logsumexp(y, over = vocab) - sum(where(targets == index(y, vocab), y, 0), over = vocab)
    return mean(each * cast(1 + targets % 2, f32))`},
	{"two", "    return nn.cross_entropy(out(x), targets, over = vocab) + 0.5 * nn.cross_entropy(next(x), tokens, over = vocab)"},
	{"square", `    l = nn.cross_entropy(out(x), targets, over = vocab)
    return l * l`},
}

var lossLayouts = []struct{ name, rules string }{
	{"single", ""},
	{"bf16", "  precision { compute = bf16 }"},
	{"dp zero 3", "  mesh dp = 2\n  shard batch over dp\n  zero 3 over dp"},
	{"vocab", "  mesh tp = 2\n  shard ffn, vocab over tp"},
	{"vocab, seq", "  mesh tp = 2\n  shard ffn, vocab over tp\n  shard seq over tp between Block"},
	{"seq", "  mesh cp = 2\n  shard seq over cp"},
	{"1f1b", "  mesh pp = 2\n  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }"},
	{"zb", "  mesh dp = 2, pp = 2\n  shard batch over dp\n  pipeline blocks over pp { schedule = zb_h1  microbatches = 2 }"},
	{"recompute", "  recompute Block\n  offload optimizer to host"},
}

// Logits never exist in full, whatever the loss makes of them and under every layout,
// and no pass changes results.
func TestLossInChunks(t *testing.T) {
	for i, k := range lossKinds {
		for j, l := range lossLayouts {
			if k.name != "options" && l.name != "single" && (testing.Short() || !*slow && (i+j)%3 != 0) || k.name == "square" && strings.Contains(l.rules, "pipeline") {
				continue // the square of a loss is not a sum over microbatches
			}
			t.Run(k.name+" "+l.name, func(t *testing.T) {
				var before, after int
				see := func(_ int, name string, text func() string, _ time.Duration) error {
					switch name {
					case "offload-optimizer":
						before = mostLogits(text())
					case "order":
						after = mostLogits(text())
					}
					return nil
				}
				target := "ref:f64"
				if l.name == "bf16" {
					target = "ref"
				}
				report, r, err := compiler.Check(compiler.Options{File: "m.ptl", Source: []byte(lossSource(k.body, l.rules)), Layout: "l", Target: target,
					Chunk: &targetinfo.Chunk{Bytes: 1, Rows: 16, Most: 4}, Hooks: []compiler.Hook{see}})
				if err != nil {
					t.Fatal(err)
				}
				if x := report.First(); x != nil {
					t.Errorf("%s changes %s by %.3g, allowed are %.3g", x.Pass, x.Worst, x.Diff, x.Tol)
				}
				if before == 0 || 2*after > before {
					t.Errorf("%d logits in one value before, %d are left", before, after)
					for _, x := range r.Remarks {
						if x.Pass == "chunk" {
							t.Log(x)
						}
					}
				}
			})
		}
	}
}

var (
	logits = regexp.MustCompile(`%\d+ : \w+\[([^\]]*vocab=[^\]]*)\]`)
	size   = regexp.MustCompile(`(\w+)=(\d+)`)
)

// mostLogits is the most elements of a value of an entry function that has logits of
// tokens.
func mostLogits(module string) (most int) {
	for _, f := range strings.Split(module, "\nfunc ")[1:] {
		if !strings.Contains(strings.SplitN(f, "\n", 2)[0], "class=entry") {
			continue
		}
		for _, m := range logits.FindAllStringSubmatch(f, -1) {
			n, tokens := 1, false
			for _, a := range size.FindAllStringSubmatch(m[1], -1) {
				k, _ := strconv.Atoi(a[2])
				n *= k
				tokens = tokens || a[1] == "batch" || a[1] == "seq"
			}
			if tokens {
				most = max(most, n)
			}
		}
	}
	return most
}

// A step needs less memory in addition to parameters and states, by that of the logits, and the
// gradient of the weight is there once, however many chunks add to it.
func TestChunksLeaveMemory(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	const vocab, rows, embed, most = 16384, 4 * 256, 256, 8
	arena := func(chunk *targetinfo.Chunk) int64 {
		p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Target: "ref", Layout: "single", Source: src, Chunk: chunk,
			Set: []string{"layers=1", "batch=4", "seq=256", "embed=256", "heads=4", "head=64", "vocab=16384"}})
		if err != nil {
			t.Fatal(err)
		}
		return explain.Describe(p).Memory.Arena[program.Activations]
	}
	full := arena(&targetinfo.Chunk{})
	cut := arena(&targetinfo.Chunk{Bytes: 8 << 20, Rows: 1, Most: most})
	logits, weight := int64(4*vocab*rows), int64(4*vocab*embed)
	t.Logf("%d bytes, in chunks %d; logits %d, gradient of the weight %d", full, cut, logits, weight)
	if saved := full - cut; saved < logits*3/4 {
		t.Errorf("chunks of %d bytes leave %d of %d bytes", logits/most, cut, full)
	}
}
