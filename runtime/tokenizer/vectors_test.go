package tokenizer

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// vectors are what the libraries made of the documents; bench/tokenizers/run.sh
// --vectors writes them.
type vectors struct {
	IDs     [][]int32 `json:"ids"`
	Special [][]int32 `json:"special"`
	Text    []string  `json:"text"`
}

func readJSON(t testing.TB, name string, v any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		t.Fatal(err)
	}
}

func documents(t testing.TB) [][]byte {
	var docs [][]byte
	readJSON(t, "docs.json", &docs)
	if len(docs) < 30 {
		t.Fatalf("only %d documents", len(docs))
	}
	return docs
}

func openT(t testing.TB, name string) *Tokenizer {
	t.Helper()
	k, err := Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestVectors: the tokens of every kind are those of the libraries that define
// the formats, and so is the text of tokens.
func TestVectors(t *testing.T) {
	docs := documents(t)
	all := map[string]vectors{}
	readJSON(t, "vectors.json", &all)
	if len(all) < 9 {
		t.Fatalf("only %d tokenizers", len(all))
	}
	for name, want := range all {
		k := openT(t, name)
		for i, text := range docs {
			got, err := k.Encode(text)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.IDs[i], got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: document %d %q: %s", name, i, text, d)
			}
			for _, id := range got {
				if id < 0 || int(id) >= k.Vocab() {
					t.Fatalf("%s: token %d of %d", name, id, k.Vocab())
				}
			}
			if i < len(want.Special) {
				got, _ := k.EncodeSpecial(text)
				if d := cmp.Diff(want.Special[i], got, cmpopts.EquateEmpty()); d != "" {
					t.Errorf("%s: document %d with special tokens: %s", name, i, d)
				}
			}
			if said := k.Decode(want.IDs[i]); i < len(want.Text) && utf8.Valid(said) {
				if d := cmp.Diff(want.Text[i], string(said)); d != "" {
					t.Errorf("%s: text of document %d: %s", name, i, d)
				}
			}
		}
	}
}

// TestStream: tokens decoded one by one give the same text, in whole characters.
func TestStream(t *testing.T) {
	all := map[string]vectors{}
	readJSON(t, "vectors.json", &all)
	for name, v := range all {
		k := openT(t, name)
		for i, ids := range v.IDs {
			s := k.Stream()
			var got []byte
			for _, id := range ids {
				part := s.Next(id)
				if n := incomplete(part); n > 0 {
					t.Fatalf("%s: document %d: %q ends within a character", name, i, part)
				}
				got = append(got, part...)
			}
			got = append(got, s.Rest()...)
			if d := cmp.Diff(string(k.Decode(ids)), string(got)); d != "" {
				t.Errorf("%s: document %d: %s", name, i, d)
			}
		}
	}
}

// TestValidText: broken UTF-8 becomes what Python's errors="replace" makes of it.
func TestValidText(t *testing.T) {
	for in, want := range map[string]string{
		"a\xffb": "a\ufffdb", "\xe2\x82": "\ufffd", "\xe2\x82x": "\ufffdx", "\xf0\x9f\x98": "\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd",
		"\xc0\x80": "\ufffd\ufffd", "\xf4\x90\x80\x80": "\ufffd\ufffd\ufffd\ufffd", "\xf0\x80": "\ufffd\ufffd", "é\xc3": "é\ufffd", "\xe0\x9f": "\ufffd\ufffd",
	} {
		if got := validText([]byte(in)); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestNormalForms: text with more marks than the library takes at once is what the
// definition says: one character, marks in order, nothing put between them.
func TestNormalForms(t *testing.T) {
	marks := strings.Repeat("\u0301", 40) + strings.Repeat("\u0323", 40)
	want := "\u1ea1" + strings.Repeat("\u0323", 39) + strings.Repeat("\u0301", 40)
	if d := cmp.Diff(want, nfc("a"+marks)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff("a"+strings.Repeat("\u0323", 40)+strings.Repeat("\u0301", 40), nfd("a"+marks)); d != "" {
		t.Error(d)
	}
	if got := nfkc("ﬁ ① Å"); got != "fi 1 Å" {
		t.Errorf("%q", got)
	}
}

// TestErrors: what is not known here is an error, and says what.
func TestErrors(t *testing.T) {
	ranks := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(base64.StdEncoding.EncodeToString([]byte{byte(i)}) + " " + string(rune('0'+i%10)) + "\n")
		}
		return b.String()
	}
	for want, in := range map[string]string{
		"it has no model":              `{"added_tokens": []}`,
		`its model "X" is not known`:   `{"model": {"type": "X"}}`,
		"dropout":                      `{"model": {"type": "BPE", "dropout": 0.1, "vocab": {"a": 0}, "merges": []}}`,
		"is not of tokens":             `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}`,
		"has the number -1":            `{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}`,
		"must be from 0 to":            `{"model": {"type": "BPE", "vocab": {"a": 99999999}, "merges": []}}`,
		"it has no tokens":             `{"model": {"type": "BPE", "vocab": {}, "merges": []}}`,
		`"UnicodeScripts" is not`:      `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "UnicodeScripts"}}`,
		`its group "(?<name>`:          `{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "(?<name>a)"}}}`,
		"unk_token":                    `{"model": {"type": "WordPiece", "vocab": {"a": 0}}}`,
		"unk_id is 4":                  `{"model": {"type": "Unigram", "vocab": [["a", -1]], "unk_id": 4}}`,
		"the byte 0x14 is not a token": ranks(20),
		"which pattern splits text":    ranks(256),
		"it is none of the known":      "\x00\x01 nothing",
	} {
		if _, err := Parse("x", []byte(in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", in, err, want)
		}
	}
}

// FuzzParse: no bytes of a file, and no text, lead to more than an error.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"gpt2.json", "bert.json", "addedunigram.json", "bpe.model", "unigram.model", "cl100k.tiktoken", "llama2.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, raw, []byte("a text, 12 \xff"))
	}
	f.Fuzz(func(t *testing.T, name string, raw, text []byte) {
		k, err := Parse(name, raw)
		if err != nil {
			return
		}
		ids, err := k.EncodeSpecial(text)
		if err == nil {
			k.Decode(ids)
		}
	})
}
