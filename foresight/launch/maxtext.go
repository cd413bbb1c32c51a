package launch

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxtextKeys are the keys of MaxText that say something about model, batch, layout or training.
var maxtextKeys = []group{
	{translated, "", `model_name:string decoder_block:string base_emb_dim:int base_num_query_heads:int base_num_kv_heads:int base_mlp_dim:int
		base_moe_mlp_dim:int
		base_num_decoder_layers:int head_dim:int vocab_size:int max_target_length:int mlp_activations:many logits_via_embedding:bool
		normalization_layer_epsilon:float
		use_qk_norm:bool attention_bias:bool trainable_position_size:int rope_type:string rope_max_timescale:int num_experts:int
		num_experts_per_tok:int capacity_factor:float`},
	{translated, "", `per_device_batch_size:float gradient_accumulation_steps:int num_pipeline_microbatches:int
		num_layers_per_pipeline_stage:int num_pipeline_repeats:int
		context_parallel_strategy:string context_parallel_load_balance:bool pipeline_delay_activation_forwarding:bool
		ici_data_parallelism:int ici_fsdp_parallelism:int ici_fsdp_transpose_parallelism:int ici_context_parallelism:int
		ici_tensor_parallelism:int ici_tensor_sequence_parallelism:int ici_pipeline_parallelism:int ici_expert_parallelism:int
		dcn_data_parallelism:int dcn_fsdp_parallelism:int dcn_fsdp_transpose_parallelism:int dcn_context_parallelism:int
		dcn_tensor_parallelism:int dcn_tensor_sequence_parallelism:int dcn_pipeline_parallelism:int dcn_expert_parallelism:int`},
	{translated, "", `remat_policy:string dtype:string weight_dtype:string grad_dtype:string quantization:string optimizer_memory_host_offload:bool
		opt_type:string learning_rate:float lr_schedule_type:string learning_rate_final_fraction:float warmup_steps_fraction:float
		learning_rate_schedule_steps:int steps:int
		adam_b1:float adam_b2:float adam_eps:float adam_weight_decay:float gradient_clipping_threshold:float`},
	{refused, "this kind of parallelism has no counterpart", `ici_diloco_parallelism:int=1 dcn_diloco_parallelism:int=1
		ici_sequence_parallelism:int=1 dcn_sequence_parallelism:int=1 ici_context_usp_ulysses_parallelism:int=1
		dcn_context_usp_ulysses_parallelism:int=1 ici_context_autoregressive_parallelism:int=1 dcn_context_autoregressive_parallelism:int=1
		ici_autoregressive_parallelism:int=1 dcn_autoregressive_parallelism:int=1
		shard_optimizer_over_data:bool=false shard_exp_on_fsdp:bool=false use_2d_fsdp_sharding:bool=false custom_mesh_and_rule:string=
		pipeline_parallel_layers:int=-1`},
	{refused, "it changes the model in a way that std.decoder lacks", `global_parameter_scale:int=1 attention_type:string=global
		share_kv_projections:bool=false attention_sink:bool=false moba:bool=false use_indexer:bool=false
		mtp_num_layers:int=0 shared_experts:int=0 first_num_dense_layers:int=0 inhomogeneous_layer_cycle_interval:int=1
		attention_output_dim:int=-1 global_head_dim:int=0 global_num_kv_heads:int=0 use_post_attn_norm:bool=false use_post_ffw_norm:bool=false
		attn_logits_soft_cap:float=0|0.0|null final_logits_soft_cap:float=0|0.0|null hidden_size_per_layer_input:int=0
		vocab_size_per_layer_input:int=0 num_kv_shared_layers:int=0 use_double_wide_mlp:bool=false mlp_bias:bool=false
		moe_expert_input_dim:int=-1 engram_layers:many compress_ratios:many enable_diloco:bool=false first_num_hash_layers:int=0
		use_mrope:bool=false routed_bias:bool=false n_routing_groups:int=-1 routed_score_func:string= rope_linear_scaling_factor:float=1|1.0
		use_untrainable_positional_embedding:bool=false parameter_memory_host_offload:bool=false`},
}

