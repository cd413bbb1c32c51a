package launch

import (
	"fmt"
	"strconv"
)

// hf says in flags what a config.json of transformers says about the model. Flags that were
// given win.
func (l *line) hf(text []byte) error {
	if text == nil {
		return nil
	}
	c, err := jsonTree(File{"config.json", text})
	if err != nil {
		return err
	}
	get := func(names ...string) (string, bool) {
		for _, n := range names {
			if v, ok := c[n]; ok && v != nil {
				return literal(v), true
			}
		}
		return "", false
	}
	kind, _ := get("model_type")
	add := func(name string, values ...string) {
		if !l.has(name) {
			l.word(name, values...)
		}
	}
	from := func(flag string, names ...string) error {
		v, ok := get(names...)
		if !ok {
			return nil
		}
		f := deepspeedFlagTable[flag]
		g := given{flag: f, values: []string{v}}
		if err := g.check(); err != nil {
			return fmt.Errorf("config.json, %s: %w", names[0], err)
		}
		add(flag, v)
		return nil
	}
	for _, x := range [][]string{{"num-layers", "num_hidden_layers", "n_layer"}, {"hidden-size", "hidden_size", "n_embd"}, {"num-attention-heads", "num_attention_heads", "n_head"},
		{"ffn-hidden-size", "intermediate_size", "n_inner"}, {"max-position-embeddings", "max_position_embeddings", "n_positions"}, {"vocab-size", "vocab_size"},
		{"kv-channels", "head_dim"}, {"norm-epsilon", "rms_norm_eps", "layer_norm_epsilon"}, {"init-method-std", "initializer_range"}} {
		if err := from(x[0], x[1:]...); err != nil {
			return err
		}
	}
	return l.hfBlock(kind, get, add)
}

// hfBlock says what the blocks of a kind of model are.
func (l *line) hfBlock(kind string, get func(names ...string) (string, bool), add func(name string, values ...string)) error {
	switch kind {
	case "gpt2":
		return nil
	case "llama", "mistral", "qwen2", "qwen3":
	default:
		return fmt.Errorf("config.json: the model type %q is not known; the flags of Megatron-DeepSpeed can say its sizes instead", kind)
	}
	if w, ok := get("sliding_window"); ok && kind == "mistral" && w != "0" {
		return fmt.Errorf("config.json: sliding_window = %s: Megatron-DeepSpeed has no attention in windows", w)
	}
	if v, ok := get("num_key_value_heads"); ok {
		if _, err := strconv.Atoi(v); err != nil {
			return fmt.Errorf("config.json, num_key_value_heads: `%s` is not a whole number", v)
		}
		add("num-key-value-heads", v)
	}
	if v, ok := get("rope_theta"); ok {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || x != float64(int(x)) {
			return fmt.Errorf("config.json, rope_theta: `%s` is not a whole number", v)
		}
		add("rotary-base", strconv.Itoa(int(x)))
	}
	add("normalization", "RMSNorm")
	add("swiglu")
	add("disable-bias-linear")
	add("position-embedding-type", "rope")
	if kind == "qwen2" {
		add("add-qkv-bias")
	}
	if kind == "qwen3" {
		add("qk-layernorm")
	}
	if v, _ := get("tie_word_embeddings"); v != "true" {
		add("untie-embeddings-and-output-weights")
	}
	return nil
}
