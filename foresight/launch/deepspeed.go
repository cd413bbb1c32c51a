package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// deepspeedKeys are the keys of DeepSpeed's JSON. A key that ends in `.*` stands for all below it.
var deepspeedKeys = []group{
	{translated, "", `train_batch_size:int train_micro_batch_size_per_gpu:int gradient_accumulation_steps:int gradient_clipping:float
		optimizer.type:string optimizer.params.lr:float optimizer.params.betas:many optimizer.params.eps:float
		optimizer.params.weight_decay:float optimizer.params.momentum:float
		scheduler.type:string scheduler.params.warmup_min_lr:float scheduler.params.warmup_max_lr:float scheduler.params.warmup_num_steps:int
		scheduler.params.total_num_steps:int
		scheduler.params.cos_min_ratio:float
		fp16.enabled:bool fp16.loss_scale:float bf16.enabled:bool bfloat16.enabled:bool communication_data_type:string
		zero_optimization.stage:int zero_optimization.offload_optimizer.device:string zero_optimization.offload_param.device:string
		zero_optimization.cpu_offload:bool
		tensor_parallel.autotp_size:int ` + deepspeedFlagsKey + `:string`},
	{refused, "parameters that are sharded over a part of the ranks have no counterpart", `zero_optimization.zero_hpz_partition_size:int=1
		zero_optimization.mics_shard_size:int=-1 zero_optimization.mics_hierarchical_params_gather:bool=false`},
	{refused, "gradients and weights of fewer bits than those of the layout's precision have no counterpart", `zero_optimization.zero_quantized_weights:bool=false zero_optimization.zero_quantized_gradients:bool=false
		zero_optimization.zero_quantized_nontrainable_weights:bool=false fp16.fp16_master_weights_and_grads:bool=false
		bf16.bf16_master_weights_and_grads:bool=false bf16.bf16_optimizer_states:bool=false amp.enabled:bool=false torch_autocast.enabled:bool=false`},
	{refused, "the batch changes during training, and a plan is for one", `elasticity.enabled:bool=false`},
	{refused, "it changes the model", `compression_training.* progressive_layer_drop.enabled:bool=false sparse_attention.*`},
	{refused, "experiments choose the layout; compile several with ptc", `autotuning.enabled:bool=false`},
	{idle, "ptc chooses buckets, kernels and what overlaps by itself", `prescale_gradients:bool gradient_predivide_factor:float
		sparse_gradients:bool gradient_allreduce_op:string managed_gradient_accumulation:bool
		zero_optimization.allgather_partitions:bool zero_optimization.allgather_bucket_size:float zero_optimization.overlap_comm:bool
		zero_optimization.reduce_scatter:bool zero_optimization.reduce_bucket_size:float
		zero_optimization.contiguous_gradients:bool zero_optimization.load_from_fp32_weights:bool zero_optimization.grad_hooks:bool
		zero_optimization.round_robin_gradients:bool
		zero_optimization.stage3_max_live_parameters:float zero_optimization.stage3_max_reuse_distance:float
		zero_optimization.stage3_prefetch_bucket_size:float zero_optimization.stage3_param_persistence_threshold:float
		zero_optimization.stage3_gather_16bit_weights_on_model_save:bool zero_optimization.stage3_gather_fp16_weights_on_model_save:bool
		zero_optimization.sub_group_size:float zero_optimization.memory_efficient_linear:bool
		zero_optimization.elastic_checkpoint:bool zero_optimization.ignore_unused_parameters:bool
		zero_optimization.use_multi_rank_bucket_allreduce:bool zero_optimization.stage3_model_persistence_threshold:float
		zero_optimization.cpu_offload_params:bool zero_optimization.cpu_offload_use_pin_memory:bool
		zero_optimization.log_trace_cache_warnings:bool zero_optimization.leaf_module.*
		zero_optimization.offload_optimizer.* zero_optimization.offload_param.* zero_force_ds_cpu_optimizer:bool zero_allow_untested_optimizer:bool
		activation_checkpointing.* aio.* amp.* torch_autocast.* compile.* pipeline.* sequence_parallel.* graph_harvesting:bool tensor_parallel.*
		disable_allgather:bool dump_state:bool memory_breakdown:bool
		fp32_allreduce:bool grad_accum_dtype:string data_types.* use_data_before_expert_parallel_:bool`},
	{idle, "logging and profiling change no layout", `steps_per_print:float wall_clock_breakdown:bool flops_profiler.* tensorboard.* wandb.*
		comet.* csv_monitor.* monitor_config.* comms_logger.* comms_config.* timers.* autotuning.* eigenvalue.* aml.* nebula.*`},
	{idle, "data, checkpoints and rates change no layout", `checkpoint.* data_efficiency.* curriculum_learning.* progressive_layer_drop.*
		elasticity.* dataloader_drop_last:bool optimizer.legacy_fusion:bool optimizer.params.* scheduler.params.* fp16.* bf16.* bfloat16.*
		seed:int hybrid_engine.* checkpoint_parallel_write_pipeline:bool`},
}

