package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// tomlWriter collects keys by section.
type tomlWriter struct {
	sections map[string][]string
	order    []string
	comments []string
	notes    []Note
}

// key adds a key; text is its value in TOML.
func (w *tomlWriter) key(name, text string) {
	section, rest, _ := strings.Cut(name, ".")
	if w.sections[section] == nil {
		w.order = append(w.order, section)
	}
	w.sections[section] = append(w.sections[section], rest+" = "+text)
}

// has reports whether a key was written.
func (w *tomlWriter) has(name string) bool {
	section, rest, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(w.sections[section], func(l string) bool { return strings.HasPrefix(l, rest+" = ") })
}

// comment adds what no key says, to the head of the file and to what the user reads.
func (w *tomlWriter) comment(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	w.notes = append(w.notes, Note{"", text})
	w.comments = append(w.comments, "# "+text)
}

// String is the file.
func (w *tomlWriter) String() string {
	var b strings.Builder
	for _, c := range w.comments {
		b.WriteString(c + "\n")
	}
	for i, s := range w.order {
		if i > 0 || len(w.comments) > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "[%s]\n%s\n", s, strings.Join(w.sections[s], "\n"))
	}
	return b.String()
}

// toTorchtitan writes a TOML file of torchtitan.
func toTorchtitan(r *Run) (string, []Note, error) {
	w := &tomlWriter{sections: map[string][]string{}}
	for _, write := range []func(*Run) error{w.model, w.batch, w.parallelism, w.memory, w.training} {
		if err := write(r); err != nil {
			return "", nil, err
		}
	}
	if r.Software == "torchtitan" {
		for _, k := range r.Kept {
			if name, value, _ := strings.Cut(k, " = "); !w.has(name) {
				w.key(name, value)
			}
		}
	}
	return w.String(), w.notes, nil
}

// model names the flavor with the sizes of the run; without one it says which are needed.
func (w *tomlWriter) model(r *Run) error {
	name := "llama3"
	switch {
	case r.Norm != "rms" || !r.Gated || r.Act != "silu" || r.Bias || r.QKVBias || r.Positions != "rope" || r.Window > 0:
		return fmt.Errorf("torchtitan has decoders with RMSNorm, rope and SwiGLU without biases or windows: the model is another")
	case r.QKNorm:
		name = "qwen3"
	case r.Experts > 0:
		return fmt.Errorf("of torchtitan's models with experts ptc writes those of qwen3, with norms of queries and keys")
	}
	kind := ""
	for _, f := range flavors {
		same := f.layers == r.Layers && f.embed == r.Embed && f.heads == r.Heads && f.kv == r.KV && f.head == r.Head && f.ffn == r.FFN && f.vocab == r.Vocab && f.experts == r.Experts && f.chosen == r.Chosen
		if f.name == name && same {
			kind = f.flavor
			if f.base != r.Base || f.stretch != r.Stretch || f.tied != r.Tied {
				w.comment("%s %s has rope of the base %v, stretched %v times, and tied = %v; the model here %v, %v and %v", name, kind, f.base, f.stretch, f.tied, r.Base, r.Stretch, r.Tied)
			}
			break
		}
	}
	if kind == "" {
		kind = "custom"
		w.comment("No flavor of %s has these sizes. Add one with %d layers, a width of %d, %d heads and %d of keys and values of %d each, an MLP of %d, %d tokens, and rope of the base %v.", name, r.Layers, r.Embed, r.Heads, r.KV, r.Head, r.FFN, r.Vocab, r.Base)
	}
	w.key("model.name", strconv.Quote(name))
	w.key("model.flavor", strconv.Quote(kind))
	if r.Products != "" {
		w.key("model.converters", `["quantize.linear.float8"]`)
	}
	return nil
}

func (w *tomlWriter) batch(r *Run) error {
	local := r.Micro
	if r.PP > 1 {
		local = r.Batch / (r.DP() * r.Rounds)
	}
	w.key("training.local_batch_size", strconv.Itoa(local))
	w.key("training.global_batch_size", strconv.Itoa(r.Batch))
	w.key("training.seq_len", strconv.Itoa(r.Seq))
	return nil
}

func (w *tomlWriter) parallelism(r *Run) error {
	const p = "parallelism."
	replicas, shards := r.Replicas, r.Shards
	if r.Zero == 0 {
		replicas, shards = r.DP(), 1
	}
	switch {
	case r.Zero == 0 && r.CP > 1:
		return fmt.Errorf("torchtitan shards parameters over the ranks of context parallelism: add `zero 3 over cp` to the layout")
	case r.Zero == 0 && r.EP > 1:
		return fmt.Errorf("torchtitan shards parameters over the ranks of experts: add `zero 3 over %s` to the layout", r.over("dp", "ep"))
	case r.Zero == 1:
		w.comment("torchtitan has no ZeRO of level 1: FSDP that keeps gathered parameters until the backward phase is the closest")
	}
	if r.Outer {
		w.comment("torchtitan places the stages of a pipeline farther apart than replicas")
	}
	w.key(p+"data_parallel_replicate_degree", strconv.Itoa(replicas))
	w.key(p+"data_parallel_shard_degree", strconv.Itoa(shards))
	if r.Zero > 0 {
		w.key(p+"fsdp_reshard_after_forward", strconv.Quote(map[bool]string{true: "always", false: "never"}[r.Zero == 3]))
	}
	w.key(p+"tensor_parallel_degree", strconv.Itoa(r.TP))
	if r.TP > 1 && !r.Sequence {
		w.comment("torchtitan shards the sequence between blocks wherever there is tensor parallelism")
	}
	w.key(p+"pipeline_parallel_degree", strconv.Itoa(r.PP))
	w.key(p+"context_parallel_degree", strconv.Itoa(r.CP))
	if r.CP > 1 {
		rotate, order := "allgather", "headtail"
		if r.Ring {
			rotate = "alltoall"
		}
		w.key(p+"context_parallel_rotate_method", strconv.Quote(rotate))
		if !r.Zigzag && r.Ring {
			w.comment("the ring goes in the sequence's order here; torchtitan balances it by head-tail order")
		}
		w.key(p+"context_parallel_load_balancer", strconv.Quote(order))
	}
	if r.EP > 1 {
		w.key(p+"expert_parallel_degree", strconv.Itoa(r.EP))
		if r.TP > 1 {
			w.key(p+"expert_tensor_parallel_degree", strconv.Itoa(r.TP))
		}
	}
	if r.PP > 1 {
		return w.stages(r)
	}
	return nil
}

