package compiler_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/exec"
)

// packedModels are the families of std.models with what their toys set besides.
var packedModels = []struct{ file, model, config string }{
	{"gemma2", "Gemma2", "kv = 2  window = 3"},
	{"gpt2", "GPT2", ""},
	{"llama", "Llama", "kv = 2  factor = 4.0  low = 1.0  high = 4.0  trained = 6"},
	{"mistral", "Mistral", "kv = 2  window = 3"},
	{"mixtral", "Mixtral", "kv = 2  experts = 4"},
	{"qwen2", "Qwen2", "kv = 2"},
	{"qwen3", "Qwen3", "kv = 2"},
}

// toyOf is a program of a family, with the training of std.models or with one of its own.
func toyOf(file, config, rest string) string {
	return `import std.nn
import std.optim
import std.data
import std.models.` + file + `
config { layers = 2  batch = 1  seq = 12  context = 12  embed = 8  heads = 4  head = 2  ffn = 12  vocab = 13  std = 0.5 clip = 1e9  ` + config + " }\n" + rest
}

const aloneTraining = `train MODEL {
  loss      = nn.cross_entropy(MODEL(tokens), targets, over = vocab, masked = true)
  optimizer = optim.SGD(lr = 1.0)
  data      = data.tokens("t.bin", window = seq)
}
`

// packer runs a program in float64 on the reference, with the parameters of one seed.
type packer struct {
	t *testing.T
	m *exec.Machine
}

func newPacker(t *testing.T, src string, set ...string) *packer {
	t.Helper()
	p, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(src), Set: set, Target: "ref:f64"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := exec.Open(p, exec.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return &packer{t, m}
}

// run runs a program of the plan with a batch, and gives the loss and, of step, gradients.
func (p *packer) run(name string, batch map[string][]int) (float64, map[string][]float64) {
	p.t.Helper()
	if err := p.m.Initialize(11); err != nil { // a step changes parameters
		p.t.Fatal(err)
	}
	p.m.SetStep(1)
	prog := p.m.Program(name)
	for _, f := range prog.Fields() {
		var raw []byte
		for _, v := range batch[f.Name] {
			raw = binary.LittleEndian.AppendUint32(raw, uint32(int32(v)))
		}
		if err := prog.Feed(f.Name, raw); err != nil {
			p.t.Fatal(err)
		}
	}
	grads := map[string][]float64{}
	err := prog.RunWithGradients(func(g exec.Tensor, s exec.Slice) error {
		grads[g.Path] = float64s(s.Bytes)
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return prog.Loss(), grads
}

// only is targets of which one counts.
func only(targets []int, at int) []int {
	out := slices.Repeat([]int{-1}, len(targets))
	out[at] = targets[at]
	return out
}

// A window of three documents gives each token the loss that it has in a window of its
// document alone, and parameters the gradients of these windows together.
func TestPackedDocumentsAreAlone(t *testing.T) {
	lengths := []int{5, 3, 4}
	batch := map[string][]int{}
	for d, n := range lengths {
		for i := range n {
			k := len(batch["tokens"])
			batch["tokens"] = append(batch["tokens"], (k*k+3*d+1)%13)
			batch["targets"] = append(batch["targets"], (5*k+d)%13)
			batch["document"] = append(batch["document"], d)
			batch["position"] = append(batch["position"], i)
		}
	}
	for _, c := range packedModels {
		t.Run(c.file, func(t *testing.T) {
			packed := newPacker(t, toyOf(c.file, c.config, ""), "packed=true")
			alone := newPacker(t, toyOf(c.file, c.config, strings.ReplaceAll(aloneTraining, "MODEL", c.model)))
			_, grads := packed.run("step", batch)
			sums, from := map[string][]float64{}, 0
			for _, n := range lengths {
				own := map[string][]int{"tokens": make([]int, 12), "targets": slices.Repeat([]int{-1}, 12)}
				copy(own["tokens"], batch["tokens"][from:from+n])
				copy(own["targets"], batch["targets"][from:from+n])
				for i := range n {
					one := map[string][]int{"tokens": own["tokens"], "targets": only(own["targets"], i)}
					want, _ := alone.run("eval", one)
					one = map[string][]int{"tokens": batch["tokens"], "targets": only(batch["targets"], from+i), "document": batch["document"], "position": batch["position"]}
					if got, _ := packed.run("eval", one); math.Abs(got-want) > 1e-10*math.Abs(want) {
						t.Errorf("token %d has a loss of %.12g, alone %.12g", from+i, got, want)
					}
				}
				_, g := alone.run("step", own)
				for path, v := range g {
					sums[path] = append(sums[path], make([]float64, len(v)-len(sums[path]))...)
					for i := range v {
						sums[path][i] += v[i] * float64(n) / 12
					}
				}
				from += n
			}
			sameGradients(t, grads, sums)
		})
	}
}

func sameGradients(t *testing.T, got, want map[string][]float64) {
	t.Helper()
	if len(got) == 0 || len(got) != len(want) {
		t.Fatalf("gradients of %d parameters, alone of %d", len(got), len(want))
	}
	for path, w := range want {
		for i, v := range got[path] {
			if math.Abs(v-w[i]) > 1e-9*(1+math.Abs(w[i])) {
				t.Errorf("the gradient of %s at %d is %.12g, alone %.12g", path, i, v, w[i])
				break
			}
		}
	}
}

// Packed attention is a kernel in each phase wherever attention is, without a warning, and
// no pass changes results.
func TestPackedAttentionIsAKernel(t *testing.T) {
	for i, c := range packedModels {
		for j, l := range []string{
			"",
			"mesh tp = 2\n shard HEADS over tp\n precision { compute = bf16 }",
			"mesh cp = 2\n shard seq over cp\n precision { compute = bf16 }",
			"mesh cp = 2, pp = 2\n shard seq over cp { order = zigzag }\n pipeline BLOCKS over pp { microbatches = 2 }",
		} {
			if (testing.Short() || !*slow) && (i+j)%4 != 0 {
				continue
			}
			t.Run(fmt.Sprint(c.file, j), func(t *testing.T) {
				heads, blocks := "heads, kv", "blocks"
				if c.file == "gpt2" {
					heads = "heads"
				}
				if c.file == "gemma2" {
					blocks = "pairs"
				}
				src := toyOf(c.file, c.config, "layout l {\n "+strings.NewReplacer("HEADS", heads, "BLOCKS", blocks).Replace(l)+"\n}\n")
				o := compiler.Options{File: "m.ptl", Source: []byte(src), Target: "ref", Layout: "l", Set: []string{"packed=true", "batch=4", "head=4", "layers=4"}}
				report, r, err := compiler.Check(o)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range report.Rows { // a bias of keys has no gradient
					if !x.OK {
						t.Errorf("%s changes results: %s by %.3g, tolerance %.3g", x.Pass, x.Worst, x.Diff, x.Tol)
					}
				}
				for _, x := range r.Remarks {
					if strings.Contains(x.Text, "attention takes several kernels") || strings.Contains(x.Text, "scores are stored") {
						t.Error(x)
					}
				}
			})
		}
	}
}
