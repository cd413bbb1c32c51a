package launch

import (
	"fmt"
	"slices"
	"strings"
)

func torchtitanMesh(l *line, r *Run, devices int) {
	const p = "parallelism."
	names := []string{p + "data_parallel_replicate_degree", p + "tensor_parallel_degree", p + "pipeline_parallel_degree", p + "context_parallel_degree"}
	r.Replicas, r.TP, r.PP, r.CP = l.positive(names[0], 1), l.positive(names[1], 1), l.positive(names[2], 1), l.positive(names[3], 1)
	r.EP = l.positive(p+"expert_parallel_degree", 1)
	for _, n := range []int{r.Replicas, r.TP, r.PP, r.CP, r.EP} {
		if n > MaxDevices {
			l.errs = append(l.errs, fmt.Errorf("a degree of parallelism of %d is more than the %d devices that a mesh may have", n, MaxDevices))
			return
		}
	}
	others := r.Replicas * r.TP * r.PP * r.CP
	if devices%others != 0 {
		l.clash(fmt.Sprintf("--devices %d", devices), l.product(names), fmt.Sprintf("they take %d devices, which does not divide %d", others, devices))
		return
	}
	const shard = p + "data_parallel_shard_degree"
	r.Shards = l.integer(shard, -1)
	switch {
	case r.Shards == -1:
		r.Shards = devices / others
	case r.Shards < 1 || r.Shards != devices/others:
		l.clash(fmt.Sprintf("--devices %d", devices), l.text(shard, -1), fmt.Sprintf("with the other degrees it must be %d, or -1", devices/others))
		return
	}
	r.divides(l, "model.flavor", r.Heads, names[1], r.TP, "heads")
	r.divides(l, "model.flavor", r.KV, names[1], r.TP, "heads of keys and values")
	if r.EP > 1 {
		if r.Experts == 0 {
			l.clash(l.text(p+"expert_parallel_degree", 1), l.text("model.flavor", ""), "the model has no experts")
		} else if r.Shards%r.EP != 0 || r.Experts%r.EP != 0 {
			l.clash(l.text(p+"expert_parallel_degree", 1), l.text(shard, r.Shards), "experts are sharded over devices that share the batch, and the degree divides neither those nor the experts")
		}
		if etp := l.positive(p+"expert_tensor_parallel_degree", r.TP); etp != r.TP {
			l.clash(l.text(p+"expert_tensor_parallel_degree", 1), l.text(names[1], 1), "ptc shards the MLPs of experts over the same devices as the heads")
		}
	}
	l.has(p + "expert_tensor_parallel_degree")
	r.Sequence = r.TP > 1 && l.on(p+"enable_sequence_parallel", true)
	if r.Seq%(r.TP*2*r.CP) != 0 {
		l.clash(l.text("training.seq_len", 2048), l.product(names[1:]), "a sequence is not divisible by the tensor parallel degree times twice the context parallel one")
	}
	r.Ring = l.str(p+"context_parallel_rotate_method", "allgather") == "alltoall"
	balanced := l.str(p+"context_parallel_load_balancer", "headtail")
	r.Zigzag = r.Ring && balanced == "headtail"
	if r.CP > 1 && !r.Ring && balanced == "headtail" {
		l.notes = append(l.notes, Note{p + "context_parallel_load_balancer = headtail", "keys and values that are gathered meet sequences in their order here, so that devices have unequal work; alltoall is a ring in head-tail order"})
	}
	l.origin(r, "replicas", names[0], shard)
	l.origin(r, "tp", names[1])
	l.origin(r, "pp", names[2])
	l.origin(r, "cp", names[3], p+"context_parallel_rotate_method", p+"context_parallel_load_balancer")
	l.origin(r, "ep", p+"expert_parallel_degree")
}

// torchtitanSharding reads the level of ZeRO: FSDP over the devices that shard the batch and
// the sequence, which gathers parameters anew in the backward phase, or not.
func torchtitanSharding(l *line, r *Run) {
	const key = "parallelism.fsdp_reshard_after_forward"
	policy := l.str(key, "default")
	if policy != "default" && policy != "always" && policy != "never" {
		l.refuse(key, "expected default, always or never")
	}
	if r.Shards*r.CP > 1 {
		r.Zero = 3
		if policy == "never" || policy == "default" && r.PP > 1 {
			r.Zero = 2
		}
	}
	l.origin(r, "zero", "parallelism.data_parallel_shard_degree", key)
}