// deepspeedFlagsKey is the key that has the flags of Megatron-DeepSpeed, which DeepSpeed itself
// does not read.
const deepspeedFlagsKey = "megatron_deepspeed_flags"

var deepspeedTable = table(deepspeedKeys)

// deepspeedFlags are the flags that Megatron-DeepSpeed has in addition to those of Megatron-LM,
// or with another meaning.
var deepspeedFlags = []group{
	{translated, "", `num-key-value-heads:int zero-stage:int deepspeed deepspeed_config:string deepspeed-config:string checkpoint-activations
		enable-zbh1-pipeline rotary-position-embeddings-theta:int cpu-optimizer num-experts:many`},
	{refused, "sequences whose attention exchanges heads have no counterpart", `ds-sequence-parallel-size:int=1 ds-sequence-parallel-fpdt
		force-ds-sequence-parallel`},
	{refused, "experts in every other layer have no counterpart", `moe-expert-parallel-size:int=1`},
	{refused, "it changes the model or what is trained", `random-ltd mos kd standalone-embedding-stage retro-add-retriever
		enable-zbh1-exact-semantics scattered-embeddings split-transformers memory-centric-tiled-linear`},
	{idle, "without effect on a dense decoder that is trained", `mlp-type:string=standard topk:int expert-interval:int
		disable-moe-token-dropping moe-train-capacity-factor:float moe-eval-capacity-factor:float moe-min-capacity:int moe-loss-coeff:float
		create-moe-param-group
		disable-moe-top2-2nd-expert-sampling use-tutel enable-expert-tensor-parallelism ds-inference inference kill-switch-file:string
		train-tokens:int lr-decay-tokens:int lr-warmup-tokens:int load-tag:string no-load-lr-state universal-checkpoint
		ds-sequence-parallel-fpdt-chunk-size:int ds-sequence-parallel-fpdt-offloading use-dataset-only:string aml-data-download-path:string
		retriever-seq-length:int train-data-exact-num-epochs:int return-data-index data-efficiency-curriculum-learning
		train-idx-path:string train-desc-path:string train-doc-idx-path:string train-sample-idx-path:string train-shuffle-idx-path:string
		repeated-dataloader curriculum-learning-legacy num-layers-teacher:int num-experts-teacher:many hidden-size-teacher:int
		num-attention-heads-teacher:int kd-alpha-ce:float kd-beta-ce:float kd-temp:float reset-iteration load-teacher:string local_rank:int
		compression-training`},
	{idle, "ptc chooses kernels, order and what overlaps by itself", `use-flash-attn-v1 use-flash-attn-triton use-flash-attn-builder
		cpu_torch_adam ds_fused_adam no-pipeline-parallel disable-mem-efficient-ln log-batch-size-to-tensorboard
		no-log-learnig-rate-to-tensorboard log-optimizer-states-to-tensorboard
		zero-reduce-scatter zero-contigious-gradients zero-reduce-bucket-size:int zero-allgather-bucket-size:int remote-device:string
		use-pin-memory tile-factor:int deepspeed-activation-checkpointing partition-activations contigious-checkpointing checkpoint-in-cpu
		synchronize-each-layer profile-backward no-contiguous-buffers-in-local-ddp no-scatter-gather-tensors-in-pipeline
		distribute-checkpointed-activations profile_steps:string embedding-weights-in-fp32 checkpoint-num-layers:int deepspeed_mpi deepscale
		deepscale_config:string`},
}

var deepspeedFlagTable = table(append(append(slices.Clone(megatronFlags), megatronOthers...), deepspeedFlags...))

