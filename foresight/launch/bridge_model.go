package launch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bridgeSpecial are fields whose values are not those of a flag.
var bridgeSpecial = map[string]bool{
	"model.activation_func": true, "model.gated_linear_unit": true, "model.add_bias_linear": true, "model.share_embeddings_and_output_weights": true,
	"model.num_query_groups": true, "model.pipeline_model_parallel_layout": true, "model.seq_length": true, "model.vocab_size": true,
	"dataset.seq_length": true, "dataset.sequence_length": true, "tokenizer.vocab_size": true,
	"model.bf16": true, "model.fp16": true, "optimizer.bf16": true, "optimizer.fp16": true, "mixed_precision.bf16": true, "mixed_precision.fp16": true,
	"ddp.grad_reduce_in_fp32": true, "mixed_precision.grad_reduce_in_fp32": true,
	"optimizer.use_distributed_optimizer": true, "ddp.use_distributed_optimizer": true,
	"scheduler.start_weight_decay": true, "scheduler.end_weight_decay": true,
	"ddp.use_megatron_fsdp": true, "dist.use_megatron_fsdp": true,
}

// bridgeLabels name the fields that messages mean by a flag.
var bridgeLabels = map[string]string{
	"num-layers": "model.num_layers", "hidden-size": "model.hidden_size", "num-attention-heads": "model.num_attention_heads", "seq-length": "model.seq_length",
	"max-position-embeddings": "model.max_position_embeddings", "vocab-size": "model.vocab_size", "micro-batch-size": "train.micro_batch_size", "global-batch-size": "train.global_batch_size",
	"ffn-hidden-size": "model.ffn_hidden_size", "num-query-groups": "model.num_query_groups", "num-experts": "model.num_moe_experts", "moe-router-topk": "model.moe_router_topk",
	"tensor-model-parallel-size": "model.tensor_model_parallel_size", "pipeline-model-parallel-size": "model.pipeline_model_parallel_size", "context-parallel-size": "model.context_parallel_size",
	"expert-model-parallel-size": "model.expert_model_parallel_size", "expert-tensor-parallel-size": "model.expert_tensor_parallel_size", stagesOfRank: "model.virtual_pipeline_model_parallel_size",
	"recompute-method": "model.recompute_method", "use-distributed-optimizer": "ddp.use_distributed_optimizer", "data-parallel-sharding-strategy": "ddp.data_parallel_sharding_strategy",
	"num-distributed-optimizer-instances": "ddp.num_distributed_optimizer_instances", "kv-channels": "model.kv_channels",
}

// bridgeRecipes are the named recipes of mixed precision: the dtype, and the products.
var bridgeRecipes = map[string][2]string{
	"bf16_mixed": {"bf16"}, "fp16_mixed": {"fp16"},
	"bf16_with_fp8_delayed_scaling_mixed": {"bf16", "hybrid"}, "fp16_with_fp8_delayed_scaling_mixed": {"fp16", "hybrid"},
	"bf16_with_fp8_current_scaling_mixed": {"bf16", "hybrid"}, "fp16_with_fp8_current_scaling_mixed": {"fp16", "hybrid"},
	"bf16_with_fp8_subchannel_scaling_mixed": {"bf16", "hybrid"}, "fp16_with_fp8_subchannel_scaling_mixed": {"fp16", "hybrid"},
	"bf16_with_mxfp8_mixed": {"bf16", "e4m3"}, "fp16_with_mxfp8_mixed": {"fp16", "e4m3"},
}

// precision reads the dtypes. A recipe, and fields of mixed_precision, win over other sections.
func (c *bridge) precision() error {
	name, _ := c.fields["mixed_precision"].(string)
	recipe, known := bridgeRecipes[strings.ReplaceAll(name, "-", "_")]
	switch {
	case strings.Contains(name, "fp4"):
		return fmt.Errorf("%s: products of four bits are not in ptc", c.text("mixed_precision"))
	case name != "" && !known:
		return fmt.Errorf("%s: ptc knows no such recipe; write mixed_precision.bf16=true and its other fields", c.text("mixed_precision"))
	case recipe[1] != "":
		if err := c.word("fp8-format", "mixed_precision", recipe[1]); err != nil {
			return err
		}
	}
	both := map[string]string{}
	for _, kind := range []string{"bf16", "fp16"} {
		for _, section := range []string{"mixed_precision", "optimizer", "model"} {
			field := section + "." + kind
			if v, ok := c.fields[field].(bool); known {
				break
			} else if ok {
				if v {
					both[kind] = field
				}
				break
			}
		}
	}
	if known {
		both[recipe[0]] = "mixed_precision"
	}
	if both["bf16"] != "" && both["fp16"] != "" {
		return fmt.Errorf("%s and %s contradict each other: a model computes in one of them", c.text(both["bf16"]), c.text(both["fp16"]))
	}
	for kind, field := range both {
		if err := c.word(kind, field); err != nil {
			return err
		}
	}
	full := c.fields["mixed_precision.grad_reduce_in_fp32"]
	field := "mixed_precision.grad_reduce_in_fp32"
	if full == nil && !known {
		field = "ddp.grad_reduce_in_fp32"
		full = c.fields[field]
	}
	if full == false && both["bf16"] != "" {
		return c.word("grad-reduce-in-bf16", field)
	}
	return nil
}

