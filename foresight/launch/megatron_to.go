package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// toMegatron writes flags of Megatron-LM, one a line, which a shell reads as one command line.
func toMegatron(r *Run) (string, []Note, error) {
	w := &flagWriter{}
	if err := megatronLacks(r); err != nil {
		return "", nil, err
	}
	w.model(r)
	w.mesh(r)
	w.stages(r)
	w.context(r)
	w.memory(r)
	w.training(r)
	w.kept(r)
	return strings.Join(w.lines, " \\\n") + "\n", w.notes, nil
}

// megatronLacks is what Megatron-LM has no flag for.
func megatronLacks(r *Run) error {
	switch {
	case r.Act == "relu" || r.Gated && r.Act != "silu":
		return fmt.Errorf("the activation of the MLPs has no flag in Megatron-LM: it has gelu, squared_relu and SwiGLU")
	case r.Window > 0:
		return fmt.Errorf("attention in windows of std.models has no counterpart that ptc writes for Megatron-LM: set window = 0")
	case r.Schedule != "1f1b" && r.Schedule != "interleaved":
		return fmt.Errorf("the pipeline's schedule `%s` has no counterpart in Megatron-LM: use 1f1b or interleaved", r.Schedule)
	case len(r.Stages) == 0 && evenly(r.Layers, r.Virtual(), [2]int{}) == nil:
		return fmt.Errorf("there are %d stages of %s", r.Virtual(), count(r.Layers, "block"))
	case r.Chunks > 1 && r.Microbatches()%r.PP != 0:
		return fmt.Errorf("Megatron-LM's interleaved pipelines take a multiple of the %d stages as the number of microbatches, and there are %d", r.PP, r.Microbatches())
	case r.CP > 1 && r.Ring && !r.Zigzag:
		return fmt.Errorf("Megatron-LM shards a sequence in zigzag order over a ring: write { attention = ring  order = zigzag }")
	case r.Zero > 1 && r.PP > 1:
		return fmt.Errorf("`zero %d` with a pipeline has no counterpart in Megatron-LM: use `zero 1`", r.Zero)
	case len(r.Offload) > 0 && r.Offload[0] == "activations":
		return fmt.Errorf("offloading of activations has no counterpart in Megatron-LM: leave it out")
	case r.Base != float64(int(r.Base)):
		return fmt.Errorf("Megatron-LM takes the base of rope as a whole number, and it is %v", r.Base)
	case r.Norm == "rms" && r.Positions == "learned" && r.Context < r.Seq:
		return fmt.Errorf("the model has fewer positions than a sequence")
	}
	return nil
}

// torchFSDP is the flag of one of the two implementations of sharded parameters.
const torchFSDP = "--use-torch-fsdp2"

// torchFSDP reports whether the run came with the other implementation than Megatron-FSDP.
func (r *Run) torchFSDP() bool { return r.Software == "megatron" && slices.Contains(r.Kept, torchFSDP) }

// kept writes the flags that no layout has, but for what sharded parameters contradict.
func (w *flagWriter) kept(r *Run) {
	if r.Software != "megatron" {
		return
	}
	for _, k := range r.Kept {
		format := strings.HasPrefix(k, "--ckpt-format ")
		if k == torchFSDP && r.Zero < 2 || format && r.Zero > 1 && !r.torchFSDP() {
			continue
		}
		w.lines = append(w.lines, k)
	}
}

// flagWriter collects flags.
type flagWriter struct {
	lines []string
	notes []Note
}

func (w *flagWriter) add(name string, value any) {
	text := fmt.Sprint(value)
	if x, ok := value.(float64); ok {
		text = strconv.FormatFloat(x, 'g', -1, 64)
	}
	w.lines = append(w.lines, "--"+name+" "+text)
}

// when adds a switch if it is on.
func (w *flagWriter) when(on bool, name string) {
	if on {
		w.lines = append(w.lines, "--"+name)
	}
}

