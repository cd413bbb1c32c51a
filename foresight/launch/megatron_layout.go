package launch

import (
	"fmt"
)

func megatronMesh(l *line, r *Run, devices int) {
	r.TP = l.positive("tensor-model-parallel-size", 1)
	r.PP = l.positive("pipeline-model-parallel-size", 1)
	r.CP = l.positive("context-parallel-size", 1)
	r.EP = l.positive("expert-model-parallel-size", 1)
	names := []string{"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size"}
	for _, n := range []int{r.TP, r.PP, r.CP, r.EP} {
		if n > MaxDevices {
			l.errs = append(l.errs, fmt.Errorf("a degree of parallelism of %d is more than the %d devices that a mesh may have", n, MaxDevices))
			return
		}
	}
	if model := r.TP * r.PP * r.CP; devices%model != 0 {
		l.clash(fmt.Sprintf("--devices %d", devices), l.product(names), fmt.Sprintf("a replica of the model takes %d devices, which does not divide %d", model, devices))
		return
	}
	r.Shards = devices / (r.TP * r.PP * r.CP)
	r.divides(l, "num-attention-heads", r.Heads, "tensor-model-parallel-size", r.TP, "heads")
	r.divides(l, "ffn-hidden-size", r.FFN, "tensor-model-parallel-size", r.TP, "hidden units of an MLP")
	if r.KV%r.TP != 0 {
		l.clash(l.text("num-query-groups", r.KV), l.text("tensor-model-parallel-size", 1), "each device needs the same number of whole groups")
	}
	if etp := l.positive("expert-tensor-parallel-size", r.TP); r.Experts > 0 && etp != r.TP {
		l.clash(l.text("expert-tensor-parallel-size", r.TP), l.text("tensor-model-parallel-size", 1), "ptc shards the MLPs of experts over the same devices as the heads")
	}
	if r.Experts > 0 {
		r.divides(l, "num-experts", r.Experts, "expert-model-parallel-size", r.EP, "experts")
		if r.Shards%r.EP != 0 {
			l.clash(l.text("expert-model-parallel-size", 1), fmt.Sprintf("--devices %d", devices), fmt.Sprintf("it does not divide the %d replicas of the model", r.Shards))
		}
	}
	if r.CP > 1 && r.Seq%(2*r.CP) != 0 {
		l.clash(l.text("seq-length", ""), l.text("context-parallel-size", 1), "a sequence is not divisible by twice the degree")
	}
	megatronOrder(l, r)
}

// megatronOrder reads in which order the axes of the mesh are, and how sequences are sharded.
func megatronOrder(l *line, r *Run) {
	r.Outer = l.has("use-tp-pp-dp-mapping")
	if r.Outer && (r.PP == 1 || r.DP() == 1) {
		r.Kept = append(r.Kept, l.text("use-tp-pp-dp-mapping", ""))
	}
	if l.has("expert-tensor-parallel-size") && r.Experts == 0 {
		r.Kept = append(r.Kept, l.text("expert-tensor-parallel-size", ""))
	}
	l.origin(r, "mesh", "use-tp-pp-dp-mapping")
	r.Sequence = l.has("sequence-parallel")
	if r.Sequence {
		r.divides(l, "seq-length", r.Seq, "tensor-model-parallel-size", r.TP*r.CP, "positions")
		if r.TP == 1 {
			l.notes = append(l.notes, Note{l.text("sequence-parallel", ""), "without effect, as there is no tensor parallelism"})
			r.Kept = append(r.Kept, l.text("sequence-parallel", ""))
		}
	}
	l.origin(r, "cp", "context-parallel-size")
	megatronContext(l, r)
	l.origin(r, "tp", "tensor-model-parallel-size")
	l.origin(r, "pp", "pipeline-model-parallel-size")
	l.origin(r, "ep", "expert-model-parallel-size")
	l.origin(r, "sequence", "sequence-parallel")
}

// megatronContext reads how attention combines the shards of a sequence: the same way in every
// layer, by a ring or by gathered keys and values.
func megatronContext(l *line, r *Run) {
	const name = "cp-comm-type"
	r.Ring, r.Zigzag = true, true
	l.has(name)
	kinds := l.settings[name].values
	if r.CP == 1 || len(kinds) == 0 {
		if len(kinds) > 0 {
			r.Kept = append(r.Kept, l.text(name, ""))
		}
		return
	}
	for _, kind := range kinds {
		switch {
		case kind == "a2a" || kind == "a2a+p2p":
			l.refuse(name, "ptc has no attention that exchanges heads for positions (a2a, as in DeepSpeed-Ulysses): use p2p or all_gather, or shard heads by --tensor-model-parallel-size")
		case kind != "p2p" && kind != "all_gather" && kind != "allgather":
			l.refuse(name, "expected p2p, all_gather, a2a or a2a+p2p")
		case kind != kinds[0]:
			l.refuse(name, "a rule for the sequence holds for all layers: give one kind")
		default:
			continue
		}
		return
	}
	if kinds[0] != "p2p" {
		r.Ring, r.Zigzag = false, false
		l.notes = append(l.notes, Note{l.text(name, ""), "gathered keys and values meet queries in the order of the sequence here, so that devices have unequal work; Megatron-LM gives each device a chunk from both ends"})
	}
	l.origin(r, "cp", "context-parallel-size", name)
}

