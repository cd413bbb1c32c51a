package launch

import (
	"fmt"
)

// hf sets the fields of the model that AutoBridge makes of a config.json of transformers.
func (c *bridge) hf(text []byte) error {
	config, err := jsonTree(File{"config.json", text})
	if err != nil {
		return err
	}
	kind, _ := config["model_type"].(string)
	experts := kind == "mixtral" || kind == "qwen3_moe"
	switch kind {
	case "llama", "mistral", "qwen2", "qwen3", "mixtral", "qwen3_moe":
	default:
		return fmt.Errorf("config.json: the model type %q is not known; write its sizes as model.num_layers=32 and so on", kind)
	}
	if w := config["sliding_window"]; w != nil && (kind == "mistral" || kind == "mixtral") {
		return fmt.Errorf("config.json: sliding_window = %s: attention in windows has no counterpart that ptc reads from Megatron-Bridge", literal(w))
	}
	for _, x := range [][]string{{"num_layers", "num_hidden_layers"}, {"hidden_size", "hidden_size"}, {"num_attention_heads", "num_attention_heads"}, {"num_query_groups", "num_key_value_heads"},
		{"ffn_hidden_size", "intermediate_size"}, {"seq_length", "max_position_embeddings"}, {"max_position_embeddings", "max_position_embeddings"}, {"vocab_size", "vocab_size"}, {"kv_channels", "head_dim"},
		{"layernorm_epsilon", "rms_norm_eps"}, {"init_method_std", "initializer_range"}, {"rotary_base", "rope_theta"}} {
		if v := config[x[1]]; v != nil {
			c.set("model."+x[0], v, false)
		}
	}
	if experts {
		for _, x := range [][]string{{"num_moe_experts", "num_local_experts"}, {"num_moe_experts", "num_experts"}, {"moe_router_topk", "num_experts_per_tok"}, {"moe_ffn_hidden_size", "intermediate_size"}, {"moe_ffn_hidden_size", "moe_intermediate_size"}} {
			if v := config[x[1]]; v != nil {
				c.set("model."+x[0], v, false)
			}
		}
	}
	for name, v := range map[string]any{"normalization": "RMSNorm", "gated_linear_unit": true, "activation_func": "silu", "add_bias_linear": false, "position_embedding_type": "rope",
		"add_qkv_bias": kind == "qwen2", "qk_layernorm": kind == "qwen3" || kind == "qwen3_moe", "share_embeddings_and_output_weights": config["tie_word_embeddings"] == true} {
		c.set("model."+name, v, false)
	}
	return c.hfRope(config["rope_scaling"])
}

// hfRope sets how rope is stretched.
func (c *bridge) hfRope(v any) error {
	scaling, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	kind, _ := scaling["rope_type"].(string)
	if kind == "default" {
		return nil
	}
	if kind != "llama3" {
		return fmt.Errorf("config.json: rope_scaling of the type %q has no counterpart: ptc has that of Llama 3.1", kind)
	}
	c.set("model.rope_scaling", true, false)
	if factor := scaling["factor"]; factor != nil {
		c.set("model.rope_scaling_factor", factor, false)
	}
	return nil
}
