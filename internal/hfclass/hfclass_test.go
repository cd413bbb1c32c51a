package hfclass

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(text, err)
	}
	return m
}

// at is the value of a key with points.
func at(m map[string]any, key string) any {
	for {
		head, rest, more := strings.Cut(key, ".")
		if !more {
			return m[key]
		}
		m, key = m[head].(map[string]any), rest
	}
}

// Keys that are missing are the class's, and null is what it means there.
func TestRead(t *testing.T) {
	for _, c := range []struct{ family, config, key, want string }{
		{"llama", `{}`, "num_key_value_heads", "32"},
		{"llama", `{"num_attention_heads": 4, "num_key_value_heads": null}`, "num_key_value_heads", "4"},
		{"llama", `{"num_attention_heads": 4, "hidden_size": 34}`, "head_dim", "8"},
		{"llama", `{"head_dim": null, "hidden_size": 64}`, "head_dim", "2"},
		{"llama", `{}`, "rms_norm_eps", "1e-6"},
		{"llama", `{"hidden_act": "swish"}`, "hidden_act", `"silu"`},
		{"llama", `{"unused": null}`, "vocab_size", "32000"},
		{"mistral", `{}`, "num_key_value_heads", "8"},
		{"mistral", `{}`, "sliding_window", "4096"},
		{"mistral", `{"sliding_window": null}`, "sliding_window", "null"},
		{"mistral", `{"num_attention_heads": 4, "num_key_value_heads": null}`, "num_key_value_heads", "4"},
		{"mixtral", `{}`, "sliding_window", "null"},
		{"mixtral", `{}`, "rope_parameters.rope_theta", "1000000.0"},
		{"mixtral", `{"rope_scaling": {}}`, "rope_parameters.rope_theta", "1000000.0"},
		{"mixtral", `{"num_local_experts": 4, "num_experts": 6}`, "num_local_experts", "6"},
		{"qwen2", `{"hidden_size": 64, "num_attention_heads": 32}`, "head_dim", "2"},
		{"qwen2", `{"use_sliding_window": true}`, "layer_types", `["full_attention"` + strings.Repeat(`,"full_attention"`, 27) + strings.Repeat(`,"sliding_attention"`, 4) + `]`},
		{"qwen2", `{"use_sliding_window": true, "max_window_layers": 32}`, "layer_types", `["full_attention"]`},
		{"qwen2", `{"use_sliding_window": true, "max_window_layers": 32}`, "use_sliding_window", "false"},
		{"qwen2", `{"use_sliding_window": true, "sliding_window": null}`, "layer_types", `["full_attention"]`},
		{"qwen3", `{}`, "head_dim", "128"},
		{"gemma2", `{}`, "attn_logit_softcapping", "50.0"},
		{"gemma2", `{"attn_logit_softcapping": null}`, "attn_logit_softcapping", "null"},
		{"gemma2", `{}`, "final_logit_softcapping", "30.0"},
		{"gemma2", `{"use_bidirectional_attention": null}`, "use_bidirectional_attention", "false"},
		{"gemma2", `{"layer_types": null}`, "layer_types", `["sliding_attention","full_attention"]`},
		{"gpt2", `{"n_embd": 24}`, "n_inner", "96"},
		{"gpt2", `{"n_embd": 24, "hidden_size": 48, "n_inner": null}`, "n_inner", "192"},
		{"gpt2", `{"activation_function": "gelu_pytorch_tanh"}`, "activation_function", `"gelu_new"`},
		{"llama", `{"rope_theta": 5}`, "rope_parameters.rope_theta", "5"},
		{"llama", `{"rope_theta": 5, "rope_parameters": {"rope_theta": 6}}`, "rope_parameters.rope_theta", "6"},
		{"llama", `{"rope_theta": 5, "rope_parameters": {"rope_type": "default"}}`, "rope_parameters.rope_theta", "5"},
		{"llama", `{"rope_parameters": {"rope_type": "yarn"}, "rope_scaling": {"type": "linear"}}`, "rope_parameters.rope_type", `"linear"`},
		{"llama", `{"rope_parameters": {"rope_type": "yarn"}, "rope_scaling": null}`, "rope_parameters.rope_type", `"yarn"`},
		{"llama", `{"rope_scaling": {"type": "default", "factor": 8}}`, "rope_parameters.factor", "1.0"},
		{"llama", stretched(`"factor": 8`), "rope_parameters.factor", "8"},
		{"llama", stretched(`"factor": 8`), "rope_parameters.original_max_position_embeddings", "2048"},
		{"llama", `{"original_max_position_embeddings": 7, ` + stretched(`"factor": 8, "original_max_position_embeddings": 9`)[1:], "rope_parameters.original_max_position_embeddings", "7"},
		{"llama", stretched(`"factor": 1.0`), "rope_parameters.high_freq_factor", "4.0"},
		{"other", `{"a": null}`, "a", "null"},
	} {
		in := parse(t, c.config)
		kept := maps.Clone(in)
		out, err := Read(c.family, in)
		if err != nil {
			t.Errorf("%s %s: %v", c.family, c.config, err)
			continue
		}
		if got := shownWhole(at(out, c.key)); got != c.want {
			t.Errorf("%s %s: %s is %s, not %s", c.family, c.config, c.key, got, c.want)
		}
		if !reflect.DeepEqual(in, kept) {
			t.Errorf("%s: the config was changed", c.config)
		}
	}
}

