package matrix

// Layouts are the rows, from one kind alone to four together. Three and five
// blocks make stages of unequal depth; ZeRO leaves what it cannot cut evenly
// whole.
var Layouts = append(decoders, perceptrons()...)

var decoders = []Layout{
	// Each kind alone.
	{Spec: "dp2"}, {Spec: "dp4"}, {Spec: "dp8"}, {Spec: "dp16", Set: "batch=16"},
	{Spec: "dp2 z1"}, {Spec: "dp2 z2"}, {Spec: "dp2 z3"},
	{Spec: "dp4 z1"}, {Spec: "dp4 z2"}, {Spec: "dp4 z3"},
	{Spec: "dp8 z1"}, {Spec: "dp8 z3"}, // embed = 20 cannot be cut in eight, so some parameters stay whole
	{Spec: "fsdp2"}, {Spec: "fsdp4"}, {Spec: "dp2 fsdp2"}, {Spec: "dp2 fsdp4"},
	{Spec: "tp2"}, {Spec: "tp4"}, {Spec: "kvtp2", Models: "llama"},
	{Spec: "tp2 sp"}, {Spec: "tp4 sp"}, {Spec: "kvtp2 sp", Models: "llama"},
	{Spec: "cp2"}, {Spec: "cp3"}, {Spec: "cp4"}, {Spec: "cp8", Set: "seq=16"}, {Spec: "gather2"}, {Spec: "gather4"},
	{Spec: "zz2"}, {Spec: "zz3"}, {Spec: "zz4", Set: "seq=24"}, {Spec: "zz8", Set: "seq=16"},
	{Spec: "gpipe:2:2", Set: "layers=3"}, {Spec: "gpipe:4:4", Set: "layers=5"},
	{Spec: "1f1b:2:1"}, {Spec: "1f1b:2:4", Set: "layers=3"}, {Spec: "1f1b:4:8", Set: "layers=5"},
	{Spec: "interleaved:2:4:2", Set: "layers=5"},
	{Spec: "zb_h1:2:4", Set: "layers=3"}, {Spec: "zb_h1:4:4", Set: "layers=5"}, {Spec: "zb_h2:3:8", Set: "layers=4"},
	{Spec: "zb_v:2:4", Set: "layers=5"}, {Spec: "interleaved_zb:2:4:3", Set: "layers=7"}, {Spec: "dualpipe_v:2:8", Set: "layers=5"},
	{Spec: "interleaved:3:4:2", Set: "layers=6"}, {Spec: "breadth_first:2:4:2", Set: "layers=4"},
	{Spec: "ep2", Models: "moe"}, {Spec: "ep4", Models: "moe"}, {Spec: "ex2", Models: "moe"}, {Spec: "ex4", Models: "moe"},
	// Parts of the model alone.
	{Spec: "ffn/2"}, {Spec: "ffn/4"}, {Spec: "heads/2"}, {Spec: "vocab/2"}, {Spec: "vocab/4"}, {Spec: "embed/2"},
	{Spec: "ffn/3"}, {Spec: "heads/2 ffn/3"}, {Spec: "heads/2 vocab/4"}, {Spec: "embed/2 ffn/2"},
	{Spec: "embed/5"}, {Spec: "head/2", Set: "head=8"}, {Spec: "heads/2 head/3"}, {Spec: "kv/2", Models: "llama"}, {Spec: "kv/2 heads/2", Models: "llama"},
	{Spec: "tp6", Set: "heads=6 kv=3 vocab=48", Models: "llama"}, {Spec: "kvtp3", Set: "heads=6 kv=3 vocab=48", Models: "llama"},
	// Some layers alone, and parameters that stay whole.
	{Spec: "on2", Extra: "shard ffn of blocks.0.mlp over on", Models: "gpt llama"},
	{Spec: "dp2 z3 on2", Extra: "shard ffn of blocks.1.mlp over on", Models: "gpt llama"},
	{Spec: "on2 1f1b:2:2", Extra: "shard ffn of blocks.0.mlp over on", Models: "gpt llama"},
	{Spec: "dp2 on2", Extra: "shard heads of blocks.0.attn, blocks.1.attn.wo over on"},
	{Spec: "dp2 on2", Extra: "shard embed of wte over on", Models: "gpt moe"},
	{Spec: "ep2 on2", Extra: "shard ffn of blocks.1.moe over on", Models: "moe"},
	{Spec: "dp2 tp2", Extra: "replicate wte", Models: "gpt moe"}, {Spec: "dp2 z1 tp2", Extra: "replicate wte over tp", Models: "gpt moe"},
	{Spec: "tp2 dp2 z3", Extra: "replicate blocks.0.attn"},
	{Spec: "dp2 cp2", Extra: "zero 3 over (dp, cp)"}, {Spec: "dp2 cp2 tp2", Extra: "zero 1 over (dp, cp)"},
	{Spec: "1f1b:2:2 tp2 sp", Extra: "recompute Block"}, {Spec: "dp2 tp2", Extra: "recompute Block { keep = [attn] }", Models: "gpt llama"},
	{Spec: "single", Extra: "recompute auto { budget = 310 KiB }", Models: "gpt llama"},
	{Spec: "dp2 z3 tp2 sp", Extra: "recompute auto { budget = 100 KiB }", Models: "gpt llama"},
	{Spec: "dp2 1f1b:2:4 tp2", Set: "layers=3", Extra: "recompute auto { budget = 48 KiB }", Models: "gpt llama"},
	// Gradients of several parts of the batch add up.
	{Spec: "single", Extra: "accumulate = 2"}, {Spec: "dp2", Extra: "accumulate = 4"}, {Spec: "dp2 z1", Extra: "accumulate = 2"},
	{Spec: "dp2 z2 tp2", Extra: "accumulate = 2"}, {Spec: "dp2 z3 tp2 sp", Extra: "accumulate = 4  recompute Block"}, {Spec: "zz2", Extra: "accumulate = 2"},
	{Spec: "1f1b:1:4"}, {Spec: "dp2 z3 1f1b:2:2", Set: "layers=3", Extra: "accumulate = 2"}, {Spec: "dp2 z1 gpipe:2:2 tp2", Extra: "accumulate = 2"},
	{Spec: "ep2", Extra: "accumulate = 2", Models: "moe"}, {Spec: "dp2", Extra: "accumulate = 2  recompute Block  " + offload},
	// States and activations in other memories.
	{Spec: "on1", Extra: offload}, {Spec: "dp2", Extra: offload}, {Spec: "dp2 z1", Extra: offload}, {Spec: "dp2 z2", Extra: offload}, {Spec: "dp2 z3", Extra: offload},
	{Spec: "tp2 sp", Extra: offload}, {Spec: "1f1b:2:2", Extra: offload}, {Spec: "dp2 z1 interleaved:2:2:2 tp2", Set: "layers=5", Extra: offload},
	{Spec: "dp2", Extra: "recompute Block  " + offload}, {Spec: "ep2", Extra: "offload optimizer, activations to disk", Models: "moe"},
	// Pairs.
	{Spec: "dp2 tp2"}, {Spec: "dp4 tp2"}, {Spec: "dp2 tp4"}, {Spec: "dp4 tp4"}, {Spec: "dp2 kvtp2", Models: "llama"},
	{Spec: "dp2 z1 tp2"}, {Spec: "dp2 z2 tp2"}, {Spec: "dp2 z3 tp2"}, {Spec: "dp4 z1 tp4"},
	{Spec: "dp2 tp2 sp"}, {Spec: "dp2 z1 tp2 sp"}, {Spec: "dp2 z3 tp2 sp"},
	{Spec: "dp2 cp2"}, {Spec: "dp2 z1 cp2"}, {Spec: "dp2 z3 cp2"},
	{Spec: "dp2 1f1b:2:2", Set: "layers=3"}, {Spec: "dp2 z1 1f1b:2:2"}, {Spec: "dp2 z2 gpipe:2:2"}, {Spec: "dp2 z3 1f1b:2:2", Set: "layers=3"},
	{Spec: "dp2 interleaved:2:2:2", Set: "layers=4"}, {Spec: "dp2 zb_h1:2:2"},
	{Spec: "fsdp2 tp2"}, {Spec: "fsdp2 cp2"}, {Spec: "fsdp2 1f1b:2:2"},
	{Spec: "tp2 cp2"}, {Spec: "cp2 tp2 sp", Set: "seq=16"},
	{Spec: "tp2 1f1b:2:2", Set: "layers=3"}, {Spec: "1f1b:2:2 tp2 sp"}, {Spec: "tp2 zb_h1:2:4"}, {Spec: "tp2 gpipe:2:2"},
	{Spec: "tp2 interleaved:2:2:2", Set: "layers=4"},
	{Spec: "dp2 zz2"}, {Spec: "dp2 z3 zz2"}, {Spec: "dp2 gather2"}, {Spec: "tp2 zz2"}, {Spec: "zz2 tp2 sp", Set: "seq=16"}, {Spec: "kvtp2 zz2", Models: "llama"},
	{Spec: "zz2 1f1b:2:2", Set: "layers=3"}, {Spec: "zz3 zb_h1:2:2"}, {Spec: "ep2 zz2", Models: "moe"},
	{Spec: "cp2", Extra: "recompute Block"}, {Spec: "zz2", Extra: "recompute Block"},
	{Spec: "cp2 1f1b:2:2", Set: "layers=3"}, {Spec: "cp2 zb_h1:2:2"}, {Spec: "cp2 gpipe:2:4"},
	{Spec: "dp2 ep2", Models: "moe"}, {Spec: "ep2 tp2", Models: "moe"}, {Spec: "ep2 cp2", Models: "moe"},
	{Spec: "ep2 1f1b:2:2", Models: "moe"}, {Spec: "dp2 z1 ep2", Models: "moe"}, {Spec: "dp2 ex2", Models: "moe"},
	{Spec: "ex2 1f1b:2:2", Set: "layers=3", Models: "moe"}, {Spec: "ep2 tp2 sp", Models: "moe"}, {Spec: "ep2 fsdp2", Models: "moe"},
	// Experts over several mesh axes, and over those of the batch; two levels.
	{Spec: "node2 ep2", Models: "moe"}, {Spec: "node2 ep2", Extra: "two_level = 0", Models: "moe"}, {Spec: "node2 ep2 tp2", Models: "moe"},
	{Spec: "node2 ep2 1f1b:2:2", Extra: "two_level = 0", Set: "layers=3", Models: "moe"}, {Spec: "node2 ep2 fsdp2", Extra: "two_level = 0", Models: "moe"},
	{Spec: "dp2", Extra: "shard experts over dp", Models: "moe"}, {Spec: "dp2 z1", Extra: "shard experts over dp", Models: "moe"},
	{Spec: "dp2 fsdp2", Extra: "shard experts over dp", Models: "moe"}, {Spec: "dp2 ep2", Extra: "two_level = 0", Models: "moe"},
	{Spec: "ep2 on2", Extra: "shard experts of blocks.1.moe over on", Models: "moe"},
	// Experts over what shards the batch and the sequence: their slots are permuted, and split.
	{Spec: "single", Extra: everywhere + "mesh dp = 2, tp = 2", Models: "moe"},
	{Spec: "single", Set: "experts=8", Extra: everywhere + "mesh dp = 2, tp = 4", Models: "moe"},
	{Spec: "dp2 fsdp4", Extra: "two_level = 0"}, {Spec: "dp2 fsdp2 tp2", Extra: "two_level = 0"}, {Spec: "dp2 cp2", Extra: "zero 3 over (dp, cp)  two_level = 0"},
	// Triples, and four together.
	{Spec: "dp2 1f1b:2:2 tp2"}, {Spec: "dp2 1f1b:2:2 tp2 sp"}, {Spec: "dp2 z1 1f1b:2:2 tp2 sp", Set: "layers=3"},
	{Spec: "dp2 zb_h1:2:2 tp2"}, {Spec: "dp2 z1 interleaved:2:2:2 tp2", Set: "layers=5"},
	{Spec: "dp2 cp2 tp2"}, {Spec: "dp2 z3 cp2 tp2"}, {Spec: "fsdp2 tp2 cp2"},
	{Spec: "dp2 zz2 tp2"}, {Spec: "dp2 z3 zz4 tp2", Set: "seq=16"}, {Spec: "dp2 z3 1f1b:2:2 zz2 tp2", Extra: "recompute Block"},
	{Spec: "dp2 zz2", Extra: "zero 3 over (dp, cp)"}, {Spec: "dp2 z1 1f1b:2:2 zz2"},
	{Spec: "dp2 1f1b:2:2 cp2"}, {Spec: "dp2 z3 1f1b:2:2 tp2"}, {Spec: "1f1b:2:2 cp2 tp2"},
	// The order of the mesh is free.
	{Spec: "tp2 1f1b:2:2 dp2 z1"}, {Spec: "cp2 tp2 dp2 z3 1f1b:2:2"}, {Spec: "fsdp2 zb_h1:2:2 cp2 tp2"},
	{Spec: "dp3 1f1b:3:2", Set: "batch=6 layers=4"}, {Spec: "interleaved:2:6:3", Set: "batch=12 layers=7"},
	{Spec: "dp2 1f1b:2:2 cp2 tp2"}, {Spec: "dp2 z1 1f1b:4:4 tp2 sp", Set: "layers=5"}, {Spec: "dp2 1f1b:2:2 tp4 sp", Set: "layers=3"},
	{Spec: "dp2 ep2 tp2", Models: "moe"}, {Spec: "dp2 ep4 tp2", Models: "moe"}, {Spec: "dp2 1f1b:2:2 ep2", Models: "moe"},
	{Spec: "dp2 z1 1f1b:2:2 ep2 tp2", Models: "moe"},
}

