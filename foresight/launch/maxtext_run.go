package launch

import (
	"fmt"
	"strings"
)

func maxtextMesh(l *line, r *Run, devices int) {
	degrees := map[string]maxtextDegree{}
	product, free := 1, ""
	var given []string
	for _, name := range []string{"data", "fsdp", "fsdp_transpose", "context", "tensor", "tensor_sequence", "pipeline", "expert"} {
		d := maxtextDegree{name: name, ici: 1, dcn: 1}
		for i, at := range []*int{&d.ici, &d.dcn} {
			key := []string{"ici_", "dcn_"}[i] + name + "_parallelism"
			otherwise := 1
			if key == "ici_fsdp_parallelism" && !l.has(key) {
				otherwise = -1
			}
			switch *at = l.integer(key, otherwise); {
			case *at == -1 && key == "dcn_data_parallelism": // one slice, unless it is given
				*at = 1
			case *at == -1 && free == "":
				free, *at = key, 1
			case *at == -1:
				l.clash(l.text(key, -1), l.text(free, -1), "both take the devices that are left")
				return
			case *at < 1 || *at > MaxDevices || product > MaxDevices:
				l.refuse(key, "expected -1, or a number from 1")
				return
			}
			product *= *at
			if l.has(key) && key != free {
				given = append(given, key)
			}
		}
		degrees[name] = d
	}
	size := func(name string) int {
		n := degrees[name].ici * degrees[name].dcn
		if free == "ici_"+name+"_parallelism" || free == "dcn_"+name+"_parallelism" {
			n *= devices / product
		}
		return n
	}
	if devices%product != 0 || free == "" && product != devices {
		l.clash(fmt.Sprintf("--devices %d", devices), l.product(given), fmt.Sprintf("the mesh takes %d devices", product))
		return
	}
	maxtextDegrees(l, r, size)
}

// maxtextDegrees reads what each axis of the mesh is for.
func maxtextDegrees(l *line, r *Run, size func(name string) int) {
	r.EP, r.CP, r.PP = size("expert"), size("context"), size("pipeline")
	r.Replicas, r.Shards = size("data"), size("fsdp")*size("fsdp_transpose")*size("expert")
	r.TP, r.Sequence = size("tensor")*size("tensor_sequence"), size("tensor_sequence") > 1
	if size("tensor") > 1 && r.Sequence {
		l.clash("ici_tensor_parallelism", "ici_tensor_sequence_parallelism", "the sequence is sharded between blocks over all ranks of tensor parallelism, or over none")
	}
	if size("tensor") > 1 {
		l.notes = append(l.notes, Note{"ici_tensor_parallelism", "MaxText shards the width of what passes between blocks over these devices, ptc replicates it"})
	}
	if r.Shards*r.CP > 1 {
		r.Zero = 3
	}
	r.Outer = r.Replicas > 1 && r.Shards == 1
	maxtextDivides(l, r)
	l.origin(r, "tp", "ici_tensor_parallelism", "dcn_tensor_parallelism", "ici_tensor_sequence_parallelism", "dcn_tensor_sequence_parallelism")
	l.origin(r, "pp", "ici_pipeline_parallelism", "dcn_pipeline_parallelism")
	l.origin(r, "cp", "ici_context_parallelism", "dcn_context_parallelism", "context_parallel_strategy", "context_parallel_load_balance")
	l.origin(r, "ep", "ici_expert_parallelism", "dcn_expert_parallelism")
	l.origin(r, "replicas", "ici_data_parallelism", "dcn_data_parallelism")
	l.origin(r, "zero", "ici_fsdp_parallelism", "dcn_fsdp_parallelism", "ici_fsdp_transpose_parallelism", "dcn_fsdp_transpose_parallelism")
}

// maxtextDivides checks sizes against degrees, and reads how attention meets shards.
func maxtextDivides(l *line, r *Run) {
	const tensor = "ici_tensor_parallelism"
	r.divides(l, "base_num_query_heads", r.Heads, tensor, r.TP, "heads")
	r.divides(l, "base_num_kv_heads", r.KV, tensor, r.TP, "heads of keys and values")
	r.divides(l, "base_mlp_dim", r.FFN, tensor, r.TP, "hidden units")
	r.divides(l, "vocab_size", r.Vocab, tensor, r.TP, "tokens")
	if r.EP > 1 {
		r.divides(l, "num_experts", max(1, r.Experts), "ici_expert_parallelism", r.EP, "experts")
	}
	strategy, balance := l.str("context_parallel_strategy", "gather"), l.on("context_parallel_load_balance", true)
	if !strings.HasSuffix(strategy, "gather") && strategy != "ring" && r.CP > 1 {
		l.refuse("context_parallel_strategy", "attention over shards of a sequence gathers keys and values, or sends them around (ring)")
	}
	r.Ring = strategy == "ring"
	r.Zigzag = r.Ring && balance
	if r.CP > 1 {
		r.divides(l, "max_target_length", r.Seq, "ici_context_parallelism", 2*r.CP, "positions, in twice as many chunks as devices,")
		if !r.Ring && balance {
			l.notes = append(l.notes, Note{l.text("context_parallel_load_balance", true), "keys and values that are gathered meet sequences in their order here, so that devices have unequal work; the strategy ring balances it"})
		}
	}
}

