package launch

import (
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"ptc/lang"
)

// random is a run that some software can have.
func random(x *rand.Rand) *Run {
	pick := func(n ...int) int { return n[x.Intn(len(n))] }
	coin := func() bool { return x.Intn(2) == 0 }
	r := NewRun()
	r.TP, r.PP, r.CP, r.Replicas = pick(1, 2, 4), pick(1, 1, 2, 4), pick(1, 1, 2), pick(1, 1, 2)
	r.Embed, r.Heads, r.Head = 64, 8, pick(8, 16)
	r.FFN, r.Vocab, r.Seq = pick(128, 256), pick(512, 1000), pick(64, 128)
	r.Context = r.Seq
	r.Eps, r.Std = []float64{1e-5, 1e-6}[x.Intn(2)], []float64{0.02, 0.006}[x.Intn(2)]
	r.KV = r.Heads
	if coin() {
		r.KV = 4
	}
	randomBlock(r, x)
	if r.Experts > 0 {
		r.EP = pick(1, 2, 4)
	}
	r.Shards = r.EP * pick(1, 2)
	r.Micro = pick(1, 2)
	times := pick(1, 2, 4)
	r.Batch = r.Micro * times * r.DP()
	r.Sequence, r.Ring, r.Outer = coin(), coin(), coin()
	r.Zigzag = r.Ring && coin()
	randomStages(r, x, times)
	r.Zero = x.Intn(4)
	r.Recompute = []string{"none", "mlp", "full"}[x.Intn(3)]
	if coin() {
		r.Offload = []string{"optimizer"}
	}
	randomTraining(r, x)
	r.normal()
	return r
}

func randomBlock(r *Run, x *rand.Rand) {
	coin := func() bool { return x.Intn(2) == 0 }
	switch x.Intn(4) {
	case 0: // GPT
		r.Act, r.Bias, r.Positions = []string{"gelu", "gelu_tanh", "relu", "squared_relu"}[x.Intn(4)], coin(), []string{"learned", "none", "rope"}[x.Intn(3)]
		r.Tied, r.QKNorm = coin(), coin()
		if x.Intn(4) == 0 {
			r.Gated, r.Act = true, "silu"
		}
	case 1: // experts
		r.Norm, r.Act, r.Gated, r.Tied = "rms", "silu", true, coin()
		r.Experts, r.Chosen, r.Capacity = 8, 2, []float64{1, 1.25}[x.Intn(2)]
		r.QKNorm = coin()
		if coin() {
			r.Gated, r.Act, r.Bias, r.Norm = false, []string{"gelu", "relu"}[x.Intn(2)], coin(), "layer"
		}
	default: // Llama and its like
		r.Norm, r.Act, r.Gated, r.Tied = "rms", "silu", true, coin()
		switch x.Intn(4) {
		case 0:
			r.QKNorm = true
		case 1:
			r.QKVBias = true
		case 2:
			r.Stretch = 8
		}
		r.Base = []float64{10000, 500000}[x.Intn(2)]
		if r.Stretch == 1 && x.Intn(4) == 0 {
			r.Window = 32
		}
	}
	if r.Positions == "learned" && coin() {
		r.Context = 2 * r.Seq
	}
}

func randomStages(r *Run, x *rand.Rand, times int) {
	r.Layers = 16
	if r.PP == 1 {
		return
	}
	r.Schedule = []string{"1f1b", "interleaved", "gpipe", "breadth_first", "zb_h1"}[x.Intn(5)]
	if r.Schedule == "interleaved" || r.Schedule == "breadth_first" {
		r.Chunks = 2
	}
	if x.Intn(3) == 0 && times%2 == 0 {
		r.Rounds = 2
	}
	if x.Intn(3) == 0 {
		for range r.Virtual() {
			r.Stages = append(r.Stages, r.Layers/r.Virtual())
		}
		r.Stages[x.Intn(len(r.Stages))]--
		r.Stages[x.Intn(len(r.Stages))]++
	}
}

func randomTraining(r *Run, x *rand.Rand) {
	switch x.Intn(4) {
	case 0:
		r.Optimizer, r.Momentum = "SGD", 0.8
	case 1:
		r.Optimizer, r.Beta2 = "Lion", 0.98
	default:
		r.Beta2, r.AdamEps = 0.95, 1e-9
	}
	r.LR, r.WeightDecay, r.Clip, r.Steps = 6e-4, 0.1, 1, 200+x.Intn(50)
	r.DecaySteps = r.Steps
	switch r.Decay = []string{"constant", "linear", "cosine"}[x.Intn(3)]; r.Decay {
	case "constant":
	default:
		r.MinLR, r.Warmup = 6e-5, 20
	}
	switch x.Intn(4) {
	case 0:
		r.Compute, r.Params, r.Reduce = "bf16", "bf16", "bf16"
	case 1:
		r.Compute, r.Params, r.Scale = "f16", "f16", 1024
	case 2:
		r.Compute, r.Params = "bf16", "bf16"
	}
}

// readBack lowers a source and reads the run from it.
func readBack(t *testing.T, text string) (*Run, error) {
	t.Helper()
	p, errs := lang.Load("model.ptl", []byte(text), nil)
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	low, errs := p.Lower(lang.Options{})
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	r, _, err := Read(low.Module, low.Config)
	return r, err
}

