package launch

import (
	"fmt"
	"slices"
	"strings"
)

// megatronFlags are the flags of Megatron-LM that say something about model, batch, layout
// or training.
var megatronFlags = []group{
	{translated, "", `num-layers:int encoder-num-layers:int hidden-size:int ffn-hidden-size:int num-attention-heads:int
		group-query-attention num-query-groups:int kv-channels:int seq-length:int encoder-seq-length:int
		max-position-embeddings:int vocab-size:int make-vocab-size-divisible-by:int tokenizer-type:string
		normalization:string norm-epsilon:float layernorm-epsilon:float init-method-std:float
		swiglu squared-relu openai-gelu disable-bias-linear add-qkv-bias qk-layernorm
		untie-embeddings-and-output-weights position-embedding-type:string use-rotary-position-embeddings
		no-position-embedding rotary-base:int rotary-percent:float use-rope-scaling rope-scaling-factor:float
		num-experts:int moe-router-topk:int moe-ffn-hidden-size:int moe-expert-capacity-factor:float`},
	{translated, "", `micro-batch-size:int global-batch-size:int train-iters:int train-samples:int`},
	{translated, "", `tensor-model-parallel-size:int pipeline-model-parallel-size:int context-parallel-size:int
		expert-model-parallel-size:int expert-tensor-parallel-size:int sequence-parallel
		num-layers-per-virtual-pipeline-stage:int num-virtual-stages-per-pipeline-rank:int
		decoder-first-pipeline-num-layers:int decoder-last-pipeline-num-layers:int
		pipeline-model-parallel-layout:string account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split
		no-overlap-p2p-communication
		cp-comm-type:many use-distributed-optimizer num-distributed-optimizer-instances:int
		use-megatron-fsdp use-custom-fsdp use-torch-fsdp2 data-parallel-sharding-strategy:string
		torch-fsdp2-no-reshard-after-forward use-tp-pp-dp-mapping
		recompute-activations recompute-granularity:string recompute-method:string recompute-num-layers:int
		recompute-modules:many optimizer-cpu-offload`},
	{translated, "", `bf16 fp16 loss-scale:float grad-reduce-in-bf16 fp8-format:string`},
	{translated, "", `optimizer:string lr:float min-lr:float lr-decay-style:string lr-decay-iters:int lr-decay-samples:int
		lr-warmup-iters:int lr-warmup-samples:int lr-warmup-fraction:float weight-decay:float clip-grad:float
		adam-beta1:float adam-beta2:float adam-eps:float sgd-momentum:float lion-beta1:float lion-beta2:float`},
}

var megatronTable = table(append(slices.Clone(megatronFlags), megatronOthers...))

// fromMegatron reads a command line of Megatron-LM, such as pretrain_gpt.py takes.
func fromMegatron(in Input) (*Run, []Note, error) {
	args, err := in.words()
	if err != nil {
		return nil, nil, err
	}
	l, err := parse("Megatron-LM", megatronTable, args)
	if err != nil {
		return nil, nil, err
	}
	return megatronRun(l, in.Devices)
}

// megatronRun is the run of a command line that was read.
func megatronRun(l *line, devices int) (*Run, []Note, error) {
	r := NewRun()
	r.Software = "megatron"
	var err error
	if r.Kept, err = l.sort(); err != nil {
		return nil, nil, err
	}
	for _, step := range []func(*line, *Run){megatronSizes, megatronBlock, megatronExperts,
		func(l *line, r *Run) { megatronMesh(l, r, devices) }, megatronBatch, megatronStages, megatronVocab,
		megatronSharding, megatronRecompute, megatronPrecision, megatronTraining} {
		step(l, r)
		if err := l.err(); err != nil {
			return nil, nil, err
		}
	}
	r.normal()
	return r, l.notes, nil
}

// need is a count that has no default.
func (l *line) need(name, why string) int {
	if !l.has(name) {
		label := l.names[name]
		if label == "" {
			label = "--" + name
		}
		l.errs = append(l.errs, fmt.Errorf("%s is missing: %s", label, why))
		return 1
	}
	return l.positive(name, 1)
}