// everywhere are experts over all devices of data and of sequence parallelism.
const everywhere = "shard experts over (dp, tp)  shard batch over dp  shard vocab over tp  shard seq over tp between Block  "

// offload moves what can be moved; its pieces are small, as the models are.
const offload = "offload optimizer to host { piece = 1 KiB }  offload activations of Block to disk"

// perceptrons are all pairs of a way to cut the batch and a way to cut the
// perceptron.
func perceptrons() (out []Layout) {
	for _, d := range []string{"", "dp2", "dp2 z1", "dp2 z2", "dp2 z3", "dp4", "dp4 z1", "dp4 z2", "dp4 z3"} {
		for _, t := range []string{"", "tp2", "tp4", "vocab/2", "embed/2", "seq/2", "hidden/2 vocab/2", "seq/3"} {
			spec := d
			if d != "" && t != "" {
				spec += " "
			}
			if spec += t; spec != "" {
				out = append(out, Layout{Spec: spec, Models: "mlp"})
			}
		}
	}
	return out
}

// Native names the rows of each model that run as native code with every change: it
// takes longer to compile.
var Native = map[string][]string{
	"mlp":   {"dp2 z3 tp2"},
	"gpt":   {"dp2 z1 1f1b:2:2 tp2 sp (layers=3)", "cp3", "dp2 z3 zz4 tp2 (seq=16)"},
	"llama": {"zz2 + recompute Block"},
	"moe":   {"dp2 ep2 tp2"},
}