func torchtitanBatch(l *line, r *Run) {
	if l.has("training.num_tokens_per_microbatch_per_dp_rank") {
		torchtitanTokens(l, r)
		return
	}
	local := l.positive("training.local_batch_size", 8)
	r.Batch = l.integer("training.global_batch_size", -1)
	if r.Batch < 0 {
		r.Batch = local * r.DP()
	}
	if r.Batch < 1 || r.Batch%(local*r.DP()) != 0 {
		l.clash(l.text("training.global_batch_size", r.Batch), l.text("training.local_batch_size", 8), fmt.Sprintf("with %d data parallel ranks, it is not a multiple", r.DP()))
		return
	}
	r.Micro = local
	if r.PP > 1 {
		r.Micro = l.positive("parallelism.pipeline_parallel_microbatch_size", 1)
		if local%r.Micro != 0 {
			l.clash(l.text("training.local_batch_size", 8), l.text("parallelism.pipeline_parallel_microbatch_size", 1), "the batch of a rank is not a whole number of microbatches")
			return
		}
		r.Rounds = r.Batch / (local * r.DP())
		l.origin(r, "rounds", "training.global_batch_size", "training.local_batch_size")
	}
	l.origin(r, "batch", "training.global_batch_size", "training.local_batch_size")
	l.origin(r, "micro", "parallelism.pipeline_parallel_microbatch_size")
}

// torchtitanTokens reads a batch that is said in tokens.
func torchtitanTokens(l *line, r *Run) {
	const micro, step = "training.num_tokens_per_microbatch_per_dp_rank", "training.num_tokens_per_train_step"
	n := l.positive(micro, 16384)
	if n%r.Seq != 0 {
		l.clash(l.text(micro, 16384), l.text("training.max_context_length", 2048), "a microbatch is not a whole number of sequences")
		return
	}
	r.Micro = n / r.Seq
	pipelined := 1
	if r.PP > 1 {
		pipelined = l.positive("parallelism.num_pp_microbatches", 1)
	}
	round := r.Micro * pipelined * r.DP()
	r.Batch = round
	if l.integer(step, -1) > 0 {
		r.Batch = l.integer(step, -1) / r.Seq
	}
	if r.Batch%round != 0 || r.Batch == 0 {
		l.clash(l.text(step, -1), l.text(micro, 16384), fmt.Sprintf("a step is not a multiple of the %d sequences of all ranks", round))
		return
	}
	if r.PP > 1 {
		r.Rounds = r.Batch / round
	}
	l.origin(r, "batch", step, micro)
	l.origin(r, "micro", "parallelism.num_pp_microbatches")
}

func torchtitanStages(l *line, r *Run) {
	const p = "parallelism.pipeline_parallel_"
	name := l.str(p+"schedule", "1F1B")
	less := [2]int{l.integer(p+"first_stage_less_layers", 1), l.integer(p+"last_stage_less_layers", 1)}
	per := l.integer(p+"layers_per_stage", 0)
	l.has(p + "microbatch_size")
	l.has("parallelism.num_pp_microbatches")
	l.has("parallelism.module_fqns_per_model_part")
	if r.PP == 1 {
		return
	}
	for there, here := range torchtitanSchedules {
		if strings.EqualFold(there, name) {
			r.Schedule = here
			name = there
		}
	}
	if _, ok := torchtitanSchedules[name]; !ok {
		l.refuse(p+"schedule", "the schedules that ptc has are 1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZeroBubble, ZBVZeroBubble and DualPipeV")
		return
	}
	single := r.Schedule == "1f1b" || r.Schedule == "gpipe"
	stages := r.PP
	if !single {
		stages = 2 * r.PP
	}
	if per > 0 {
		stages = (r.Layers + less[0] + less[1] + per - 1) / per
	}
	if parts := l.settings["parallelism.module_fqns_per_model_part"].values; len(parts) > 0 {
		r.Stages = nil
		for _, part := range parts {
			r.Stages = append(r.Stages, strings.Count(part, `"layers.`))
		}
		stages = len(parts)
	} else if r.Stages = evenly(r.Layers, stages, less); r.Stages == nil {
		l.clash(l.text(p+"degree", 1), l.product([]string{p + "first_stage_less_layers", p + "last_stage_less_layers", p + "layers_per_stage"}), fmt.Sprintf("%d layers cannot be divided into %d stages so", r.Layers, stages))
		return
	}
	sum := 0
	for _, n := range r.Stages {
		sum += n
	}
	if stages%r.PP != 0 || single != (stages == r.PP) || sum != r.Layers || slices.Contains(r.Stages, 0) {
		l.clash(l.text(p+"schedule", "1F1B"), l.text(p+"layers_per_stage", "null"), fmt.Sprintf("it has %d stages of %v layers on %d ranks", stages, r.Stages, r.PP))
		return
	}
	r.Chunks = stages / r.PP
	l.origin(r, "chunks", p+"schedule", p+"layers_per_stage")
}