func megatronSizes(l *line, r *Run) {
	layers := "num-layers"
	if l.has("encoder-num-layers") {
		if l.has(layers) {
			l.clash(l.text(layers, ""), l.text("encoder-num-layers", ""), "both say how many layers there are")
		}
		layers = "encoder-num-layers"
	}
	if r.Layers = l.need(layers, "it says how many blocks the model has"); r.Layers > maxLayers {
		l.refuse(layers, fmt.Sprintf("a model has at most %d blocks", maxLayers))
	}
	r.Embed = l.need("hidden-size", "it says how wide the model is")
	r.Heads = l.need("num-attention-heads", "it says how many heads attention has")
	seq := "seq-length"
	if l.has("encoder-seq-length") {
		if l.has(seq) {
			l.clash(l.text(seq, ""), l.text("encoder-seq-length", ""), "both say how long a sequence is")
		}
		seq = "encoder-seq-length"
	}
	r.Seq = l.need(seq, "it says how long a sequence is")
	r.Context = l.need("max-position-embeddings", "Megatron-LM requires it")
	if r.Context < r.Seq {
		l.clash(l.text("max-position-embeddings", ""), l.text(seq, ""), "a sequence is longer than the positions that there are")
	}
	if r.Embed%r.Heads != 0 && !l.has("kv-channels") {
		l.clash(l.text("hidden-size", ""), l.text("num-attention-heads", ""), "the heads do not divide the width, and --kv-channels is missing")
	}
	r.Head = l.positive("kv-channels", max(1, r.Embed/r.Heads))
	if l.has("tokenizer-type") {
		r.Kept = append(r.Kept, l.text("tokenizer-type", ""))
	}
	r.KV = r.Heads
	if l.has("group-query-attention") {
		r.KV = l.positive("num-query-groups", 1)
		if r.Heads%r.KV != 0 {
			l.clash(l.text("num-query-groups", 1), l.text("num-attention-heads", ""), "the groups do not divide the heads")
		}
	} else if l.has("num-query-groups") {
		l.notes = append(l.notes, Note{l.text("num-query-groups", ""), "without effect, as --group-query-attention is missing"})
	}
	r.Gated = l.has("swiglu")
	wide := 4 * r.Embed
	if r.Gated { // two thirds, in multiples of 64
		wide = 4 * r.Embed * 2 / 3 / 64 * 64
	}
	r.FFN = l.positive("ffn-hidden-size", max(1, wide))
	for field, name := range map[string]string{"layers": layers, "embed": "hidden-size", "heads": "num-attention-heads", "seq": seq, "context": "max-position-embeddings",
		"ffn": "ffn-hidden-size", "head": "kv-channels", "kv": "num-query-groups"} {
		l.origin(r, field, name)
	}
}

// origin notes that a field is from a setting, if it was given.
func (l *line) origin(r *Run, field string, names ...string) {
	var out []string
	for _, n := range names {
		if l.has(n) && !l.settings[n].preset {
			out = append(out, l.settings[n].text())
		}
	}
	if len(out) > 0 {
		r.From[field] = strings.Join(out, " ")
	}
}

func megatronBlock(l *line, r *Run) {
	switch norm := l.str("normalization", "LayerNorm"); norm {
	case "LayerNorm":
		r.Norm = "layer"
	case "RMSNorm":
		r.Norm = "rms"
	default:
		l.refuse("normalization", "the norms are LayerNorm and RMSNorm")
	}
	r.Bias = !l.has("disable-bias-linear")
	r.QKVBias = r.Bias || l.has("add-qkv-bias")
	r.QKNorm = l.has("qk-layernorm")
	r.Tied = !l.has("untie-embeddings-and-output-weights")
	r.Eps = l.float("norm-epsilon", l.float("layernorm-epsilon", 1e-5))
	r.Std = l.float("init-method-std", 0.02)
	switch {
	case r.Gated && l.has("squared-relu"):
		l.clash("--swiglu", "--squared-relu", "an MLP has one activation")
	case r.Gated:
		r.Act = "silu"
	case l.has("squared-relu"):
		r.Act = "squared_relu"
	case r.Bias || l.has("openai-gelu"): // fused with a bias it is the approximation by tanh
		r.Act = "gelu_tanh"
	}
	kind := l.str("position-embedding-type", "learned_absolute")
	if l.has("use-rotary-position-embeddings") {
		kind = "rope"
	}
	switch kind {
	case "learned_absolute":
		r.Positions = "learned"
		if l.has("no-position-embedding") {
			r.Positions = "none"
		}
	case "rope", "none":
		r.Positions = kind
	default:
		l.refuse("position-embedding-type", "the positions are learned_absolute, rope and none")
	}
	r.Base = float64(l.positive("rotary-base", 10000))
	if l.float("rotary-percent", 1) != 1 {
		l.refuse("rotary-percent", "rope turns all of a head")
	}
	if factor := l.float("rope-scaling-factor", 8); l.has("use-rope-scaling") {
		r.Stretch = factor
		l.origin(r, "factor", "use-rope-scaling", "rope-scaling-factor")
	}
	l.origin(r, "eps", "norm-epsilon", "layernorm-epsilon")
	l.origin(r, "std", "init-method-std")
	l.origin(r, "base", "rotary-base")
	l.origin(r, "model", "normalization", "swiglu", "squared-relu", "openai-gelu", "disable-bias-linear", "add-qkv-bias", "qk-layernorm", "position-embedding-type", "use-rotary-position-embeddings", "no-position-embedding")
	l.origin(r, "tied", "untie-embeddings-and-output-weights")
}