// divides reports a size that a degree does not divide.
func (r *Run) divides(l *line, size string, n int, degree string, by int, what string) {
	if n%max(1, by) != 0 {
		l.clash(l.text(size, n), l.text(degree, 1), fmt.Sprintf("%d %s are not divisible by %d", n, what, by))
	}
}

func megatronBatch(l *line, r *Run) {
	r.Micro = l.need("micro-batch-size", "it says how many sequences a microbatch has")
	r.Batch = l.positive("global-batch-size", r.Micro*r.DP())
	if r.Batch%(r.Micro*r.DP()) != 0 {
		l.clash(l.text("global-batch-size", r.Batch), l.text("micro-batch-size", ""), fmt.Sprintf("with %d data parallel replicas, %d sequences are not a whole number of microbatches", r.DP(), r.Batch))
	}
	l.origin(r, "batch", "global-batch-size")
	l.origin(r, "micro", "micro-batch-size")
}

func megatronSharding(l *line, r *Run) {
	const optimizer, strategy, instances = "use-distributed-optimizer", "data-parallel-sharding-strategy", "num-distributed-optimizer-instances"
	fsdp := l.has("use-megatron-fsdp") || l.has("use-custom-fsdp")
	levels := map[string]int{"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}
	level, known := levels[l.str(strategy, "optim_grads_params")]
	if !known {
		l.refuse(strategy, "expected no_shard, optim, optim_grads or optim_grads_params")
	}
	switch {
	case l.has("use-torch-fsdp2"):
		for _, other := range []string{"pipeline-model-parallel-size", "expert-model-parallel-size"} {
			if l.integer(other, 1) > 1 {
				l.clash("--use-torch-fsdp2", l.text(other, 1), "Megatron-LM does not combine them")
			}
		}
		if l.has(optimizer) {
			l.clash("--use-torch-fsdp2", "--"+optimizer, "Megatron-LM does not combine them")
		}
		r.Zero = 3
		if l.has("torch-fsdp2-no-reshard-after-forward") {
			r.Zero = 2
		}
		l.origin(r, "zero", "use-torch-fsdp2", "torch-fsdp2-no-reshard-after-forward")
		r.Kept = append(r.Kept, torchFSDP)
	case fsdp:
		r.Zero = level
		l.origin(r, "zero", "use-megatron-fsdp", "use-custom-fsdp", strategy)
	case l.has(optimizer):
		r.Zero = 1
		l.origin(r, "zero", optimizer)
	}
	if l.has(strategy) && !fsdp {
		l.notes = append(l.notes, Note{l.text(strategy, ""), "without effect, as --use-megatron-fsdp is missing"})
	}
	if n := l.positive(instances, 1); n > 1 {
		if r.Zero == 0 || r.DP()%n != 0 || (r.DP()/n)%r.EP != 0 {
			l.clash(l.text(instances, 1), fmt.Sprintf("%d data parallel replicas", r.DP()), "the optimizer's state is not sharded, or the instances do not divide the replicas")
			return
		}
		r.Replicas, r.Shards = n, r.DP()/n
		l.origin(r, "replicas", instances)
	}
	if r.Zero > 0 && r.Shards*r.CP == 1 {
		l.notes = append(l.notes, Note{r.From["zero"], "without effect, as there is one replica of the model"})
		r.Kept = append(r.Kept, r.From["zero"])
	}
}

func megatronRecompute(l *line, r *Run) {
	const granularity, method, layers = "recompute-granularity", "recompute-method", "recompute-num-layers"
	kind := l.str(granularity, "")
	if l.has("recompute-activations") {
		kind = "selective"
	}
	modules := l.settings["recompute-modules"].values
	l.has("recompute-modules")
	l.has(layers)
	switch kind {
	case "":
	case "full":
		if !l.has(method) {
			l.errs = append(l.errs, fmt.Errorf("--%s full needs --%s uniform or block", granularity, method))
			return
		}
		if n := l.positive(layers, 1); l.str(method, "") == "block" && n*r.Virtual() < r.Layers {
			l.refuse(layers, "ptc rematerializes all blocks in the same way; use the method uniform, or no full recomputation")
			return
		}
		r.Recompute = "full"
		l.origin(r, "recompute", granularity, method, layers)
	case "selective":
		if l.has(method) {
			l.clash(l.text(granularity, ""), l.text(method, ""), "the method is one of full recomputation")
		}
		for _, m := range modules {
			if m == "mlp" || m == "moe" {
				r.Recompute = "mlp"
				l.origin(r, "recompute", granularity, "recompute-modules")
			}
		}
		text := l.product([]string{"recompute-activations", granularity, "recompute-modules"})
		if r.Recompute == "none" {
			l.notes = append(l.notes, Note{text, "no rule is needed: ptc rematerializes attention, norms and activations in any case"})
			r.Kept = append(r.Kept, text)
		}
	default:
		l.refuse(granularity, "expected full or selective")
	}
	if l.has("optimizer-cpu-offload") {
		r.Offload = []string{"optimizer"}
		l.origin(r, "offload", "optimizer-cpu-offload")
	}
}
