package launch

import (
	"fmt"
	"slices"
	"strings"
)

// flavor is a model of torchtitan.
type flavor struct {
	name, flavor                                    string
	layers, embed, heads, kv, head, ffn, vocab, seq int
	base, stretch                                   float64
	tied                                            bool
	experts, chosen                                 int
}

// flavors are the sizes of the models of torchtitan that std.models has, or that can be
// written out.
var flavors = []flavor{
	{"llama3", "debugmodel", 6, 256, 16, 16, 16, 768, 2048, 131072, 500000, 8, false, 0, 0},
	{"llama3", "8B", 32, 4096, 32, 8, 128, 14336, 128256, 131072, 500000, 8, false, 0, 0},
	{"llama3", "70B", 80, 8192, 64, 8, 128, 28672, 128256, 131072, 500000, 8, false, 0, 0},
	{"llama3", "405B", 126, 16384, 128, 8, 128, 53248, 128256, 131072, 500000, 8, false, 0, 0},
	{"llama3", "1B", 16, 2048, 32, 8, 64, 8192, 128256, 131072, 500000, 8, true, 0, 0},
	{"llama3", "3B", 28, 3072, 24, 8, 128, 8192, 128256, 131072, 500000, 8, true, 0, 0},
	{"qwen3", "debugmodel", 8, 256, 16, 8, 128, 3072, 2048, 4096, 1000000, 1, true, 0, 0},
	{"qwen3", "0.6B", 28, 1024, 16, 8, 128, 3072, 151936, 4096, 1000000, 1, true, 0, 0},
	{"qwen3", "1.7B", 28, 2048, 16, 8, 128, 6144, 151936, 4096, 1000000, 1, true, 0, 0},
	{"qwen3", "4B", 36, 2560, 32, 8, 128, 9728, 151936, 4096, 1000000, 1, true, 0, 0},
	{"qwen3", "8B", 36, 4096, 32, 8, 128, 12288, 151936, 4096, 1000000, 1, false, 0, 0},
	{"qwen3", "14B", 40, 5120, 40, 8, 128, 17408, 151936, 4096, 1000000, 1, false, 0, 0},
	{"qwen3", "32B", 64, 5120, 64, 8, 128, 25600, 151936, 4096, 1000000, 1, false, 0, 0},
	{"qwen3", "debugmodel_moe", 8, 256, 16, 8, 128, 768, 2048, 4096, 1000000, 1, false, 64, 8},
	{"qwen3", "30B-A3B", 48, 2048, 32, 4, 128, 768, 151936, 262144, 1000000, 1, false, 128, 8},
	{"qwen3", "235B-A22B", 94, 4096, 64, 4, 128, 1536, 151936, 4096, 5000000, 1, false, 128, 8},
}

func torchtitanModel(l *line, r *Run) {
	name, kind := l.str("model.name", "llama3"), l.str("model.flavor", "debugmodel")
	i := slices.IndexFunc(flavors, func(f flavor) bool { return f.name == name && f.flavor == kind })
	if i < 0 {
		l.errs = append(l.errs, noFlavor(l.product([]string{"model.name", "model.flavor"}), name))
		return
	}
	f := flavors[i]
	r.Layers, r.Embed, r.Heads, r.KV, r.Head, r.FFN, r.Vocab = f.layers, f.embed, f.heads, f.kv, f.head, f.ffn, f.vocab
	r.Norm, r.Act, r.Gated, r.Positions = "rms", "silu", true, "rope"
	r.Base, r.Stretch, r.Tied, r.Experts, r.Chosen = f.base, f.stretch, f.tied, f.experts, f.chosen
	r.QKNorm = f.name == "qwen3"
	if r.QKNorm {
		r.Eps = 1e-6
	}
	if r.Experts > 0 {
		r.Capacity = 1
		l.notes = append(l.notes, Note{"", "an expert has room for its fair share of the tokens, as shapes are fixed; torchtitan drops none"})
	}
	r.from("layers", "%s", l.product([]string{"model.name", "model.flavor"}))
	r.Seq = l.positive("training.seq_len", 2048)
	if l.has("training.max_context_length") {
		r.Seq = l.positive("training.max_context_length", 2048)
	}
	r.Context = max(f.seq, r.Seq)
	l.origin(r, "seq", "training.seq_len", "training.max_context_length")
}

// torchtitanOthers are models of torchtitan that ptc cannot write, each with what it has.
var torchtitanOthers = map[string]string{
	"deepseek_v3": "multi-latent attention and shared experts",
	"kimi_k2_7":   "multi-latent attention and shared experts",
	"llama4":      "shared experts, attention in chunks, and layers without rope",
	"gpt_oss":     "attention sinks and clamped activations",
	"qwen3_5":     "layers of linear attention",

	"flux": "layers of a diffusion model",
}

// noFlavor is the error for a model that no flavor is.
func noFlavor(given, name string) error {
	if what := torchtitanOthers[name]; what != "" {
		return fmt.Errorf("%s: it has %s, which std.nn and std.decoder lack", given, what)
	}
	var known []string
	for _, f := range flavors {
		known = append(known, f.name+" "+f.flavor)
	}
	return fmt.Errorf("%s: the model is not known; those that std.models can have are %s", given, strings.Join(known, ", "))
}