func (w *flagWriter) model(r *Run) {
	w.add("num-layers", r.Layers)
	w.add("hidden-size", r.Embed)
	if r.Experts == 0 {
		w.add("ffn-hidden-size", r.FFN)
	}
	w.add("num-attention-heads", r.Heads)
	if r.KV != r.Heads {
		w.when(true, "group-query-attention")
		w.add("num-query-groups", r.KV)
	}
	if r.Head*r.Heads != r.Embed {
		w.add("kv-channels", r.Head)
	}
	w.add("seq-length", r.Seq)
	w.add("max-position-embeddings", r.Context)
	if r.Norm == "rms" {
		w.add("normalization", "RMSNorm")
	}
	if r.Eps != 1e-5 {
		w.add("norm-epsilon", r.Eps)
	}
	w.when(r.Gated, "swiglu")
	w.when(r.Act == "squared_relu", "squared-relu")
	w.when(!r.Bias, "disable-bias-linear")
	w.when(r.QKVBias && !r.Bias, "add-qkv-bias")
	w.when(r.QKNorm, "qk-layernorm")
	w.when(!r.Tied, "untie-embeddings-and-output-weights")
	switch r.Positions {
	case "rope":
		w.add("position-embedding-type", "rope")
		if r.Base != 10000 {
			w.add("rotary-base", int(r.Base))
		}
		if r.Stretch != 1 {
			w.when(true, "use-rope-scaling")
			w.add("rope-scaling-factor", r.Stretch)
		}
	case "none":
		w.add("position-embedding-type", "none")
	}
	if r.Act == "gelu" && r.Bias || r.Act == "gelu_tanh" && !r.Bias {
		w.notes = append(w.notes, Note{"", "Megatron-LM computes gelu by tanh with biases and exactly without, the model here the other way about"})
		w.when(!r.Bias, "openai-gelu")
	}
	if r.Experts > 0 {
		w.add("num-experts", r.Experts)
		w.add("moe-router-topk", r.Chosen)
		w.add("moe-ffn-hidden-size", r.FFN)
		w.add("ffn-hidden-size", r.FFN)
		w.add("moe-expert-capacity-factor", r.Capacity)
	}
	w.add("vocab-size", r.Vocab)
}

func (w *flagWriter) mesh(r *Run) {
	w.add("micro-batch-size", r.Micro)
	w.add("global-batch-size", r.Batch)
	w.add("tensor-model-parallel-size", r.TP)
	w.add("pipeline-model-parallel-size", r.PP)
	if r.CP > 1 {
		w.add("context-parallel-size", r.CP)
	}
	if r.EP > 1 {
		w.add("expert-model-parallel-size", r.EP)
	}
	if r.Rounds > 1 {
		w.notes = append(w.notes, Note{"accumulate", "Megatron-LM sends all microbatches through the pipeline at once"})
	}
	w.when(r.Outer, "use-tp-pp-dp-mapping")
	w.when(r.Sequence, "sequence-parallel")
}

// context writes how attention combines the shards of a sequence.
func (w *flagWriter) context(r *Run) {
	if r.CP == 1 || r.Ring {
		return
	}
	w.add("cp-comm-type", "all_gather")
	w.notes = append(w.notes, Note{"attention = gather", "Megatron-LM gives each device a chunk of the sequence from both ends, so that all have the same work; here they lie in its order"})
}

// stages writes how blocks are divided among stages.
func (w *flagWriter) stages(r *Run) {
	if len(r.Stages) == 0 && r.Layers%r.Virtual() == 0 {
		if r.Chunks > 1 {
			w.add(perStage, r.Layers/r.Virtual())
		}
		return
	}
	stages := r.Stages
	if len(stages) == 0 {
		stages = evenly(r.Layers, r.Virtual(), [2]int{})
		w.notes = append(w.notes, Note{"", fmt.Sprintf("%d layers are not divisible by %d stages: the first ones get one more", r.Layers, r.Virtual())})
	}
	if !r.endsAlone() {
		w.add(stageLayout, quote(written(stages)))
		return
	}
	first, last := r.ends()
	w.add(firstStage, first)
	w.add(lastStage, last)
	if r.Chunks > 1 {
		w.add(stagesOfRank, r.Chunks)
	}
}

