package recipes

import (
	"embed"
	"fmt"
	"strings"
)

// Models are the sources of the recipes, by [Recipe.Model], and what they import.
//
//go:embed *.ptl
var Models embed.FS

// Recipe is a model with its sizes, and how it is laid out.
type Recipe struct {
	Name   string
	Source string // publication, and where in it
	Model  string // file
	Sizes
	Plan
	// Most is the device's memory in GiB that the publication fits in.
	Most float64
	// CPU is how many seconds of processor time the compilation may take.
	CPU float64
	// Always: compiled by every run of the tests; the others with -all.
	Always bool
}

// Sizes of a decoder. KV is 0 where every head has keys and values of its own, and FFN
// 0 where it is 4·Embed; of experts it is that of one.
type Sizes struct {
	Layers, Embed, Heads, KV, Head, FFN, Vocab, Seq, Batch, Experts int
	// Window is how many positions a layer sees, 0 for all before it, which Whole of the layers do in any case.
	Window, Whole int
	// Chosen is how many experts compute a token, in 1.25 times as many places.
	Chosen int
	// Dense is the number of elements of a layer outside of its experts, and Front those of the
	// layers before the pipeline, if the other sizes do not determine them.
	Dense, Front int
}

// Plan is a layout. Sizes of mesh axes that are 0 are 1.
type Plan struct {
	DP, PP, TP, CP, EP int
	Micro              int    // microbatches of a pipeline, or turns of accumulation
	Chunks             int    // of each device of an interleaved pipeline; 0 for one stage
	Schedule           string // another one than 1f1b and interleaved
	SP                 bool
	Zero               int
	Recompute          string // modules or auto
	Ring               bool   // attention over CP; otherwise keys and values are gathered
	FP8                bool   // products of eight bits
	Half               bool   // computes and keeps parameters in f16, with a scaled loss, not in bf16
}

// split reports whether gradients of weights are computed apart.
func (p Plan) split() bool { return strings.Contains(p.Schedule, "zb") || p.Schedule == "dualpipe_v" }

// whole reports whether a block is rematerialized as a whole.
func (p Plan) whole() bool { return strings.HasPrefix(p.Recompute, "Block") }

// Devices is how many the layout has.
func (p Plan) Devices() int {
	return max(1, p.DP) * max(1, p.PP) * max(1, p.TP) * max(1, p.CP) * max(1, p.EP)
}

// Settings are the sizes as entries of the config.
func (r *Recipe) Settings() (out []string) {
	ffn := r.FFN
	if ffn == 0 {
		ffn = 4 * r.Embed
	}
	for _, s := range []struct {
		name string
		size int
	}{{"layers", r.Layers}, {"embed", r.Embed}, {"heads", r.Heads}, {"kv", r.KV}, {"head", r.Head}, {"ffn", ffn},
		{"vocab", r.Vocab}, {"window", r.Window}, {"seq", r.Seq}, {"batch", r.Batch}, {"experts", r.Experts}} {
		if s.size > 0 && !(s.name == "experts" && r.Model == "deepseek3.ptl") { // there groups times experts of a group
			out = append(out, fmt.Sprintf("%s=%d", s.name, s.size))
		}
	}
	return out
}

// Precision is the directive of the layout's dtypes.
func (p Plan) Precision() string {
	products := ""
	if p.FP8 {
		products = "  products = f8"
	}
	dtype := "bf16"
	if p.Half {
		dtype = "f16"
	}
	return fmt.Sprintf("precision { compute = %s  params = %s%s }", dtype, dtype, products)
}

// Layout is the layout in the language, under the name recipe.
func (r *Recipe) Layout() string {
	var mesh, lines, batch, whole []string
	axis := func(name string, size int) bool {
		if size > 1 {
			mesh = append(mesh, fmt.Sprintf("%s = %d", name, size))
		}
		return size > 1
	}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if axis("dp", r.DP) {
		batch, whole = append(batch, "dp"), append(whole, "dp")
	}
	if axis("pp", r.PP) {
		schedule := r.Schedule
		switch {
		case schedule == "" && r.Chunks > 1:
			schedule = "interleaved"
		case schedule == "":
			schedule = "1f1b"
		}
		if r.Chunks > 1 {
			schedule += fmt.Sprintf("  chunks = %d", r.Chunks)
		}
		add("pipeline blocks over pp { schedule = %s  microbatches = %d }", schedule, r.Micro)
	} else if r.Micro > 1 {
		add("accumulate = %d", r.Micro)
	}
	if axis("cp", r.CP) {
		whole = append(whole, "cp")
		how := "attention = gather"
		if r.Ring {
			how = "attention = ring  order = zigzag"
		}
		add("shard seq over cp { %s }", how)
	}
	if axis("ep", r.EP) {
		batch, whole = append(batch, "ep"), append(whole, "ep")
		add("shard experts over ep")
	}
	if axis("tp", r.TP) {
		kv := ""
		if r.KV > 1 {
			kv = "kv, "
		}
		add("shard heads, %sffn, vocab over tp", kv)
		if r.SP {
			add("shard seq over tp between Block")
		}
	}
	if len(batch) > 0 {
		add("shard batch over (%s)", strings.Join(batch, ", "))
	}
	if r.Zero > 0 {
		add("zero %d over (%s)", r.Zero, strings.Join(whole, ", "))
	}
	if r.Recompute != "" {
		add("recompute %s", r.Recompute)
	}
	add("%s", r.Precision())
	add("device memory = %g GiB", r.Most)
	return "layout recipe {\n  mesh " + strings.Join(mesh, ", ") + "\n  " + strings.Join(lines, "\n  ") + "\n}\n"
}