var maxtextTable = table(append(slices.Clone(maxtextKeys), maxtextOthers...))

// fromMaxText reads YAML files and key=value; later ones win. Settings of base.yml
// are defaults: those without effect on the layout are not listed.
func fromMaxText(in Input) (*Run, []Note, error) {
	l := newKeys("MaxText")
	for _, f := range in.Files {
		if len(f.Text) > MaxInput {
			return nil, nil, fmt.Errorf("%s: it is longer than 1 MiB", f.Name)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(f.Text, &tree); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		base := path.Base(strings.ReplaceAll(f.Name, `\`, "/")) == "base.yml"
		if err := l.maxtextFile(tree, base); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	for _, a := range in.Args {
		name, value, ok := strings.Cut(strings.TrimPrefix(a, "--"), "=")
		if !ok {
			return nil, nil, fmt.Errorf("`%s` is not key=value; files stand before --", a)
		}
		var v any
		if err := yaml.Unmarshal([]byte(value), &v); err != nil {
			v = value
		}
		if err := l.maxtextKey(name, v); err != nil {
			return nil, nil, err
		}
	}
	r := NewRun()
	r.Software = "maxtext"
	var err error
	if r.Kept, err = l.sort(); err != nil {
		return nil, nil, err
	}
	for _, step := range []func(*line, *Run){maxtextModel, func(l *line, r *Run) { maxtextMesh(l, r, in.Devices) }, func(l *line, r *Run) { maxtextBatch(l, r, in.Devices) }, maxtextStages, maxtextMemory, maxtextTraining} {
		step(l, r)
		if err := l.err(); err != nil {
			return nil, nil, err
		}
	}
	r.normal()
	return r, l.notes, nil
}

// maxtextFile reads the keys of a file.
func (l *line) maxtextFile(tree map[string]any, base bool) error {
	idles := 0
	for _, name := range sortedKeys(tree) {
		if f := maxtextTable[name]; base && (f == nil || f.fate == idle) {
			idles++
			continue
		}
		if err := l.maxtextKey(name, tree[name]); err != nil {
			return err
		}
		g := l.settings[name]
		g.preset = base
		l.settings[name] = g
	}
	if idles > 0 {
		l.notes = append(l.notes, Note{"base.yml", fmt.Sprintf("%d defaults without effect on the layout", idles)})
	}
	return nil
}

// maxtextKey sets a key. `None` and an empty text are what null is.
func (l *line) maxtextKey(name string, v any) error {
	f := maxtextTable[name]
	if s, ok := v.(string); ok && f != nil && (f.kind == "int" || f.kind == "float") {
		if _, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64); err == nil {
			v = strings.ReplaceAll(s, "_", "")
		}
	}
	if s, ok := v.(string); ok && f != nil && f.kind == "bool" {
		v = strings.ToLower(s)
	}
	if v == nil && f != nil && (f.kind == "string" || f.kind == "many") {
		v = ""
	}
	if x, ok := v.(float64); ok && f != nil && f.kind == "int" && x == float64(int(x)) {
		v = int(x)
	}
	return l.key(maxtextTable, name, v)
}

// maxtextDecoders are the kinds of blocks that std.models has, or that can be written out.
var maxtextDecoders = []string{"llama2", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "gpt3"}

func maxtextModel(l *line, r *Run) {
	kind := l.str("decoder_block", "llama2")
	if name := l.str("model_name", "default"); name != "default" && !l.has("base_emb_dim") {
		l.errs = append(l.errs, fmt.Errorf("model_name = %s: its sizes are in the file configs/models/%s.yml of MaxText; name that file, too", name, name))
		return
	}
	if !slices.Contains(maxtextDecoders, kind) {
		l.refuse("decoder_block", "the blocks that ptc can write are "+strings.Join(maxtextDecoders, ", "))
		return
	}
	r.Embed, r.Heads, r.KV = l.positive("base_emb_dim", 2048), l.positive("base_num_query_heads", 16), l.positive("base_num_kv_heads", 16)
	r.Layers, r.FFN, r.Head = l.positive("base_num_decoder_layers", 16), l.positive("base_mlp_dim", 7168), l.positive("head_dim", 128)
	if r.Layers > maxLayers {
		l.refuse("base_num_decoder_layers", fmt.Sprintf("a model has at most %d blocks", maxLayers))
	}
	r.Vocab, r.Seq = l.positive("vocab_size", 32000), l.positive("max_target_length", 2048)
	r.Context, r.Eps = r.Seq, l.float("normalization_layer_epsilon", 1e-5)
	r.Base, r.Tied = float64(l.positive("rope_max_timescale", 10000)), l.on("logits_via_embedding", false)
	r.Norm, r.Positions = "rms", "rope"
	if kind == "gpt3" {
		r.Norm, r.Positions, r.Bias = "layer", "learned", true
		r.Context = max(r.Seq, l.positive("trainable_position_size", r.Seq))
	}
	switch acts := l.settings["mlp_activations"].values; {
	case len(acts) == 0, slices.Equal(acts, []string{"silu", "linear"}):
		r.Act, r.Gated = "silu", true
	case slices.Equal(acts, []string{"gelu", "linear"}):
		r.Act, r.Gated = "gelu_tanh", true
	case slices.Equal(acts, []string{"gelu"}):
		r.Act = "gelu_tanh"
	case slices.Equal(acts, []string{"relu"}):
		r.Act = "relu"
	default:
		l.refuse("mlp_activations", "the MLPs here have silu or gelu, gated by a linear branch or not, or relu")
	}
	if r.Gated && r.Bias {
		l.clash(l.text("decoder_block", ""), l.text("mlp_activations", "[silu, linear]"), "its MLPs have biases, and gated ones have none")
	}
	l.has("mlp_activations")
	l.has("trainable_position_size")
	r.QKNorm, r.QKVBias = l.on("use_qk_norm", false), l.on("attention_bias", false) || r.Bias
	switch scaled := l.str("rope_type", "default"); scaled {
	case "default":
	case "llama3.1":
		r.Stretch = 8
	default:
		l.refuse("rope_type", "rope here is the usual one, or that of llama3.1")
	}
	if r.Heads%r.KV != 0 {
		l.clash(l.text("base_num_query_heads", 16), l.text("base_num_kv_heads", 16), "the heads of keys and values do not divide those of queries")
	}
	maxtextExperts(l, r)
	for field, name := range map[string]string{"layers": "base_num_decoder_layers", "embed": "base_emb_dim", "heads": "base_num_query_heads", "kv": "base_num_kv_heads", "head": "head_dim", "ffn": "base_mlp_dim", "vocab": "vocab_size",
		"seq": "max_target_length", "eps": "normalization_layer_epsilon", "base": "rope_max_timescale", "tied": "logits_via_embedding", "factor": "rope_type"} {
		l.origin(r, field, name)
	}
}

func maxtextExperts(l *line, r *Run) {
	n := l.positive("num_experts", 1)
	chosen := l.positive("num_experts_per_tok", 1)
	capacity := l.float("capacity_factor", -1)
	wide := l.integer("base_moe_mlp_dim", -1)
	if n == 1 {
		return
	}
	r.Experts, r.Chosen, r.Capacity = n, chosen, capacity
	if chosen > n {
		l.clash(l.text("num_experts_per_tok", 1), l.text("num_experts", 1), "a token goes to more experts than there are")
	}
	if wide > 0 {
		r.FFN = wide
	}
	if capacity <= 0 {
		r.Capacity = 1
		l.notes = append(l.notes, Note{l.text("capacity_factor", -1), "an expert has room for its fair share of the tokens, as shapes are fixed; MaxText drops none"})
	}
	l.origin(r, "experts", "num_experts")
	l.origin(r, "chosen", "num_experts_per_tok")
	l.origin(r, "capacity", "capacity_factor")
}

// maxtextDegree is a degree over all slices, with -1 as what the devices leave: ici within a slice,
// dcn between slices.
type maxtextDegree struct {
	name     string
	ici, dcn int
}
