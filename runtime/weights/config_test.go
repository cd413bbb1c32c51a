package weights

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/internal/hfclass"
	"ptc/runtime/program"
)

// TestConfigLists: a list of a row is repeated along the other program's.
func TestConfigLists(t *testing.T) {
	n := &program.Names{Family: "m", Keys: []program.Key{{Names: []string{"kinds"}, Value: `["a","b"]`, Default: true}}}
	for text, want := range map[string]bool{`{}`: true, `{"kinds": []}`: true, `{"kinds": ["a"]}`: true, `{"kinds": ["a", "b", "a"]}`: true,
		`{"kinds": ["b", "a"]}`: false, `{"kinds": ["a", "a"]}`: false, `{"kinds": "a"}`: false, `{"kinds": [1]}`: false} {
		c, err := parseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Check(n) == nil; got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	for _, text := range []string{`[1]`, `{} x`, `null`, `{`} {
		if _, err := parseConfig([]byte(text)); err == nil || strings.Contains(err.Error(), "Go value") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for text, want := range map[string]string{
		`{"size": 3, "window": null}`:            "",
		`{"deep": {"size": 3.0}, "window": 0}`:   "",
		`{"size": 4}`:                            "size = 4",
		`{"deep": {"size": "3"}}`:                "deep.size",
		`{"kind": "b"}`:                          `kind = "b"`,
		`{"window": 7}`:                          "window = 7",
		`{"size": 3, "deep": 5, "others": [{}]}`: "",
	} {
		c, err := parseConfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(names()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Numbers that Python writes and JSON does not have are read, and refused where a model depends on them.
func TestNonfinite(t *testing.T) {
	c, err := parseConfig([]byte(`{"a": NaN, "b": [-Infinity, {"c": Infinity}], "d": "NaN", "e\"NaN": "\\", "f": -1, "model_type": "gpt2", "N": "I"}`))
	if err != nil {
		t.Fatal(err)
	}
	if c["a"] != json.Number("NaN") || c["d"] != "NaN" || c["e\"NaN"] != `\` || c["f"] != json.Number("-1") {
		t.Errorf("%v", c)
	}
	list := c["b"].([]any)
	if list[0] != json.Number("-Infinity") || list[1].(map[string]any)["c"] != json.Number("Infinity") {
		t.Errorf("%v", list)
	}
	if _, err := c.Read(); err != nil {
		t.Error(err)
	}
	c["layer_norm_epsilon"] = json.Number("NaN")
	if _, err := c.Read(); err == nil || !strings.Contains(err.Error(), "layer_norm_epsilon = NaN, which is not a finite number") {
		t.Error(err)
	}
	for _, text := range []string{`{"a": Na}`, `{"a": NaN NaN}`, `NaN`, `{NaN: 1}`, `{"a": -Infinit}`} {
		if _, err := parseConfig([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// Every key of a class of transformers is written, and the numbers of the tokenizer are what its
// folder says or its class takes.
func TestExportedConfig(t *testing.T) {
	n := &program.Names{Family: "qwen2", Format: "hf", Architecture: "Q", Keys: []program.Key{{Names: []string{"num_key_value_heads"}, Value: "4", Default: true},
		{Names: []string{"layer_types"}, Value: `["full_attention"]`, Default: true}, {Names: []string{"use_sliding_window"}, Value: "false"},
		{Names: []string{"rms_norm_eps"}, Value: "1"}, {Names: []string{"rope_parameters.rope_theta"}, Value: "5.0"}, {Names: []string{"sliding_window"}, Value: "null"}}}
	for _, c := range []struct {
		origin Config
		want   map[string]any
	}{
		{nil, map[string]any{"bos_token_id": nil, "eos_token_id": nil, "pad_token_id": nil}},
		{Config{"model_type": "qwen2", "eos_token_id": json.Number("3"), "attention_dropout": json.Number("0.1"), "rms_norm_eps": json.Number("7"), "auto_map": "x", "use_cache": json.Number("NaN")},
			map[string]any{"eos_token_id": json.Number("3"), "attention_dropout": json.Number("0.1")}},
		{Config{"model_type": "llama", "attention_dropout": json.Number("0.1")}, map[string]any{"bos_token_id": json.Number("1"), "eos_token_id": json.Number("2"), "pad_token_id": nil}},
	} {
		text, err := config(n, c.origin, "float32")
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		want := Config{"model_type": "qwen2", "architectures": []any{"Q"}, "torch_dtype": "float32", "num_key_value_heads": json.Number("4"),
			"use_sliding_window": false, "sliding_window": nil, "rms_norm_eps": json.Number("1.0"), "rope_theta": json.Number("5.0"),
			"rope_parameters": map[string]any{"rope_theta": json.Number("5.0"), "rope_type": "default"}}
		maps.Copy(want, c.want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v: (-want +got)\n%s", c.origin, diff)
		}
	}
	unsaid, err := Unsaid(n)
	if err != nil || !slices.Contains(unsaid, hfclass.Default{Key: "vocab_size", Value: "151936", Class: "Qwen2Config", Size: true}) ||
		slices.ContainsFunc(unsaid, func(d hfclass.Default) bool { return d.Key == "layer_types" || d.Key == "max_window_layers" }) {
		t.Errorf("%v, %v", unsaid, err)
	}
}

// Whatever bytes a config or an index has, reading them ends, and with an error or what
// is in bounds.
func FuzzFiles(f *testing.F) {
	for _, s := range []string{`{"a": 1, "b": {"c": null}}`, `{"model_type": "llama", "a": NaN, "b": "NaN\" -Infinity", "rms_norm_eps": Infinity}`, `{"weight_map": {"a": "b"}}`, `[]`, `{`, `{"weight_map": {"a": "../b"}}`, `null`, `{"size": 1e999}`,
		`{"peft_type": "LORA", "r": 2, "lora_alpha": 4, "rank_pattern": {"q_proj": 3, "(": 1}, "target_modules": ["q_proj"]}`, `{"peft_type": "LORA", "r": 2, "lora_alpha": NaN, "target_modules": ".*q"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := parseConfig(text); err == nil {
			c.Get("b.c.d")
			_, _ = c.Read()
			_ = c.Check(names())
		}
		if c, err := parsePeft(text); err == nil {
			if rank, _, err := c.of("a.q_proj"); err == nil && (rank < 1 || rank > maxRank) {
				t.Errorf("a rank of %d", rank)
			}
			c.targeted("a.q_proj")
		}
		list, err := shards(text)
		for _, s := range list {
			if err == nil && s != filepath.Base(s) {
				t.Errorf("a shard %q", s)
			}
		}
	})
}
