package launch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// bridgeWhere is the section of each flag that has a field of Megatron-Bridge; without an entry
// it is the model.
var bridgeWhere = map[string]string{
	"micro-batch-size": "train", "global-batch-size": "train", "train-iters": "train",
	"optimizer": "optimizer", "lr": "optimizer", "min-lr": "optimizer", "adam-beta1": "optimizer", "adam-beta2": "optimizer", "adam-eps": "optimizer", "sgd-momentum": "optimizer",
	"lion-beta1": "optimizer", "lion-beta2": "optimizer", "clip-grad": "optimizer", "loss-scale": "optimizer", "optimizer-cpu-offload": "optimizer", "use-precision-aware-optimizer": "optimizer",
	"lr-decay-style": "scheduler", "lr-decay-iters": "scheduler", "lr-warmup-iters": "scheduler",
	"use-distributed-optimizer": "ddp", "use-megatron-fsdp": "ddp", "data-parallel-sharding-strategy": "ddp", "num-distributed-optimizer-instances": "ddp",
	"use-tp-pp-dp-mapping": "dist", "ckpt-format": "checkpoint", "use-torch-fsdp2": "dist",
}

// toBridge writes overrides of a recipe of Megatron-Bridge as YAML.
func toBridge(r *Run) (string, []Note, error) {
	plain := *r
	plain.Software, plain.Kept = "", nil
	text, notes, err := toMegatron(&plain)
	if err != nil {
		return "", nil, err
	}
	words, err := shellWords(text)
	if err != nil {
		return "", nil, err
	}
	l, err := parse("Megatron-LM", megatronTable, words)
	if err != nil {
		return "", nil, err
	}
	tree := map[string]any{}
	for _, name := range l.order {
		bridgeField(tree, r, l.settings[name])
	}
	bridgePrecision(tree, r)
	put(tree, []string{"model", "add_bias_linear"}, r.Bias)
	put(tree, []string{"model", "share_embeddings_and_output_weights"}, r.Tied)
	put(tree, []string{"model", "gated_linear_unit"}, r.Gated)
	put(tree, []string{"model", "sequence_parallel"}, r.Sequence)
	put(tree, []string{"ddp", "use_distributed_optimizer"}, r.Zero > 0)
	if r.Software == "megatron-bridge" {
		for _, k := range r.Kept {
			if err := bridgeKept(tree, r, k); err != nil {
				return "", nil, err
			}
		}
	}
	out, err := yaml.Marshal(tree)
	if err != nil {
		return "", nil, err
	}
	if r.Positions == "learned" && r.Context > r.Seq {
		notes = append(notes, Note{"context", "Megatron-Bridge has as many positions as a sequence is long"})
	}
	return wholeFloat.ReplaceAllString(string(out), "${1}.0e"), notes, nil
}

// wholeFloat is a float such as 1e-08, which is text for some readers of YAML.
var wholeFloat = regexp.MustCompile(`(?m)(: -?\d+)e`)

// function is a value that is a function, as Megatron-Bridge writes it.
func function(name string) map[string]any { return map[string]any{"_target_": name, "_call_": false} }

// bridgeField sets the field that a flag says.
func bridgeField(tree map[string]any, r *Run, g given) {
	set := func(section, field string, v any) { put(tree, []string{section, field}, v) }
	switch g.name {
	case "bf16", "fp16", "fp8-format", "grad-reduce-in-bf16", "group-query-attention", "disable-bias-linear", "untie-embeddings-and-output-weights", "max-position-embeddings":
		return // other fields say them
	case "swiglu":
		set("model", "activation_func", function("torch.nn.functional.silu"))
		return
	case "squared-relu":
		set("model", "activation_func", function("megatron.core.activations.squared_relu"))
		return
	case "openai-gelu":
		set("model", "activation_func", function("megatron.core.transformer.utils.openai_gelu"))
		return
	case perStage:
		set("model", "virtual_pipeline_model_parallel_size", r.Chunks)
		return
	case "weight-decay":
		set("optimizer", "weight_decay", bridgeValue(g))
		set("scheduler", "start_weight_decay", bridgeValue(g))
		set("scheduler", "end_weight_decay", bridgeValue(g))
		return
	case "seq-length":
		set("dataset", "seq_length", bridgeValue(g))
	case "vocab-size":
		set("tokenizer", "vocab_size", bridgeValue(g))
	}
	section := bridgeWhere[g.name]
	if section == "" {
		section = "model"
	}
	field := strings.ReplaceAll(g.name, "-", "_")
	for there, flag := range bridgeNames {
		if flag == g.name {
			field = there
		}
	}
	set(section, field, bridgeValue(g))
}

// bridgeValue is the value of a flag as YAML has it.
func bridgeValue(g given) any {
	switch {
	case g.kind == "switch":
		return true
	case g.kind == "many":
		return g.values
	case g.kind == "string":
		return g.values[0]
	}
	var v any
	if err := yaml.Unmarshal([]byte(g.values[0]), &v); err != nil {
		return g.values[0]
	}
	return v
}

// bridgePrecision sets the dtypes, which win over those of other sections.
func bridgePrecision(tree map[string]any, r *Run) {
	set := func(field string, v any) { put(tree, []string{"mixed_precision", field}, v) }
	set("_target_", "megatron.bridge.training.mixed_precision.MixedPrecisionConfig")
	set("bf16", r.Compute == "bf16")
	set("fp16", r.Compute == "f16")
	set("grad_reduce_in_fp32", r.Reduce != "bf16")
	dtype := map[string]string{"bf16": "torch.bfloat16", "f16": "torch.float16", "f32": "torch.float32"}[r.Compute]
	set("params_dtype", function(dtype))
	set("pipeline_dtype", function(dtype))
	if r.Products != "" {
		set("fp8", "hybrid")
	}
	if r.Compute == "f16" && r.Scale > 0 {
		set("loss_scale", r.Scale)
	}
	put(tree, []string{"ddp", "grad_reduce_in_fp32"}, r.Reduce != "bf16")
}

// bridgeKept sets a field that no layout has: section.field=value, or a flag that it came from.
func bridgeKept(tree map[string]any, r *Run, kept string) error {
	if strings.HasPrefix(kept, "--") {
		l, err := parse("Megatron-LM", megatronTable, strings.Fields(kept))
		if err != nil {
			return err
		}
		for _, name := range l.order {
			bridgeField(tree, r, l.settings[name])
		}
		return nil
	}
	name, value, ok := strings.Cut(kept, "=")
	if !ok {
		return fmt.Errorf("the config's entry %s has `%s`, which is not section.field=value", keptEntry("megatron-bridge"), kept)
	}
	var v any
	if err := yaml.Unmarshal([]byte(value), &v); err != nil {
		v = value
	}
	path := strings.Split(name, ".")
	if last := path[len(path)-1]; len(path) == 2 && slices.Contains([]string{"cp_comm_type", "recompute_modules"}, last) {
		if s, ok := v.(string); ok {
			v = strings.Split(s, ",")
		}
	}
	put(tree, path, v)
	return nil
}