// evenly divides layers among stages, of which the first and the last have some fewer, as
// torchtitan does; nil where it cannot.
func evenly(layers, stages int, less [2]int) []int {
	all := layers + less[0] + less[1]
	if stages < 1 || stages > all || less[0] < 0 || less[1] < 0 || stages > 1<<16 {
		return nil
	}
	out := make([]int, stages)
	for i := range out {
		out[i] = all / stages
		if i < all%stages {
			out[i]++
		}
	}
	out[0] -= less[0]
	out[stages-1] -= less[1]
	if out[0] < 1 || out[stages-1] < 1 {
		return nil
	}
	return out
}

func torchtitanMemory(l *line, r *Run) {
	const mode = "activation_checkpoint.mode"
	switch kind := l.str(mode, "selective"); {
	case kind == "full" || kind == "selective" && l.str("activation_checkpoint.selective_ac_option", "2") == "1":
		r.Recompute = "full"
		l.origin(r, "recompute", mode)
	case kind == "none":
	case kind == "selective" || kind == "memory_budget":
		l.notes = append(l.notes, Note{mode + " = " + kind, "ptc rematerializes modules, not operations; the layout keeps activations but those of attention. `recompute auto` with `device memory` chooses"})
		r.Kept = append(r.Kept, given{flag: torchtitanTable[mode], key: true, values: []string{kind}}.kept())
		if g, ok := l.settings["activation_checkpoint.selective_ac_option"]; ok {
			r.Kept = append(r.Kept, g.kept())
		}
	default:
		l.refuse(mode, "expected none, selective, full or memory_budget")
	}
	l.has("activation_checkpoint.selective_ac_option")
	if l.str("training.dtype", "float32") != "float32" {
		l.refuse("training.dtype", "parameters and states of the optimizer are f32 here, or have masters in f32")
	}
	if l.str("training.mixed_precision_param", "bfloat16") == "bfloat16" {
		r.Compute = "bf16"
		if r.Zero > 0 { // FSDP gathers bf16
			r.Params = "bf16"
		}
	}
	l.origin(r, "precision", "training.mixed_precision_param", "model.converters")
	for _, c := range l.settings["model.converters"].values {
		if c != "float8" && c != "quantize.linear.float8" {
			l.refuse("model.converters", "of the converters ptc has float8")
		}
		r.Products = "f8"
	}
	l.has("model.converters")
	if l.on("training.enable_cpu_offload", false) {
		r.Offload = []string{"optimizer"}
		l.notes = append(l.notes, Note{"training.enable_cpu_offload = true", "ptc keeps the optimizer's states in the memory of the host; parameters and gradients stay on the device"})
		l.origin(r, "offload", "training.enable_cpu_offload")
	}
}

func torchtitanTraining(l *line, r *Run) {
	if name := l.str("optimizer.name", "AdamW"); name != "AdamW" {
		l.refuse("optimizer.name", "of torchtitan's optimizers ptc has AdamW")
	}
	r.LR, r.Beta1, r.Beta2 = l.float("optimizer.lr", 8e-4), l.float("optimizer.beta1", 0.9), l.float("optimizer.beta2", 0.95)
	r.AdamEps, r.WeightDecay, r.Clip = l.float("optimizer.eps", 1e-8), l.float("optimizer.weight_decay", 0.1), l.float("training.max_norm", 1)
	r.Steps = l.positive("training.steps", 10000)
	r.Warmup = min(l.integer("lr_scheduler.warmup_steps", 200), r.Steps)
	if r.Warmup < 0 {
		l.refuse("lr_scheduler.warmup_steps", "expected at least 0")
	}
	r.DecaySteps = l.positive("lr_scheduler.total_steps", r.Steps)
	r.Decay = l.str("lr_scheduler.decay_type", "linear")
	if r.Decay != "linear" && r.Decay != "cosine" {
		l.refuse("lr_scheduler.decay_type", "the schedules here are linear and cosine")
	}
	r.falls(l.float("lr_scheduler.min_lr_factor", 0))
	for field, name := range map[string]string{"lr": "optimizer.lr", "beta1": "optimizer.beta1", "beta2": "optimizer.beta2", "adam_eps": "optimizer.eps", "decay": "optimizer.weight_decay", "clip": "training.max_norm",
		"steps": "training.steps", "warmup": "lr_scheduler.warmup_steps", "decay_steps": "lr_scheduler.total_steps", "floor": "lr_scheduler.min_lr_factor", "optimizer": "lr_scheduler.decay_type"} {
		l.origin(r, field, name)
	}
}
