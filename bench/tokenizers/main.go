package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"ptc/runtime/tokenizer"
)

// vectors are what a library made of the documents with one tokenizer.
type vectors struct {
	IDs     [][]int32 `json:"ids"`
	Special [][]int32 `json:"special"`
	Text    []string  `json:"text"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tokenizers DIR")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "tokenizers:", err)
		os.Exit(1)
	}
}

func read(path string, v any) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}

// check compares every tokenizer of the folder, and fails if one differs.
func check(dir string) error {
	var docs []string
	all := map[string]vectors{}
	if err := read(filepath.Join(dir, "docs.json"), &docs); err != nil {
		return err
	}
	if err := read(filepath.Join(dir, "vectors.json"), &all); err != nil {
		return err
	}
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t, err := tokenizer.Open(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		n, err := compare(name, t, docs, all[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		wrong += n
	}
	if wrong > 0 {
		return fmt.Errorf("%d differences", wrong)
	}
	return nil
}

// compare counts the documents of which tokens or text differ, and shows the first.
func compare(name string, t *tokenizer.Tokenizer, docs []string, want vectors) (wrong int, err error) {
	tokens, texts := 0, 0
	for i, d := range docs {
		text, err := base64.StdEncoding.DecodeString(d)
		if err != nil {
			return 0, err
		}
		got, err := t.Encode(text)
		if err != nil {
			return 0, err
		}
		tokens += len(got)
		ok := slices.Equal(got, want.IDs[i])
		if !ok && wrong < 2 {
			show(name, i, text, got, want.IDs[i], t)
		}
		if i < len(want.Special) {
			if got, _ := t.EncodeSpecial(text); !slices.Equal(got, want.Special[i]) {
				ok = false
				fmt.Printf("%s: document %d: with special tokens %v, want %v\n", name, i, got, want.Special[i])
			}
		}
		// Where bytes make no character the library puts marks; ours stay.
		if said := t.Decode(want.IDs[i]); i < len(want.Text) && utf8.Valid(said) && !strings.Contains(want.Text[i], "\uFFFD") {
			if texts++; string(said) != want.Text[i] {
				if wrong < 2 {
					fmt.Printf("%s: document %d: text\n  %q, want\n  %q\n", name, i, said, want.Text[i])
				}
				ok = false
			}
		}
		if !ok {
			wrong++
		}
	}
	fmt.Printf("%-22s %-28s %5d documents, %8d tokens, %5d texts: %d differ\n", name, t.Kind(), len(docs), tokens, texts, wrong)
	return wrong, nil
}

// show prints where two lists of tokens part.
func show(name string, i int, text []byte, got, want []int32, t *tokenizer.Tokenizer) {
	k := 0
	for k < min(len(got), len(want)) && got[k] == want[k] {
		k++
	}
	tail := func(ids []int32) []int32 { return ids[min(k, len(ids)):min(k+6, len(ids))] }
	fmt.Printf("%s: document %d from token %d: %v %q, want %v %q, of %.300q\n", name, i, k, tail(got), t.Decode(tail(got)), tail(want), t.Decode(tail(want)), text)
}
