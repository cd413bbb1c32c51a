package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// toMaxText writes a YAML file of MaxText, to be given after base.yml.
func toMaxText(r *Run) (string, []Note, error) {
	w := &yamlWriter{}
	for _, write := range []func(*Run) error{w.model, w.mesh, w.stages, w.memory, w.training} {
		if err := write(r); err != nil {
			return "", nil, err
		}
	}
	if r.Software == "maxtext" {
		for _, k := range r.Kept {
			name, value, _ := strings.Cut(k, " = ")
			if !slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, name+": ") }) {
				w.key(name, value)
			}
		}
	}
	return strings.Join(append(w.comments, w.lines...), "\n") + "\n", w.notes, nil
}

// yamlWriter collects keys.
type yamlWriter struct {
	lines, comments []string
	notes           []Note
}

func (w *yamlWriter) key(name string, value any) {
	text := fmt.Sprint(value)
	if x, ok := value.(float64); ok {
		text = number(x)
	}
	w.lines = append(w.lines, name+": "+text)
}

// comment adds what no key says, to the head of the file and to what the user reads.
func (w *yamlWriter) comment(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.notes = append(w.notes, Note{"", text})
	w.comments = append(w.comments, "# "+text)
}

// decoder is the kind of the blocks.
func decoder(r *Run) (string, error) {
	switch {
	case r.Window > 0:
		return "", fmt.Errorf("attention in windows has no counterpart in these decoders of MaxText: set window = 0")
	case r.Norm == "layer" && r.Positions == "learned" && r.Bias && r.KV == r.Heads && !r.Gated && r.Experts == 0:
		return "gpt3", nil
	case r.Norm != "rms" || r.Positions != "rope" || r.Bias:
		return "", fmt.Errorf("MaxText has decoders with RMSNorm and rope without biases, and GPT-3: the model is another")
	case r.QKNorm && r.Experts > 0:
		return "qwen3_moe", nil
	case r.Experts > 0:
		return "mixtral", nil
	case r.QKNorm:
		return "qwen3", nil
	case r.QKVBias:
		return "qwen2", nil
	}
	return "llama2", nil
}

func (w *yamlWriter) model(r *Run) error {
	kind, err := decoder(r)
	if err != nil {
		return err
	}
	acts := map[string]string{"silu": "silu", "gelu_tanh": "gelu", "gelu": "gelu", "relu": "relu"}[r.Act]
	switch {
	case acts == "":
		return fmt.Errorf("the activation %s has no counterpart in MaxText", r.Act)
	case r.Act == "gelu":
		w.comment("MaxText computes gelu by tanh, the model here exactly")
	}
	acts = strconv.Quote(acts)
	if r.Gated {
		acts += `, "linear"`
	}
	w.key("decoder_block", strconv.Quote(kind))
	w.key("base_num_decoder_layers", r.Layers)
	w.key("base_emb_dim", r.Embed)
	w.key("base_num_query_heads", r.Heads)
	w.key("base_num_kv_heads", r.KV)
	w.key("head_dim", r.Head)
	w.key("base_mlp_dim", r.FFN)
	w.key("mlp_activations", "["+acts+"]")
	w.key("vocab_size", r.Vocab)
	w.key("logits_via_embedding", r.Tied)
	w.key("normalization_layer_epsilon", r.Eps)
	w.key("max_target_length", r.Seq)
	switch {
	case r.Positions == "learned":
		w.key("trainable_position_size", r.Context)
	case r.Base != float64(int(r.Base)):
		return fmt.Errorf("MaxText takes the base of rope as a whole number, and it is %v", r.Base)
	default:
		w.key("rope_max_timescale", int(r.Base))
	}
	switch r.Stretch {
	case 1:
	case 8:
		w.key("rope_type", `"llama3.1"`)
	default:
		return fmt.Errorf("MaxText stretches rope 8 times or not at all, the model here %v times", r.Stretch)
	}
	if r.QKNorm {
		w.key("use_qk_norm", true)
	}
	if r.QKVBias && !r.Bias {
		w.key("attention_bias", true)
	}
	if r.Experts > 0 {
		w.key("base_moe_mlp_dim", r.FFN)
		w.key("num_experts", r.Experts)
		w.key("num_experts_per_tok", r.Chosen)
		w.key("capacity_factor", r.Capacity)
	}
	return nil
}