// ends are the blocks of the first and of the last device.
func (r *Run) ends() (first, last int) {
	for c := range r.Chunks {
		first += r.Stages[c*r.PP]
		last += r.Stages[c*r.PP+r.PP-1]
	}
	return first, last
}

// endsAlone reports whether the first and the last device alone have another number of blocks than
// the others, and each device as many in every stage, so that two numbers say it.
func (r *Run) endsAlone() bool {
	if len(r.Stages) == 0 {
		return false
	}
	first, last := r.ends()
	inner := 0
	if r.PP > 2 {
		inner = (r.Layers - first - last) / (r.PP - 2)
	}
	for i, n := range r.Stages {
		want := inner
		switch i % r.PP {
		case 0:
			want = first
		case r.PP - 1:
			want = last
		}
		if n*r.Chunks != want {
			return false
		}
	}
	return true
}

func (w *flagWriter) memory(r *Run) {
	switch r.Zero {
	case 1:
		w.when(true, "use-distributed-optimizer")
	case 2, 3:
		if r.torchFSDP() {
			w.when(r.Zero == 2, "torch-fsdp2-no-reshard-after-forward")
			break
		}
		w.when(true, "use-megatron-fsdp")
		w.when(true, "use-distributed-optimizer")
		w.add("data-parallel-sharding-strategy", map[int]string{2: "optim_grads", 3: "optim_grads_params"}[r.Zero])
		w.add("ckpt-format", "fsdp_dtensor")
	}
	if r.Replicas > 1 {
		w.add("num-distributed-optimizer-instances", r.Replicas)
	}
	switch r.Recompute {
	case "full":
		w.add("recompute-granularity", "full")
		w.add("recompute-method", "uniform")
		w.add("recompute-num-layers", 1)
	case "mlp":
		module := "mlp"
		if r.Experts > 0 {
			module = "moe"
		}
		w.add("recompute-granularity", "selective")
		w.add("recompute-modules", module)
	}
	if len(r.Offload) > 0 {
		w.when(true, "optimizer-cpu-offload")
		w.when(true, "use-precision-aware-optimizer")
	}
	w.when(r.Compute == "bf16", "bf16")
	w.when(r.Compute == "f16", "fp16")
	if r.Compute == "f16" && r.Scale > 0 {
		w.add("loss-scale", r.Scale)
	}
	w.when(r.Reduce == "bf16", "grad-reduce-in-bf16")
	if r.Products != "" {
		w.add("fp8-format", "hybrid")
	}
	if r.Compute != "f32" && r.Params == "f32" {
		w.notes = append(w.notes, Note{"params = f32", "Megatron-LM stores parameters in the dtype that it computes in, with masters in f32"})
	}
}

func (w *flagWriter) training(r *Run) {
	switch r.Optimizer {
	case "SGD":
		w.add("optimizer", "sgd")
		w.add("sgd-momentum", r.Momentum)
	case "Lion":
		w.add("optimizer", "lion")
		w.add("lion-beta1", r.Beta1)
		w.add("lion-beta2", r.Beta2)
	default:
		w.add("optimizer", "adam")
		w.add("adam-beta1", r.Beta1)
		w.add("adam-beta2", r.Beta2)
		w.add("adam-eps", r.AdamEps)
	}
	w.add("train-iters", r.Steps)
	w.add("lr", r.LR)
	w.add("min-lr", r.MinLR)
	w.add("lr-decay-style", r.Decay)
	if r.DecaySteps != r.Steps {
		w.add("lr-decay-iters", r.DecaySteps)
	}
	w.add("lr-warmup-iters", r.Warmup)
	w.add("weight-decay", r.WeightDecay)
	w.add("clip-grad", r.Clip)
	if r.Std != 0.02 {
		w.add("init-method-std", r.Std)
	}
}