func stretched(more string) string {
	return `{"rope_scaling": {"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4.0, ` + more + `}}`
}

func shownWhole(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ family, config, want string }{
		{"llama", `{"rms_norm_eps": null}`, "rms_norm_eps = null, which LlamaConfig of transformers rejects"},
		{"llama", `{"hidden_size": "64"}`, `hidden_size = "64", and LlamaConfig of transformers takes a whole number`},
		{"llama", `{"hidden_size": 64.5}`, "takes a whole number"},
		{"llama", `{"attention_bias": 1}`, "takes true or false"},
		{"llama", `{"rms_norm_eps": 1e400}`, "not a finite number"},
		{"llama", `{"num_attention_heads": 4, "num_key_value_heads": 3}`, "expected a multiple"},
		{"llama", `{"num_attention_heads": 0, "num_key_value_heads": 1}`, "lacks head_dim"},
		{"mistral", `{"sliding_window": 0}`, "above 0, or null for none"},
		{"gemma2", `{"attn_logit_softcapping": 0.0}`, "above 0, or null for none"},
		{"gemma2", `{"sliding_window": null}`, "rejects"},
		{"qwen2", `{"head_dim": null}`, "rejects"},
		{"llama", `{"is_causal": false}`, "is_causal = false, which no model here computes"},
		{"llama", `{"quantization_config": {"bits": 4}}`, "quantization_config"},
		{"llama", `{"rope_theta": null}`, "rope_theta = null; expected a number"},
		{"llama", `{"rope_scaling": "yarn"}`, "expected an object"},
		{"gemma2", `{"rope_parameters": {"full_attention": {"rope_type": "default"}}}`, "each kind of layer (full_attention)"},
		{"llama", stretched(`"factor": 0`), "factor = 0; expected a number above 0"},
		{"llama", stretched(`"original_max_position_embeddings": 9`), "lacks factor"},
		{"llama", stretched(`"factor": 8, "original_max_position_embeddings": null`), "original_max_position_embeddings = null"},
		{"llama", stretched(`"factor": 8, "partial_rotary_factor": 0.5`), "partial_rotary_factor = 0.5"},
		{"llama", stretched(`"factor": 8, "high_freq_factor": 1`), "expected more than low_freq_factor"},
	} {
		if _, err := Read(c.family, parse(t, c.config)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.family, c.config, err, c.want)
		}
	}
}

// What is written is read as the same config, in the forms of old and new versions.
func TestWrite(t *testing.T) {
	c := parse(t, `{"hidden_size": 64.0, "rms_norm_eps": 1, "rope_parameters": {"rope_theta": 5, "rope_type": "default", "factor": 1.0}}`)
	if err := Write("llama", c); err != nil {
		t.Fatal(err)
	}
	if got, want := shownWhole(c), `{"hidden_size":64,"rms_norm_eps":1.0,"rope_parameters":{"rope_theta":5.0,"rope_type":"default"},"rope_theta":5.0}`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	c = parse(t, `{"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 16.0}}`)
	if err := Write("llama", c); err != nil {
		t.Fatal(err)
	}
	old := `"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,"original_max_position_embeddings":16,`
	want := `{"rope_parameters":{` + old + `"rope_theta":10000.0,"rope_type":"llama3"},"rope_scaling":{` + old + `"rope_type":"llama3"},"rope_theta":10000.0}`
	if got := shownWhole(c); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	c = parse(t, `{"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 0, "high_freq_factor": 4, "original_max_position_embeddings": 16}}`)
	if err := Write("llama", c); err == nil || !strings.Contains(err.Error(), "LlamaConfig cannot have this rope: the model says low_freq_factor = 0") {
		t.Error(err)
	}
	if err := Write("gemma2", parse(t, `{"query_pre_attn_scalar": 22.5}`)); err == nil || !strings.Contains(err.Error(), "query_pre_attn_scalar = 22.5, and Gemma2Config of transformers takes a whole number") {
		t.Error(err)
	}
	if got := Unsaid("mixtral", map[string]any{"vocab_size": true}); !slices.Contains(got, Default{"num_local_experts", "8", "MixtralConfig", true}) || len(got) != len(Keys("mixtral"))-3 {
		t.Error(got) // without those that are null where they are missing
	}
}

// Any value for any key is read or refused.
func FuzzRead(f *testing.F) {
	for _, family := range Families() {
		f.Add(family, `{"rope_scaling": {"rope_type": "llama3", "factor": 1e300}, "layer_types": [1], "head_dim": -1}`)
		f.Add(family, `{"num_hidden_layers": 9000000000, "use_sliding_window": true, "max_window_layers": -5, "hidden_size": 1e30}`)
	}
	f.Fuzz(func(t *testing.T, family, text string) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var m map[string]any
		if d.Decode(&m) != nil {
			return
		}
		if out, err := Read(family, m); err == nil {
			_ = Write(family, out)
		}
	})
}
