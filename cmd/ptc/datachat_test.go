package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Conversations are prepared and shown with what is to be predicted, and a mistake in
// one is the user's, with its place.
func TestPrepareChat(t *testing.T) {
	tok, err := filepath.Abs("../../runtime/chat/testdata/tok")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "chat.jsonl", `{"talk":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]}`+"\n")
	must(t, "data", "prepare", "chat.jsonl", "--tokenizer", tok, "--messages", "talk", "-o", "out")
	var got struct {
		Examples []struct{ Tokens, Targets []int32 }
	}
	if err := json.Unmarshal([]byte(must(t, "data", "show", "out", "--examples", "5", "--json").out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Examples) != 1 || len(got.Examples[0].Tokens) != len(got.Examples[0].Targets) {
		t.Fatalf("%+v", got)
	}
	shown := must(t, "data", "show", "out", "--examples", "1", "--tokenizer", tok).out
	for _, want := range []string{`predicted "ho<|im_end|>"`, `given     "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"`} {
		if !strings.Contains(shown, want) {
			t.Errorf("%s\nlacks %s", shown, want)
		}
	}
	for want, args := range map[string][]string{
		`line 1: it has no column "messages"`: {"data", "prepare", "chat.jsonl", "--tokenizer", tok, "--messages", "messages", "-o", "other"},
		"not a date such as":                  {"data", "prepare", "chat.jsonl", "--tokenizer", tok, "--chat", "--date", "soon", "-o", "other"},
		"has no chat template":                {"data", "prepare", "chat.jsonl", "--tokenizer", filepath.Join(tok, "../../../tokenizer/testdata/gpt2.json"), "--chat", "-o", "other"},
		"--examples is from 1":                {"data", "show", "out", "--examples", "-1"},
	} {
		if r := ptc(t, args...); r.code == 0 || !strings.Contains(r.err, want) {
			t.Errorf("%v: %d, %s", args, r.code, r.err)
		}
	}
}