// same compares runs, but for comments and for what other software keeps.
func same(a, b *Run) string {
	x, y := *a, *b
	x.From, y.From, x.Kept, y.Kept, x.Software, y.Software = nil, nil, nil, nil, "", ""
	if x.Optimizer == y.Optimizer {
		if x.Optimizer == "SGD" {
			x.Beta1, x.Beta2, x.AdamEps = y.Beta1, y.Beta2, y.AdamEps
		} else {
			x.Momentum = y.Momentum
		}
		if x.Optimizer == "Lion" {
			x.AdamEps = y.AdamEps
		}
	}
	if x.Decay == "constant" {
		x.DecaySteps, x.MinLR = y.DecaySteps, y.MinLR
	}
	if x.Compute != "f16" {
		x.Scale = y.Scale
	}
	if x.Positions != "learned" {
		x.Context = y.Context
	}
	if !slices.Equal(x.Offload, y.Offload) {
		return fmt.Sprintf("offload %v, then %v", x.Offload, y.Offload)
	}
	x.Offload, y.Offload = nil, nil
	if len(x.Stages)+len(y.Stages) == 0 {
		x.Stages, y.Stages = nil, nil
	}
	return differences(reflect.ValueOf(x), reflect.ValueOf(y))
}

// differences lists the fields that differ.
func differences(x, y reflect.Value) string {
	var out []string
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if f.Anonymous {
			if d := differences(x.Field(i), y.Field(i)); d != "" {
				out = append(out, d)
			}
		} else if a, b := x.Field(i).Interface(), y.Field(i).Interface(); !reflect.DeepEqual(a, b) {
			out = append(out, fmt.Sprintf("%s %v, then %v", f.Name, a, b))
		}
	}
	return strings.Join(out, "; ")
}

// TestSourceReadsBack: a run that is written as a source and read from it is the same run.
func TestSourceReadsBack(t *testing.T) {
	x := rand.New(rand.NewSource(1))
	for i := range 150 {
		r := random(x)
		r.Software = "megatron"
		r.Kept = []string{"--log-interval 1", `--data-path 'a "b"'`}
		text, err := Source(r, "all", nil)
		if err != nil {
			if r.lacks() != "" {
				continue
			}
			t.Fatal(err)
		}
		back, err := readBack(t, text)
		if err != nil {
			t.Fatalf("run %d: %v\n%s", i, err, text)
		}
		if d := same(r, back); d != "" {
			t.Errorf("run %d: %s\n%s", i, d, text)
		}
		if !slices.Equal(r.Kept, back.Kept) || back.Software != "megatron" {
			t.Errorf("run %d: kept settings %q, then %q", i, r.Kept, back.Kept)
		}
	}
}

// TestThereAndBack: what a software's configuration says of a run is the run; what it lacks
// is an error or a note.
func TestThereAndBack(t *testing.T) {
	for _, s := range All() {
		x := rand.New(rand.NewSource(2))
		done := 0
		for i := 0; i < 3000 && done < 100; i++ {
			r := random(x)
			r.Software = ""             // nothing is kept
			if s.Name == "torchtitan" { // whose sizes have names
				f := flavors[x.Intn(len(flavors))]
				r.Layers, r.Embed, r.Heads, r.KV, r.Head, r.FFN, r.Vocab = f.layers, f.embed, f.heads, f.kv, f.head, f.ffn, f.vocab
				r.Std, r.Outer, r.Bias, r.QKVBias, r.Window = 0.02, false, false, false, 0
				r.Norm, r.Act, r.Gated, r.Positions, r.QKNorm = "rms", "silu", true, "rope", f.name == "qwen3"
				r.Base, r.Stretch, r.Tied, r.Experts, r.Chosen, r.Stages = f.base, f.stretch, f.tied, f.experts, f.chosen, nil
				if r.Capacity = 0; f.experts > 0 {
					r.Capacity = 1
				} else {
					r.Shards, r.EP = max(1, r.Shards/r.EP), 1
					r.Batch = r.Micro * r.Rounds * r.PP * r.DP()
				}
				if f.layers%r.Virtual() != 0 {
					continue
				}
				if r.Eps = 1e-5; f.name == "qwen3" {
					r.Eps = 1e-6
				}
				r.normal()
			}
			if s.Name == "maxtext" { // whose words are fewer
				r.Std, r.Recompute, r.Offload, r.Stages = 0.02, "full", nil, nil
				if r.Zero > 0 {
					r.Zero = 3
				}
				r.normal()
			}
			text, notes, err := s.To(r)
			if err != nil || lossy(s.Name, notes) {
				continue
			}
			in := Input{Devices: r.Devices(), Files: []File{{"run", []byte(text)}}}
			back, _, err := s.From(in)
			if err != nil {
				t.Fatalf("%s, run %d: %v\n%s", s.Name, i, err, text)
			}
			done++
			if d := same(r, back); d != "" {
				t.Errorf("%s, run %d: %s\n%s", s.Name, i, d, text)
			}
		}
		if done < 20 {
			t.Errorf("%s: %d runs of 3000 have a counterpart", s.Name, done)
		}
	}
}

// lossy reports whether notes say that something differs.
func lossy(name string, notes []Note) bool {
	return len(notes) > 0 && !(name == "deepspeed" && len(notes) == 1 && strings.Contains(notes[0].Text, deepspeedFlagsKey))
}