func maxtextBatch(l *line, r *Run, devices int) {
	per := l.float("per_device_batch_size", 12)
	r.Rounds = l.positive("gradient_accumulation_steps", 1)
	all := per * float64(devices)
	if !(all >= 1) || all > 1<<31 {
		l.refuse("per_device_batch_size", "the batch of all devices must have at least one sequence")
		return
	}
	micro := int(all)
	if micro%r.DP() != 0 {
		l.clash(l.text("per_device_batch_size", 12), fmt.Sprintf("%d devices that shard the batch", r.DP()), fmt.Sprintf("%d sequences are not divisible by them", micro))
		return
	}
	r.Batch, r.Micro = micro*r.Rounds, micro/r.DP()
	l.origin(r, "batch", "per_device_batch_size", "gradient_accumulation_steps")
	l.origin(r, "rounds", "gradient_accumulation_steps")
}

func maxtextStages(l *line, r *Run) {
	const per, repeats, micro = "num_layers_per_pipeline_stage", "num_pipeline_repeats", "num_pipeline_microbatches"
	layers, n, m := l.positive(per, 1), l.integer(repeats, -1), l.integer(micro, -1)
	delayed := l.on("pipeline_delay_activation_forwarding", false)
	if r.PP == 1 {
		r.Rounds = 1
		return
	}
	if n == -1 {
		n = r.Layers / (layers * r.PP)
	}
	if n < 1 || layers*n*r.PP != r.Layers {
		l.clash(l.text("base_num_decoder_layers", 16), l.product([]string{"ici_pipeline_parallelism", "dcn_pipeline_parallelism", per, repeats}), fmt.Sprintf("%d stages of %d layers, %d times, are not all layers", r.PP, layers, n))
		return
	}
	if m == -1 {
		if m = r.PP; delayed {
			m = 2 * r.PP
		}
	}
	if m < 1 || m%r.PP != 0 || r.Micro%m != 0 {
		l.clash(l.text(micro, -1), l.text("ici_pipeline_parallelism", 1), fmt.Sprintf("%d microbatches are not a multiple of the stages that divides the %d sequences of a device", m, r.Micro))
		return
	}
	r.Micro /= m
	r.Chunks, r.Schedule = n, "gpipe"
	if n > 1 {
		r.Schedule = "breadth_first"
	}
	l.origin(r, "chunks", per, repeats)
	l.origin(r, "micro", micro)
}

func maxtextMemory(l *line, r *Run) {
	switch policy := l.str("remat_policy", "full"); policy {
	case "full":
		r.Recompute = "full"
		l.origin(r, "recompute", "remat_policy")
	default:
		l.notes = append(l.notes, Note{l.text("remat_policy", "full"), "ptc rematerializes modules, not single values; the layout keeps activations but those of attention. `recompute auto` with `device memory` chooses"})
		r.Kept = append(r.Kept, l.settings["remat_policy"].kept())
	}
	switch kind := l.str("dtype", "bfloat16"); kind {
	case "bfloat16":
		r.Compute = "bf16"
		if r.Zero > 0 { // what is gathered
			r.Params = "bf16"
		}
	case "float32":
	default:
		l.refuse("dtype", "expected bfloat16 or float32")
	}
	if l.str("weight_dtype", "float32") != "float32" {
		l.refuse("weight_dtype", "parameters are f32 here, or have masters in f32")
	}
	switch l.str("grad_dtype", "float32") {
	case "float32":
	case "bfloat16":
		r.Reduce = "bf16"
	default:
		l.refuse("grad_dtype", "gradients are reduced in f32 or bf16 here")
	}
	switch kind := l.str("quantization", ""); kind {
	case "":
	case "fp8", "nanoo_fp8", "fp8_full", "fp8_gpu":
		r.Products = "f8"
	default:
		l.refuse("quantization", "of these ptc has products of 8-bit floats: fp8")
	}
	if l.on("optimizer_memory_host_offload", false) {
		r.Offload = []string{"optimizer"}
		l.origin(r, "offload", "optimizer_memory_host_offload")
	}
	l.origin(r, "precision", "dtype", "grad_dtype", "quantization")
}

func maxtextTraining(l *line, r *Run) {
	switch l.str("opt_type", "adamw") {
	case "adamw", "adam_pax":
	default:
		l.refuse("opt_type", "of MaxText's optimizers ptc has adamw, and adam_pax, whose update is nearly the same")
	}
	r.Steps = l.integer("steps", 150001)
	r.DecaySteps = l.integer("learning_rate_schedule_steps", -1)
	if r.DecaySteps == -1 {
		r.DecaySteps = r.Steps
	}
	if r.Steps == -1 {
		r.Steps = r.DecaySteps
	}
	if r.Steps < 1 || r.DecaySteps < 1 {
		l.refuse("steps", "expected a number from 1")
		return
	}
	r.LR, r.Beta1, r.Beta2, r.AdamEps = l.float("learning_rate", 3e-5), l.float("adam_b1", 0.9), l.float("adam_b2", 0.95), l.float("adam_eps", 1e-8)
	r.WeightDecay, r.Clip = l.float("adam_weight_decay", 0.1), l.float("gradient_clipping_threshold", 1)
	r.falls(l.float("learning_rate_final_fraction", 0.1))
	f := l.float("warmup_steps_fraction", 0.1)
	if f < 0 || f > 1 {
		l.refuse("warmup_steps_fraction", "expected a fraction from 0 to 1")
		return
	}
	r.Warmup = int(f * float64(r.DecaySteps))
	if l.str("lr_schedule_type", "cosine") != "cosine" {
		l.refuse("lr_schedule_type", "the schedule here is cosine")
	}
	for field, name := range map[string]string{"lr": "learning_rate", "beta1": "adam_b1", "beta2": "adam_b2", "adam_eps": "adam_eps", "decay": "adam_weight_decay", "clip": "gradient_clipping_threshold",
		"steps": "steps", "warmup": "warmup_steps_fraction", "decay_steps": "learning_rate_schedule_steps", "floor": "learning_rate_final_fraction"} {
		l.origin(r, field, name)
	}
}