func (w *yamlWriter) mesh(r *Run) error {
	if r.Zero > 0 && r.Zero < 3 {
		w.comment("MaxText shards parameters wherever it shards the optimizer's state: `zero %d` becomes fsdp", r.Zero)
	}
	data, fsdp := r.Replicas, r.Shards/r.EP
	if r.Zero == 0 {
		if r.CP > 1 || r.EP > 1 {
			return fmt.Errorf("MaxText shards parameters over the devices of context and of experts: add `zero 3 over` these to the layout")
		}
		data, fsdp = r.DP(), 1
	}
	if r.PP > 1 && (data > 1 && fsdp*r.EP == 1) != r.Outer {
		w.comment("MaxText places replicas farther apart than the stages of a pipeline, and shards of parameters closer")
	}
	w.key("dcn_data_parallelism", 1)
	w.key("ici_data_parallelism", data)
	w.key("ici_fsdp_parallelism", fsdp)
	w.key("ici_expert_parallelism", r.EP)
	w.key("ici_context_parallelism", r.CP)
	if r.Sequence {
		w.key("ici_tensor_sequence_parallelism", r.TP)
	} else {
		w.key("ici_tensor_parallelism", r.TP)
	}
	w.key("ici_pipeline_parallelism", r.PP)
	if r.CP > 1 {
		if r.Ring { // MaxText gathers otherwise
			w.key("context_parallel_strategy", strconv.Quote("ring"))
		}
		w.key("context_parallel_load_balance", r.Zigzag || !r.Ring)
	}
	round := r.Micro * r.DP()
	rounds := r.Batch / round
	if r.PP > 1 {
		round, rounds = r.Batch/r.Rounds, r.Rounds
	}
	w.key("per_device_batch_size", float64(round)/float64(r.Devices()))
	w.key("gradient_accumulation_steps", rounds)
	return nil
}

func (w *yamlWriter) stages(r *Run) error {
	if r.PP == 1 {
		return nil
	}
	n := r.Microbatches() / r.Rounds
	switch {
	case len(r.Stages) > 0 || r.Layers%r.Virtual() != 0:
		return fmt.Errorf("MaxText's stages have the same number of layers: leave `stages` out, and choose a number of chunks that divides the %d layers", r.Layers)
	case n%r.PP != 0:
		return fmt.Errorf("MaxText takes a multiple of the %d stages as the number of microbatches, and there are %d", r.PP, n)
	case strings.Contains(r.Schedule, "zb") || r.Schedule == "dualpipe_v":
		return fmt.Errorf("the pipeline's schedule `%s` has no counterpart in MaxText: use gpipe, or breadth_first with chunks", r.Schedule)
	case r.Schedule != "gpipe" && r.Schedule != "breadth_first":
		w.comment("MaxText runs all forward passes, then all backward ones, and keeps the activations of all microbatches: `%s` has no counterpart", r.Schedule)
	}
	w.key("num_pipeline_microbatches", n)
	w.key("num_pipeline_repeats", r.Chunks)
	w.key("num_layers_per_pipeline_stage", r.Layers/r.Virtual())
	return nil
}

func (w *yamlWriter) memory(r *Run) error {
	kept := r.Software == "maxtext" && strings.Contains("\n"+strings.Join(r.Kept, "\n"), "\nremat_policy ")
	switch {
	case r.Recompute == "mlp":
		return fmt.Errorf("MaxText rematerializes blocks, or values that its policies name, not the MLPs alone: write `recompute Block`")
	case r.Recompute == "full":
		w.key("remat_policy", `"full"`)
	case !kept:
		w.key("remat_policy", `"minimal"`)
		w.comment("remat_policy minimal keeps what products compute; to keep everything is no policy of MaxText")
	}
	if r.Compute == "f16" {
		return fmt.Errorf("MaxText scales no loss: compute in bf16 or f32, not in f16")
	}
	if !r.gathersComputed() {
		w.comment("MaxText stores parameters in f32, and gathers them in the dtype that it computes in")
	}
	w.key("dtype", map[string]string{"bf16": `"bfloat16"`, "f32": `"float32"`}[r.Compute])
	w.key("weight_dtype", `"float32"`)
	if r.Reduce == "bf16" {
		w.key("grad_dtype", `"bfloat16"`)
	}
	if r.Products != "" {
		w.key("quantization", `"fp8"`)
	}
	for _, what := range r.Offload {
		if what == "activations" {
			return fmt.Errorf("offloading of activations has no counterpart that ptc writes for MaxText: leave it out")
		}
		w.key("optimizer_memory_host_offload", true)
	}
	return nil
}

func (w *yamlWriter) training(r *Run) error {
	if r.Optimizer != "AdamW" {
		return fmt.Errorf("of ptc's optimizers MaxText has AdamW, not %s", r.Optimizer)
	}
	if r.Std != 0.02 {
		w.comment("MaxText chooses the deviation of initial values itself, and the model here %v", r.Std)
	}
	w.key("opt_type", `"adamw"`)
	w.key("learning_rate", r.LR)
	final := 1.0
	if r.Decay != "constant" && r.LR > 0 {
		final = share(r.MinLR, r.LR)
	}
	if r.Decay == "linear" {
		w.comment("MaxText's schedule is a cosine, the one here a straight line")
	}
	w.key("learning_rate_final_fraction", final)
	w.key("warmup_steps_fraction", fraction(r.Warmup, r.DecaySteps))
	if r.DecaySteps != r.Steps {
		w.key("learning_rate_schedule_steps", r.DecaySteps)
	}
	w.key("steps", r.Steps)
	w.key("adam_b1", r.Beta1)
	w.key("adam_b2", r.Beta2)
	w.key("adam_eps", r.AdamEps)
	w.key("adam_weight_decay", r.WeightDecay)
	w.key("gradient_clipping_threshold", r.Clip)
	return nil
}