// model reads fields of the model that flags say in other words.
func (c *bridge) model() error {
	act, _ := c.fields["model.activation_func"].(string)
	act = act[strings.LastIndex(act, ".")+1:]
	gated, _ := c.fields["model.gated_linear_unit"].(bool)
	switch {
	case gated && (act == "silu" || act == ""):
		if err := c.word("swiglu", "model.gated_linear_unit"); err != nil {
			return err
		}
	case gated:
		return fmt.Errorf("%s and %s: of gated MLPs ptc translates those of silu", c.text("model.gated_linear_unit"), c.text("model.activation_func"))
	case act == "squared_relu" || act == "relu2":
		if err := c.word("squared-relu", "model.activation_func"); err != nil {
			return err
		}
	case act == "openai_gelu" || act == "fast_gelu":
		if err := c.word("openai-gelu", "model.activation_func"); err != nil {
			return err
		}
	case act != "" && act != "gelu":
		return fmt.Errorf("%s: of activations without gates ptc translates gelu, openai_gelu and squared_relu", c.text("model.activation_func"))
	}
	for field, flag := range map[string]string{"model.add_bias_linear": "disable-bias-linear", "model.share_embeddings_and_output_weights": "untie-embeddings-and-output-weights"} {
		if c.fields[field] == false {
			if err := c.word(flag, field); err != nil {
				return err
			}
		}
	}
	if v := c.fields["model.num_query_groups"]; v != nil {
		for _, flag := range []string{"group-query-attention", "num-query-groups"} {
			values := []string{literal(v)}
			if megatronTable[flag].kind == "switch" {
				values = nil
			}
			if err := c.word(flag, "model.num_query_groups", values...); err != nil {
				return err
			}
		}
	}
	if err := c.positions(); err != nil {
		return err
	}
	return c.stages()
}

// positions reads how long a sequence is, and how many tokens there are.
func (c *bridge) positions() error {
	length := "model.seq_length"
	for _, other := range []string{"dataset.seq_length", "dataset.sequence_length"} {
		switch v := c.fields[other]; {
		case v == nil:
		case c.fields[length] == nil:
			length = other
		case literal(v) != literal(c.fields[length]):
			return fmt.Errorf("%s and %s contradict each other: both say how long a sequence is", c.text(length), c.text(other))
		}
	}
	if v := c.fields[length]; v != nil {
		if err := c.word("seq-length", length, literal(v)); err != nil {
			return err
		}
		if most, ok := c.l.settings["max-position-embeddings"]; !ok || less(most.values[0], literal(v)) {
			if err := c.word("max-position-embeddings", length, literal(v)); err != nil {
				return err
			}
		}
	}
	sizes := []string{"model.vocab_size", "tokenizer.vocab_size"}
	if c.fields["tokenizer.use_tokenizer_vocab_size"] == true {
		slices.Reverse(sizes)
	}
	for _, field := range sizes {
		if v := c.fields[field]; v != nil {
			return c.word("vocab-size", field, literal(v))
		}
	}
	return nil
}

// less compares two texts that are whole numbers; others are not less.
func less(a, b string) bool {
	x, err := strconv.Atoi(a)
	y, wrong := strconv.Atoi(b)
	return err == nil && wrong == nil && x < y
}

// stages reads a layout of stages, which is text or a list for each stage.
func (c *bridge) stages() error {
	const field = "model.pipeline_model_parallel_layout"
	switch x := c.fields[field].(type) {
	case nil:
		return nil
	case string:
		c.l.drop(stagesOfRank) // which the layout says
		return c.word(stageLayout, field, x)
	case []any:
		letters := map[string]string{"embedding": "E", "decoder": "t", "mtp": "m", "loss": "L"}
		var parts []string
		for _, stage := range x {
			list, ok := stage.([]any)
			if !ok {
				return fmt.Errorf("%s: expected a list of lists, such as [[embedding, decoder], [decoder, loss]]", c.text(field))
			}
			part := ""
			for _, kind := range list {
				letter := letters[strings.ToLower(literal(kind))]
				if letter == "" {
					return fmt.Errorf("%s: `%s` is none of embedding, decoder, mtp and loss", c.text(field), literal(kind))
				}
				part += letter
			}
			parts = append(parts, part)
		}
		c.l.drop(stagesOfRank)
		return c.word(stageLayout, field, strings.Join(parts, "|"))
	}
	return fmt.Errorf("%s: expected text or a list of lists", c.text(field))
}

// batch reads the decay of weights, which the schedule says where it is constant.
func (c *bridge) batch() error {
	start, end := c.fields["scheduler.start_weight_decay"], c.fields["scheduler.end_weight_decay"]
	if start == nil {
		return nil
	}
	if end != nil && literal(end) != literal(start) {
		return fmt.Errorf("%s and %s: the decay of weights is constant here", c.text("scheduler.start_weight_decay"), c.text("scheduler.end_weight_decay"))
	}
	return c.word("weight-decay", "scheduler.start_weight_decay", literal(start))
}

// sharding reads the switches of training state, which two sections have.
func (c *bridge) sharding() error {
	for flag, fields := range map[string][]string{"use-distributed-optimizer": {"ddp.use_distributed_optimizer", "optimizer.use_distributed_optimizer"},
		"use-megatron-fsdp": {"ddp.use_megatron_fsdp", "dist.use_megatron_fsdp"}} {
		for _, f := range fields {
			if c.fields[f] == true {
				if err := c.word(flag, f); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}