// fromDeepSpeed reads DeepSpeed's JSON, and the model from flags of Megatron-DeepSpeed or from
// config.json.
func fromDeepSpeed(in Input) (*Run, []Note, error) {
	k := newKeys("DeepSpeed")
	for _, f := range in.Files {
		tree, err := jsonTree(f)
		if err != nil {
			return nil, nil, err
		}
		if err := flatten("", tree, k.below); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	args := in.Args
	if k.has(deepspeedFlagsKey) {
		words, err := shellWords(k.str(deepspeedFlagsKey, ""))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", deepspeedFlagsKey, err)
		}
		args = append(words, args...)
	}
	l, err := parse("Megatron-DeepSpeed", deepspeedFlagTable, args)
	if err != nil {
		return nil, nil, err
	}
	kept, err := k.sort()
	if err != nil {
		return nil, nil, err
	}
	if err := l.hf(in.HF); err != nil {
		return nil, nil, err
	}
	if err := deepspeedWords(l, k, in.Devices); err != nil {
		return nil, nil, err
	}
	r, notes, err := megatronRun(l, in.Devices)
	if err != nil {
		return nil, nil, err
	}
	r.Software = "deepspeed"
	if len(r.Kept) > 0 {
		kept = append(kept, deepspeedFlagsKey+" = "+strconv.Quote(strings.Join(r.Kept, " ")))
	}
	r.Kept = kept
	deepspeedRun(l, k, r)
	if err := k.err(); err != nil {
		return nil, nil, err
	}
	r.normal()
	return r, append(k.notes, notes...), nil
}

