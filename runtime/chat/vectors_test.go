package chat

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ptc/runtime/tokenizer"
)

// vector is what transformers makes of a conversation by a template; nil where it, or
// the rule of prefixes, refuses.
type vector struct {
	Text, Prompt *string
	Tokens, Mask []int32
	Spans        [][2]int
}

func openTok(t testing.TB) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Open("testdata/tok")
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// TestVectors: text, tokens and masks are those of transformers, for templates of the
// published kinds; bench/chat writes the file.
func TestVectors(t *testing.T) {
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Conversations []json.RawMessage
		Templates     map[string][]vector
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Templates) < 12 || len(file.Conversations) < 10 {
		t.Fatalf("%d templates, %d conversations", len(file.Templates), len(file.Conversations))
	}
	tok, masked := openTok(t), 0
	for name, want := range file.Templates {
		page, err := Open("testdata/tok", tok, Options{File: "testdata/templates/" + name + ".jinja"})
		if err != nil {
			t.Fatal(name, err)
		}
		for i, raw := range file.Conversations {
			c, err := Parse(raw, Columns{})
			if err != nil {
				t.Fatal(i, err)
			}
			what := fmt.Sprintf("%s, conversation %d", name, i)
			prompt, _, err := page.Prompt(c)
			holdText(t, what+", prompt", want[i].Prompt, prompt, err)
			r, err := page.text(c, len(c.messages), false)
			holdText(t, what, want[i].Text, r.Text, err)
			e, err := page.Encode(c)
			if (err != nil) != (want[i].Tokens == nil) {
				t.Errorf("%s: tokens: %v; transformers has %d", what, err, len(want[i].Tokens))
			}
			if err != nil || want[i].Tokens == nil {
				continue
			}
			masked++
			if d := cmp.Diff(want[i].Tokens, e.Tokens); d != "" {
				t.Errorf("%s: tokens: %s", what, d)
			}
			_, spans, _ := page.Text(c)
			if d := cmp.Diff(want[i].Spans, spans, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: spans: %s", what, d)
			}
			mask := make([]int32, len(e.Target))
			for i, is := range e.Target {
				if is {
					mask[i] = 1
				}
			}
			if d := cmp.Diff(want[i].Mask, mask); d != "" {
				t.Errorf("%s: mask: %s", what, d)
			}
		}
	}
	if masked < 60 {
		t.Errorf("only %d masks are compared", masked)
	}
}

func holdText(t *testing.T, what string, want *string, got string, err error) {
	t.Helper()
	switch {
	case want == nil && err == nil:
		t.Errorf("%s: %q, and transformers refuses it", what, got)
	case want != nil && err != nil:
		t.Errorf("%s: %v, and transformers has %q", what, err, *want)
	case want != nil && *want != got:
		t.Errorf("%s:\n%s", what, cmp.Diff(*want, got))
	}
}