// refuse is the error for the value of a setting.
func (l *line) refuse(name, why string) {
	l.errs = append(l.errs, fmt.Errorf("%s: %s", l.text(name, ""), why))
}

func megatronExperts(l *line, r *Run) {
	if !l.has("num-experts") {
		for _, name := range []string{"moe-router-topk", "moe-ffn-hidden-size", "moe-expert-capacity-factor"} {
			if l.has(name) {
				l.notes = append(l.notes, Note{l.text(name, ""), "without effect, as --num-experts is missing"})
			}
		}
		if l.integer("expert-model-parallel-size", 1) > 1 {
			l.clash(l.text("expert-model-parallel-size", 1), "no --num-experts", "there are no experts to place")
		}
		return
	}
	r.Experts = l.positive("num-experts", 1)
	r.Chosen = l.positive("moe-router-topk", 2)
	if r.Chosen > r.Experts {
		l.clash(l.text("moe-router-topk", 2), l.text("num-experts", ""), "a token goes to more experts than there are")
	}
	r.FFN = l.positive("moe-ffn-hidden-size", r.FFN)
	r.Capacity = l.float("moe-expert-capacity-factor", 0)
	if r.Capacity <= 0 {
		r.Capacity = 1
		l.notes = append(l.notes, Note{"", "no --moe-expert-capacity-factor: an expert has room for its fair share of the tokens, as shapes are fixed; Megatron-LM drops none"})
	}
	l.origin(r, "experts", "num-experts")
	l.origin(r, "chosen", "moe-router-topk")
	l.origin(r, "ffn", "moe-ffn-hidden-size")
	l.origin(r, "capacity", "moe-expert-capacity-factor")
}

// product is settings as one text: those that are given.
func (l *line) product(names []string) string {
	var out []string
	for _, n := range names {
		if l.has(n) {
			out = append(out, l.settings[n].text())
		}
	}
	return strings.Join(out, " ")
}

// megatronVocab reads the number of tokens, which Megatron-LM pads to a multiple. ptc does
// so only if the devices do not divide it otherwise.
func megatronVocab(l *line, r *Run) {
	if !l.has("vocab-size") {
		if l.str("tokenizer-type", "GPT2BPETokenizer") != "GPT2BPETokenizer" {
			l.errs = append(l.errs, fmt.Errorf("--vocab-size is missing: Megatron-LM takes it from the tokenizer's file, which ptc does not read; add --vocab-size N"))
			return
		}
		r.Vocab = 50257
		r.from("vocab", "of the tokenizer GPT2BPETokenizer")
	} else {
		r.Vocab = l.positive("vocab-size", 1)
		l.origin(r, "vocab", "vocab-size")
	}
	multiple := l.positive("make-vocab-size-divisible-by", 128)
	if multiple > MaxDevices {
		l.refuse("make-vocab-size-divisible-by", "it is too large")
		return
	}
	multiple *= r.TP
	padded := (r.Vocab + multiple - 1) / multiple * multiple
	switch {
	case padded == r.Vocab:
	case r.Vocab%r.TP == 0:
		l.notes = append(l.notes, Note{"", fmt.Sprintf("Megatron-LM pads the vocabulary to %d; ptc has no need to", padded)})
	default:
		r.from("vocab", "%d, padded to a multiple of %d", r.Vocab, multiple)
		r.Vocab = padded
	}
}