// stages writes the schedule, and how blocks are divided.
func (w *tomlWriter) stages(r *Run) error {
	const p = "parallelism."
	schedule := ""
	for there, here := range torchtitanSchedules {
		if here == r.Schedule {
			schedule = there
		}
	}
	if schedule == "" {
		return fmt.Errorf("the pipeline's schedule `%s` has no counterpart in torchtitan: it has %s", r.Schedule, strings.Join(slices.Sorted(maps.Values(torchtitanSchedules)), ", "))
	}
	w.key(p+"pipeline_parallel_schedule", strconv.Quote(schedule))
	w.key(p+"pipeline_parallel_microbatch_size", strconv.Itoa(r.Micro))
	stages := r.Stages
	if len(stages) == 0 && r.Layers%r.Virtual() == 0 {
		w.key(p+"pipeline_parallel_first_stage_less_layers", "0")
		w.key(p+"pipeline_parallel_last_stage_less_layers", "0")
		w.key(p+"pipeline_parallel_layers_per_stage", strconv.Itoa(r.Layers/r.Virtual()))
		return nil
	}
	if len(stages) == 0 {
		stages = evenly(r.Layers, r.Virtual(), [2]int{})
	}
	var parts []string
	layer := 0
	for i, n := range stages {
		var names []string
		if i == 0 {
			names = append(names, `"tok_embeddings"`)
		}
		for range n {
			names = append(names, fmt.Sprintf(`"layers.%d"`, layer))
			layer++
		}
		if i == len(stages)-1 {
			names = append(names, `"norm"`, `"output"`)
		}
		parts = append(parts, "["+strings.Join(names, ", ")+"]")
	}
	w.key(p+"module_fqns_per_model_part", "[\n  "+strings.Join(parts, ",\n  ")+",\n]")
	return nil
}

func (w *tomlWriter) memory(r *Run) error {
	kept := r.Software == "torchtitan" && slices.ContainsFunc(r.Kept, func(k string) bool { return strings.HasPrefix(k, "activation_checkpoint.mode ") })
	switch {
	case r.Recompute == "full":
		w.key("activation_checkpoint.mode", `"full"`)
	case r.Recompute == "mlp":
		return fmt.Errorf("torchtitan rematerializes blocks or operations, not the MLPs alone: write `recompute Block`")
	case !kept:
		w.key("activation_checkpoint.mode", `"none"`)
	}
	switch {
	case r.Compute == "f16":
		return fmt.Errorf("torchtitan computes in bf16 or f32, not in f16")
	case r.Compute == "f32":
		w.key("training.mixed_precision_param", `"float32"`)
	default:
		w.key("training.mixed_precision_param", `"bfloat16"`)
	}
	if !r.gathersComputed() {
		w.comment("torchtitan stores parameters in f32, and FSDP gathers them in the dtype that it computes in")
	}
	if r.Reduce != "f32" {
		w.comment("torchtitan reduces gradients in f32")
	}
	for _, what := range r.Offload {
		if what == "activations" {
			return fmt.Errorf("offloading of activations has no counterpart in torchtitan: leave it out")
		}
		w.key("training.enable_cpu_offload", "true")
	}
	return nil
}

func (w *tomlWriter) training(r *Run) error {
	if r.Optimizer != "AdamW" {
		return fmt.Errorf("torchtitan has AdamW, not %s", r.Optimizer)
	}
	if r.Std != 0.02 {
		w.comment("torchtitan chooses the deviation of initial values itself, and the model here %v", r.Std)
	}
	float := func(x float64) string { return number(x) }
	w.key("optimizer.name", `"AdamW"`)
	w.key("optimizer.lr", float(r.LR))
	w.key("optimizer.beta1", float(r.Beta1))
	w.key("optimizer.beta2", float(r.Beta2))
	w.key("optimizer.eps", float(r.AdamEps))
	w.key("optimizer.weight_decay", float(r.WeightDecay))
	w.key("training.max_norm", float(r.Clip))
	w.key("training.steps", strconv.Itoa(r.Steps))
	w.key("lr_scheduler.warmup_steps", strconv.Itoa(r.Warmup))
	factor := 0.0
	if r.LR > 0 {
		factor = share(r.MinLR, r.LR)
	}
	switch r.Decay {
	case "constant":
		w.key("lr_scheduler.decay_type", `"linear"`)
		factor = 1
	default:
		w.key("lr_scheduler.decay_type", strconv.Quote(r.Decay))
		if r.DecaySteps != r.Steps {
			w.key("lr_scheduler.total_steps", strconv.Itoa(r.DecaySteps))
		}
	}
	w.key("lr_scheduler.min_lr_factor", float(factor))
	return nil
}
