package launch

import (
	"encoding/json"
	"fmt"
	"strings"
)

// toDeepSpeed writes DeepSpeed's JSON. The flags of Megatron-DeepSpeed, which say what the
// JSON cannot, are one more key of it, which DeepSpeed does not read.
func toDeepSpeed(r *Run) (string, []Note, error) {
	if err := deepspeedLacks(r); err != nil {
		return "", nil, err
	}
	zero := map[string]any{"stage": r.Zero}
	if len(r.Offload) > 0 {
		zero["offload_optimizer"] = map[string]any{"device": "cpu"}
	}
	tree := map[string]any{
		"train_batch_size":               r.Batch,
		"train_micro_batch_size_per_gpu": r.Micro,
		"gradient_accumulation_steps":    r.Microbatches(),
		"zero_optimization":              zero,
		"gradient_clipping":              r.Clip,
		"bf16":                           map[string]any{"enabled": r.Compute == "bf16"},
		"fp16":                           map[string]any{"enabled": r.Compute == "f16"},
	}
	if r.Compute == "f16" {
		tree["fp16"] = map[string]any{"enabled": true, "loss_scale": r.Scale}
	}
	if r.Reduce == "bf16" {
		tree["communication_data_type"] = "bfp16"
	}
	flags, notes := deepspeedLine(r)
	if r.Software == "deepspeed" {
		for _, k := range r.Kept {
			name, value, _ := strings.Cut(k, " = ")
			if name == "zero_optimization.stage" && r.Zero > 0 {
				continue // the layout's
			}
			if name == deepspeedFlagsKey {
				var more string
				if json.Unmarshal([]byte(value), &more) == nil {
					flags += " " + more
				}
				continue
			}
			put(tree, strings.Split(name, "."), json.RawMessage(value))
		}
	}
	tree[deepspeedFlagsKey] = flags
	text, err := json.MarshalIndent(tree, "", "  ")
	if err != nil {
		return "", nil, err
	}
	notes = append(notes, Note{"", "DeepSpeed does not read the key " + deepspeedFlagsKey + ": pass these flags to Megatron-DeepSpeed"})
	return string(text) + "\n", notes, nil
}

// put sets a value of nested tables by its path.
func put(tree map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		next, ok := tree[path[0]].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[path[0]] = next
		}
		tree = next
	}
	if raw, ok := value.(json.RawMessage); ok && !json.Valid(raw) {
		value = string(raw)
	}
	tree[path[0]] = value
}

// deepspeedLacks is what neither DeepSpeed nor Megatron-DeepSpeed has.
func deepspeedLacks(r *Run) error {
	switch {
	case r.CP > 1:
		return fmt.Errorf("DeepSpeed shards sequences by exchanging heads, and has no ring: the rule for seq over cp has no counterpart")
	case r.Experts > 0:
		return fmt.Errorf("the experts of Megatron-DeepSpeed are in every other layer, those here in all: they have no counterpart")
	case r.Replicas > 1:
		return fmt.Errorf("DeepSpeed shards training state over all ranks that share the batch: write `zero %d over` all of them", r.Zero)
	case r.PP > 1 && r.Zero > 1:
		return fmt.Errorf("`zero %d` with a pipeline has no counterpart in DeepSpeed: use `zero 1`", r.Zero)
	case r.Schedule != "1f1b" && r.Schedule != "zb_h1":
		return fmt.Errorf("the pipeline's schedule `%s` has no counterpart in DeepSpeed: use 1f1b or zb_h1", r.Schedule)
	case r.Products != "":
		return fmt.Errorf("products of eight bits have no counterpart in Megatron-DeepSpeed: leave `products` out")
	case len(r.Stages) > 0:
		return fmt.Errorf("stages of given sizes have no counterpart in Megatron-DeepSpeed, which divides layers evenly: leave `stages` out")
	case r.QKNorm, r.QKVBias && !r.Bias, r.Stretch != 1, r.Positions == "none":
		return fmt.Errorf("norms of queries and keys, biases of theirs alone, stretched rope, and no positions have no flag in Megatron-DeepSpeed")
	}
	plain := *r
	plain.Schedule, plain.Zero = "1f1b", min(r.Zero, 1)
	return megatronLacks(&plain)
}

// deepspeedLine are flags of Megatron-DeepSpeed.
func deepspeedLine(r *Run) (string, []Note) {
	w := &flagWriter{}
	w.model(r)
	w.mesh(r)
	plain := *r
	plain.Zero, plain.Offload, plain.Products = 0, nil, ""
	w.memory(&plain)
	w.training(r)
	w.when(r.Schedule == "zb_h1", "enable-zbh1-pipeline")
	w.when(len(r.Offload) > 0, "cpu-optimizer")
	w.add("zero-stage", r.Zero)
	w.when(true, "deepspeed")
	var out []string
	for _, l := range w.lines {
		switch name, value, _ := strings.Cut(strings.TrimPrefix(l, "--"), " "); name {
		case "group-query-attention":
			continue
		case "num-query-groups":
			l = "--num-key-value-heads " + value
		case "normalization":
			l = "--normalization " + strings.ToLower(value)
		case "position-embedding-type":
			l = "--use-rotary-position-embeddings"
		case "rotary-base":
			l = "--rotary-position-embeddings-theta " + value
		case "norm-epsilon":
			l = "--layernorm-epsilon " + value
		case "optimizer-cpu-offload", "use-precision-aware-optimizer":
			continue
		}
		out = append(out, l)
	}
	return strings.Join(out, " "), w.notes
}