// jsonTree is an object of JSON.
func jsonTree(f File) (map[string]any, error) {
	if len(f.Text) > MaxInput {
		return nil, fmt.Errorf("%s: it is longer than 1 MiB", f.Name)
	}
	d := json.NewDecoder(bytes.NewReader(f.Text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return tree, nil
}

// below sets a key, or one of those that a key with `.*` stands for. A value of "auto" is one that
// the flags say.
func (l *line) below(name string, value any) error {
	if value == "auto" {
		l.notes = append(l.notes, Note{name + " = auto", "as the flags and their defaults say"})
		return nil
	}
	if deepspeedTable[name] == nil {
		for head := name; strings.Contains(head, "."); {
			head = head[:strings.LastIndex(head, ".")]
			if f := deepspeedTable[head+".*"]; f != nil {
				_, text := value.(string)
				l.set(given{flag: &flag{name: name, kind: "string", fate: f.fate, why: f.why}, values: []string{literal(value)}, key: true, bare: !text})
				return nil
			}
		}
	}
	if f := deepspeedTable[name]; f != nil && f.kind == "int" {
		if x, err := strconv.ParseFloat(literal(value), 64); err == nil && x == float64(int(x)) {
			value = int(x) // 5e8
		}
	}
	return l.key(deepspeedTable, name, value)
}

// word sets a flag of a command line that was read.
func (l *line) word(name string, values ...string) {
	if f := deepspeedFlagTable[name]; f != nil {
		l.set(given{flag: f, values: values})
	}
}

// deepspeedWords says in Megatron-LM's flags what Megatron-DeepSpeed and DeepSpeed say in
// theirs: what both say must be the same.
func deepspeedWords(l, k *line, devices int) error {
	if l.has("num-key-value-heads") {
		l.word("group-query-attention")
		l.word("num-query-groups", l.str("num-key-value-heads", ""))
	}
	if l.has("normalization") {
		norms := map[string]string{"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
		if there := norms[l.str("normalization", "")]; there != "" {
			l.word("normalization", there)
		}
	}
	if l.has("rotary-position-embeddings-theta") {
		l.word("rotary-base", l.str("rotary-position-embeddings-theta", ""))
	}
	if l.has("checkpoint-activations") {
		l.word("recompute-granularity", "full")
		l.word("recompute-method", "uniform")
	}
	if l.has("cpu-optimizer") {
		l.word("optimizer-cpu-offload")
	}
	if g, ok := l.settings["loss-scale"]; ok && k.has("fp16.loss_scale") {
		l.notes = append(l.notes, Note{g.text(), "without effect, as DeepSpeed takes " + k.text("fp16.loss_scale", 0)})
		l.kept = append(l.kept, g.kept())
		l.drop("loss-scale")
	}
	if n := l.settings["num-experts"].values; len(n) > 0 && !(len(n) == 1 && n[0] == "1") {
		return fmt.Errorf("%s: experts in every other layer have no counterpart", l.settings["num-experts"].text())
	}
	l.drop("num-experts")
	if n := k.positive("tensor_parallel.autotp_size", 1); n > 1 {
		if l.has("tensor-model-parallel-size") && l.integer("tensor-model-parallel-size", 1) != n {
			return fmt.Errorf("%s and %s contradict each other", l.text("tensor-model-parallel-size", 1), k.text("tensor_parallel.autotp_size", 1))
		}
		l.word("tensor-model-parallel-size", strconv.Itoa(n))
	}
	if err := deepspeedBatch(l, k, devices); err != nil {
		return err
	}
	for key, name := range map[string]string{"fp16.enabled": "fp16", "bf16.enabled": "bf16", "bfloat16.enabled": "bf16"} {
		if k.on(key, false) {
			l.word(name)
		} else if k.has(key) && l.has(name) {
			return fmt.Errorf("%s and --%s contradict each other", k.text(key, ""), name)
		}
	}
	return k.err()
}

// deepspeedBatch says in flags how large batch and microbatch are, of which DeepSpeed derives
// the one that is missing.
func deepspeedBatch(l, k *line, devices int) error {
	const batch, micro, steps = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"
	model := max(1, l.integer("tensor-model-parallel-size", 1)) * max(1, l.integer("pipeline-model-parallel-size", 1)) * max(1, l.integer("context-parallel-size", 1))
	dp := max(1, devices/model)
	b, m, g := k.positive(batch, 0), k.positive(micro, 0), k.positive(steps, 0)
	b, m = k.either(b, l, "global-batch-size", batch), k.either(m, l, "micro-batch-size", micro)
	if err := k.err(); err != nil {
		return err
	}
	switch {
	case b == 0 && m == 0:
		return fmt.Errorf("%s and %s are missing: one of them says how large the batch is", batch, micro)
	case b == 0:
		b = m * max(1, g) * dp
	case m == 0:
		m = b / (max(1, g) * dp)
	}
	if m == 0 || b%(m*dp) != 0 || g != 0 && b != m*g*dp {
		return fmt.Errorf("%s and %s contradict each other: with %d data parallel ranks and %s, %d is not %d × %d × a number of steps",
			k.text(batch, b), k.text(micro, m), dp, k.text(steps, max(1, b/max(1, m*dp))), b, m, dp)
	}
	l.word("global-batch-size", strconv.Itoa(b))
	l.word("micro-batch-size", strconv.Itoa(m))
	return nil
}

// either is a count that a key and a flag say, which must be the same.
func (l *line) either(n int, flags *line, name, key string) int {
	m := flags.integer(name, 0)
	if n != 0 && m != 0 && n != m {
		l.clash(l.text(key, ""), flags.text(name, ""), "they must be the same")
	}
	return max(n, m)
}

// deepspeedRun reads what DeepSpeed's keys say besides the flags.
func deepspeedRun(l, k *line, r *Run) {
	const stage = "zero_optimization.stage"
	r.Zero = k.integer(stage, l.integer("zero-stage", 0))
	if l.has("zero-stage") && k.has(stage) && l.integer("zero-stage", 0) != r.Zero {
		k.clash(l.text("zero-stage", 0), k.text(stage, 0), "they must be the same")
	}
	if r.Zero < 0 || r.Zero > 3 {
		k.refuse(stage, "expected 0 to 3")
		return
	}
	if r.Zero > 1 && r.PP > 1 && !l.has("no-pipeline-parallel") {
		k.clash(k.text(stage, r.Zero), l.text("pipeline-model-parallel-size", 1), "DeepSpeed's pipelines take ZeRO of level 1 at most")
	}
	k.origin(r, "zero", stage)
	if r.Zero > 0 && r.DP()*r.CP == 1 {
		k.notes = append(k.notes, Note{k.text(stage, r.Zero), "without effect, as there is one replica of the model"})
		r.Kept = append(r.Kept, fmt.Sprintf("%s = %d", stage, r.Zero))
	}
	if l.has("enable-zbh1-pipeline") && r.PP > 1 {
		r.Schedule = "zb_h1"
		l.origin(r, "chunks", "enable-zbh1-pipeline")
	}
	switch device := k.str("zero_optimization.offload_optimizer.device", "none"); {
	case device == "cpu" || k.on("zero_optimization.cpu_offload", false):
		r.Offload = []string{"optimizer"}
		k.origin(r, "offload", "zero_optimization.offload_optimizer.device", "zero_optimization.cpu_offload")
	case device != "none":
		k.refuse("zero_optimization.offload_optimizer.device", "the states of the optimizer can be in the memory of the host: cpu")
	}
	if k.str("zero_optimization.offload_param.device", "none") != "none" {
		k.refuse("zero_optimization.offload_param.device", "parameters stay on the devices here")
	}
	if r.Compute == "f16" {
		r.Scale = k.float("fp16.loss_scale", r.Scale)
	}
	k.origin(r, "precision", "fp16.enabled", "fp16.loss_scale", "bf16.enabled", "bfloat16.enabled", "communication_data_type")
	switch kind := k.str("communication_data_type", ""); kind {
	case "", "fp32":
	case "bfp16", "bf16":
		r.Reduce = "bf16"
	default:
		k.refuse("communication_data_type", "gradients are reduced in fp32 or bfp16 here")
	}
	k.origin(r, "batch", "train_batch_size")
	k.origin(r, "micro", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
	k.origin(r, "tp", "tensor_parallel.autotp_size")
	deepspeedTraining(k, r)
}

// deepspeedTraining reads the optimizer and the schedule that DeepSpeed makes itself.
func deepspeedTraining(k *line, r *Run) {
	const o, s = "optimizer.params.", "scheduler.params."
	if !k.has("gradient_clipping") && k.has("optimizer.type") {
		r.Clip = 0
	}
	r.Clip = k.float("gradient_clipping", r.Clip)
	k.origin(r, "clip", "gradient_clipping")
	kinds := map[string]string{"adam": "AdamW", "adamw": "AdamW", "lion": "Lion", "sgd": "SGD"}
	if name := k.str("optimizer.type", ""); name != "" {
		r.Optimizer = kinds[strings.ToLower(name)]
		if r.Optimizer == "" {
			k.refuse("optimizer.type", "of DeepSpeed's optimizers ptc has Adam, AdamW, Lion and SGD")
			return
		}
		r.Decay = "constant"
		r.WeightDecay = 0
		k.origin(r, "optimizer", "optimizer.type", "scheduler.type")
	}
	r.LR, r.AdamEps, r.WeightDecay, r.Momentum = k.float(o+"lr", r.LR), k.float(o+"eps", r.AdamEps), k.float(o+"weight_decay", r.WeightDecay), k.float(o+"momentum", r.Momentum)
	if k.has(o + "betas") {
		betas := k.settings[o+"betas"].values
		var b [2]float64
		var err error
		for i := range b {
			if i < len(betas) {
				b[i], err = strconv.ParseFloat(betas[i], 64)
			}
		}
		if err != nil || len(betas) != 2 {
			k.refuse(o+"betas", "expected two numbers")
			return
		}
		r.Beta1, r.Beta2 = b[0], b[1]
	}
	for field, key := range map[string]string{"lr": o + "lr", "adam_eps": o + "eps", "decay": o + "weight_decay", "beta1": o + "betas", "warmup": s + "warmup_num_steps", "floor": s + "warmup_min_lr"} {
		k.origin(r, field, key)
	}
	schedules := map[string]string{"": r.Decay, "WarmupLR": "constant", "WarmupDecayLR": "linear", "WarmupCosineLR": "cosine"}
	decay, ok := schedules[k.str("scheduler.type", "")]
	if !ok {
		k.refuse("scheduler.type", "of DeepSpeed's schedules ptc has WarmupLR, WarmupDecayLR and WarmupCosineLR")
		return
	}
	r.Decay = decay
	r.LR = k.float(s+"warmup_max_lr", r.LR)
	r.Warmup = k.integer(s+"warmup_num_steps", r.Warmup)
	r.DecaySteps = k.positive(s+"total_num_steps", r.DecaySteps)
	r.MinLR = k.float(s+"warmup_min_lr", r.MinLR)
	if k.has(s + "cos_min_ratio") {
		r.MinLR = r.LR * k.float(s+"cos_min_ratio", 0)
	}
	if k.has(s + "total_num_steps") {
		r.Steps = r.DecaySteps
	}
}
