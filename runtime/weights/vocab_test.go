package weights

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/runtime/program"
)

const tokenizerTests = "../tokenizer/testdata/"

// folderWith is a folder of these files, each a text or a copy of a test's tokenizer.
func folderWith(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if from, ok := strings.CutPrefix(text, "copy "); ok {
			raw, err := os.ReadFile(tokenizerTests + from)
			if err != nil {
				t.Fatal(err)
			}
			text = string(raw)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestVocab: the kinds of files, their names for llama.cpp, and what goes around a text.
func TestVocab(t *testing.T) {
	const says = `{"bos_token": "<s>", "eos_token": {"content": "<|end|>"}, "chat_template": [{"name": "default", "template": "a"}, {"name": "Tool use", "template": "b"}]}`
	for _, c := range []struct {
		files            map[string]string
		model, pre       string
		bos, eos         int64
		first, last, pad bool
	}{
		{map[string]string{"tokenizer.json": "copy gpt2.json"}, "gpt2", "gpt-2", 1, 0, false, false, false},
		{map[string]string{"tokenizer.json": "copy llama3.json"}, "gpt2", "llama-bpe", 1, 0, false, false, false},
		{map[string]string{"tokenizer.json": "copy added.json"}, "gpt2", "qwen2", 1, 0, false, false, false},
		{map[string]string{"tokenizer.model": "copy bpe.model"}, "llama", "default", 1, 7, false, false, true},
		{map[string]string{"tokenizer.model": "copy bpe.model", "tokenizer.json": "copy llama2.json"}, "llama", "default", 1, 7, true, false, true},
		{map[string]string{"tokenizer.model": "copy bpe.model", "tokenizer.json": "copy llama3.json"}, "gpt2", "llama-bpe", 1, 0, false, false, false},
	} {
		c.files[tokenizerSays] = says
		v, err := readVocab(folderWith(t, c.files), Config{"eos_token_id": json.Number("7")}, 900)
		if err != nil {
			t.Errorf("%v: %v", c.files, err)
			continue
		}
		if v.model != c.model || v.pre != c.pre || v.ids["bos"] != c.bos || v.first != c.first || v.last != c.last || v.prefix != c.pad {
			t.Errorf("%v: %s, %s, %v, first %t, last %t, prefix %t", c.files, v.model, v.pre, v.ids, v.first, v.last, v.prefix)
		}
		if len(v.tokens) != 900 || len(v.kinds) != 900 || v.tokens[899] != "[PAD899]" || v.kinds[899] != tokenUnused {
			t.Errorf("%v: %d tokens", c.files, len(v.tokens))
		}
		if (len(v.merges) > 0) != (c.model == "gpt2") || (len(v.scores) == 900) != (c.model == "llama") || v.templates[""] != "a" || v.templates["tool_use"] != "b" {
			t.Errorf("%v: %d merges, %d scores, %v", c.files, len(v.merges), len(v.scores), v.templates)
		}
	}
}

// small is a tokenizer.json of merges over characters with bytes for others.
func small(merges string) string {
	return `{"added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 8, "content": "▁x", "special": false}],
		"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
		"post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]}}},
		"model": {"type": "BPE", "byte_fallback": true, "unk_token": "<unk>", "fuse_unk": true, "vocab": {"<s>": 0, "<unk>": 1, "<0x41>": 2, "a": 3, "b": 4, "▁": 5, "ab": 6, "▁ab": 7}, "merges": ` + merges + `}}`
}

// TestScores: tokens of merges have scores in their order, and merges that scores cannot say are refused.
func TestScores(t *testing.T) {
	v, err := readVocab(folderWith(t, map[string]string{"tokenizer.json": small(`["a b", ["▁", "ab"]]`), tokenizerSays: `{"bos_token": "<s>"}`}), nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	kinds := []int32{tokenControl, tokenUnknown, tokenByte, tokenNormal, tokenNormal, tokenNormal, tokenNormal, tokenNormal, tokenUser, tokenUnused}
	for i, k := range kinds {
		if v.kinds[i] != k {
			t.Errorf("token %d, %q, is of kind %d", i, v.tokens[i], v.kinds[i])
		}
	}
	if v.scores[6] != 0 || v.scores[7] != -1 || v.scores[3] != addedScore || !v.prefix || !v.first || v.last || v.tokens[8] != " x" {
		t.Errorf("%v, %+v", v.scores, v)
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"tokenizer.json": small(`["a b"]`)}, "are no merge"},
		{map[string]string{"tokenizer.json": "copy addedunigram.json"}, "of the kind Unigram"},
		{map[string]string{"tokenizer.model": "copy unigram.model"}, "is unigram"},
		{map[string]string{"tokenizer.json": "copy bert.json"}, "of the kind WordPiece"},
		{map[string]string{"tokenizer.json": "{}"}, "no model"},
	} {
		if _, err := readVocab(folderWith(t, c.files), nil, 900); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.files, err, c.want)
		}
	}
	if _, err := readVocab(folderWith(t, map[string]string{"tokenizer.json": "copy gpt2.json"}), nil, 100); err == nil || !strings.Contains(err.Error(), "420 tokens, but the model has 100") {
		t.Error(err)
	}
	cut, err := os.ReadFile(tokenizerTests + "llama3.json")
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(cut), `{1,3}`, `{1,2}`, 1)
	if _, err := readVocab(folderWith(t, map[string]string{"tokenizer.json": other}), nil, 900); err == nil || !strings.Contains(err.Error(), "splits text in a way") {
		t.Error(err)
	}
}

// TestStretch: short waves stay, long ones are divided by the factor, and one between them by what both make of it.
func TestStretch(t *testing.T) {
	key := func(name, value string) program.Key {
		return program.Key{Names: []string{name, "rope_parameters." + name}, Value: value}
	}
	n := &program.Names{Keys: []program.Key{key("head_dim", "6"), key("rope_theta", "1000.0"), key("factor", "8"), key("low_freq_factor", "1"),
		key("high_freq_factor", "4"), key("original_max_position_embeddings", "128"), key("rope_type", `"llama3"`)}}
	// Waves of 2π, 20π and 200π, of which the second is 62.8: it turns 2.037 times in 128, so that (2.037 - 1) / 3 of it stays.
	got := stretch(n)
	if len(got) != 3 || got[0] != 1 || math.Abs(got[1]-2.3383) > 1e-3 || got[2] != 8 {
		t.Errorf("%v", got)
	}
	n.Keys[len(n.Keys)-1].Value = `"default"`
	if stretch(n) != nil || stretch(nil) != nil {
		t.Error("rope that is not stretched has factors")
	}
}
