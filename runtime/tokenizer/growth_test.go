package tokenizer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// grower is a tokenizer.json with components of these texts.
func grower(normalizer, cutter, decoder string) []byte {
	return fmt.Appendf(nil, `{"normalizer":%s,"pre_tokenizer":%s,"post_processor":null,"decoder":%s,"model":{"type":"WordLevel","vocab":{"[UNK]":0,"a":1},"unk_token":"[UNK]"}}`, normalizer, cutter, decoder)
}

func sequence(kind, list string, n int, of string) string {
	return fmt.Sprintf(`{"type":%q,%q:[%s]}`, kind, list, strings.TrimSuffix(strings.Repeat(of+",", n), ","))
}

// TestGrowth: whatever component makes a text grow without end, the growth ends with an error that names it, soon.
func TestGrowth(t *testing.T) {
	double := `{"type":"Replace","pattern":{"String":"a"},"content":"aa"}`
	regex := `{"type":"Replace","pattern":{"Regex":"a"},"content":"aaa"}`
	long, _ := json.Marshal(map[string]any{"type": "Replace", "pattern": map[string]string{"String": "a"}, "content": strings.Repeat("b", 1<<20)})
	begun := time.Now()
	for name, c := range map[string]struct{ normalizer, cutter, text string }{
		"Replace, 34 times":     {sequence("Sequence", "normalizers", 34, double), "null", "a"},
		"by an expression":      {sequence("Sequence", "normalizers", 34, regex), "null", "a"},
		"by a long text":        {string(long), "null", strings.Repeat("a", 1000)},
		"ByteLevel, 40 times":   {"null", sequence("Sequence", "pretokenizers", 40, `{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}`), "é"},
		"nested":                {sequence("Sequence", "normalizers", 6, sequence("Sequence", "normalizers", 6, double)), "null", "a"},
		"normalizer ByteLevel":  {sequence("Sequence", "normalizers", 40, `{"type":"ByteLevel"}`), "null", "é"},
		"Prepend, 100 times":    {sequence("Sequence", "normalizers", 100, `{"type":"Prepend","prepend":"`+strings.Repeat("x", 1<<14)+`"}`), "null", "a"},
		"a text in many pieces": {string(long), `{"type":"WhitespaceSplit"}`, strings.Repeat("a ", 1000)},
	} {
		k, err := Parse("tokenizer.json", grower(c.normalizer, c.cutter, "null"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := k.Encode([]byte(c.text)); err == nil || !strings.Contains(err.Error(), "64 times its size is the limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
	k, err := Parse("tokenizer.json", grower("null", "null", sequence("Sequence", "decoders", 34, double)))
	if err != nil {
		t.Fatal(err)
	}
	if text := k.Decode([]int32{1, 1}); len(text) > 2*mostToken {
		t.Errorf("two tokens are %d bytes of text", len(text))
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("all take %v", took)
	}
}

// TestGrowthInUse: the rules that grow most are within the limit, for short and for long texts.
func TestGrowthInUse(t *testing.T) {
	k, err := Parse("tokenizer.json", grower(sequence("Sequence", "normalizers", 1, `{"type":"NFKD"}`), `{"type":"ByteLevel"}`, "null"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 1000, 1 << 17} {
		if _, err := k.Encode([]byte(strings.Repeat("\ufdfa", n))); err != nil {
			t.Errorf("%d ligatures of 18 letters: %v", n, err)
		}
	}
}

// TestDepth: components in one another are bounded, wherever they are.
func TestDepth(t *testing.T) {
	for _, of := range []string{"normalizers", "pretokenizers", "decoders"} {
		deep := "null"
		for range 100 {
			deep = fmt.Sprintf(`{"type":"Sequence",%q:[%s]}`, of, deep)
		}
		all := map[string]string{"normalizers": "null", "pretokenizers": "null", "decoders": "null"}
		all[of] = deep
		if _, err := Parse("tokenizer.json", grower(all["normalizers"], all["pretokenizers"], all["decoders"])); err == nil || !strings.Contains(err.Error(), "nested more than") {
			t.Errorf("%s: %v", of, err)
		}
	}
}
