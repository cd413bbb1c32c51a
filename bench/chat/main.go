package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ptc/runtime/chat"
	"ptc/runtime/tokenizer"
)

// vector is what transformers makes of a conversation by a template.
type vector struct {
	Text, Prompt *string
	Tokens, Mask []int32
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: chat VECTORS TEMPLATES")
		os.Exit(2)
	}
	bad, err := compare(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

func compare(dir, templates string) (bad int, err error) {
	var file struct {
		Conversations []json.RawMessage
		Templates     map[string][]vector
	}
	raw, err := os.ReadFile(filepath.Join(dir, "vectors.json"))
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return 0, err
	}
	tok, err := tokenizer.Open(filepath.Join(dir, "tok"))
	if err != nil {
		return 0, err
	}
	for _, name := range slices.Sorted(maps.Keys(file.Templates)) {
		page, err := chat.Open(filepath.Join(dir, "tok"), tok, chat.Options{Now: time.Now(), File: filepath.Join(templates, name+".jinja")})
		if err != nil {
			fmt.Printf("%-40s %v\n", name, err)
			if slices.ContainsFunc(file.Templates[name], func(v vector) bool { return v.Text != nil }) {
				bad++
			}
			continue
		}
		texts, masks, wrong := 0, 0, 0
		for i, raw := range file.Conversations {
			t, m, why := one(page, raw, file.Templates[name][i])
			texts, masks = texts+t, masks+m
			if why != "" {
				if wrong++; wrong <= 3 {
					fmt.Printf("%-40s conversation %d: %s\n", name, i, why)
				}
			}
		}
		fmt.Printf("%-40s %d texts and %d masks, %d differ\n", name, texts, masks, wrong)
		bad += wrong
	}
	return bad, nil
}

// one compares a conversation's texts, tokens and mask, and counts what there was.
func one(page *chat.Template, raw []byte, want vector) (texts, masks int, why string) {
	c, err := chat.Parse(raw, chat.Columns{})
	if err != nil {
		return 0, 0, err.Error()
	}
	prompt, _, err := page.Prompt(c)
	if want.Prompt != nil {
		texts++
	}
	if (err == nil) != (want.Prompt != nil) || err == nil && prompt != *want.Prompt {
		return texts, 0, fmt.Sprintf("as a prompt it is %q (%v), and %s", prompt, err, quoted(want.Prompt))
	}
	text, _, _ := page.Text(c)
	e, err := page.Encode(c)
	if (err == nil) != (want.Tokens != nil) {
		return texts, 0, fmt.Sprintf("%q (%v), and %s with %d tokens", text, err, quoted(want.Text), len(want.Tokens))
	}
	if err != nil {
		return texts, 0, ""
	}
	texts, masks = texts+1, 1
	mask := make([]int32, len(e.Target))
	for i, is := range e.Target {
		if is {
			mask[i] = 1
		}
	}
	switch {
	case text != *want.Text:
		why = fmt.Sprintf("%q, and %s", text, quoted(want.Text))
	case !slices.Equal(e.Tokens, want.Tokens):
		why = "other tokens"
	case !slices.Equal(mask, want.Mask):
		why = "another mask"
	}
	return texts, masks, why
}

func quoted(s *string) string {
	if s == nil {
		return "transformers refuses it"
	}
	return fmt.Sprintf("transformers has %q", *s)
}
