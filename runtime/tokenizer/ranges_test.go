package tokenizer

import (
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/rivo/uniseg"
)

// TestRanges: the bytes that each token is of are those that the library tokenizers
// names; bench/tokenizers/ranges.py writes them.
func TestRanges(t *testing.T) {
	all := map[string][][]int{}
	readJSON(t, "ranges.json", &all)
	if len(all) < 6 {
		t.Fatalf("only %d tokenizers", len(all))
	}
	moved := 0
	for name, want := range all {
		k := openT(t, name)
		for i, text := range documents(t) {
			if !utf8.Valid(text) { // the library counts what stands for broken bytes
				continue
			}
			ids, ranges, err := k.EncodeRanges(text)
			if errors.Is(err, errMoved) {
				moved++
				continue
			}
			if err != nil {
				t.Fatalf("%s: document %d: %v", name, i, err)
			}
			plain, _ := k.Encode(text)
			if d := cmp.Diff(plain, ids, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: document %d: other tokens: %s", name, i, d)
			}
			var got []int
			for _, r := range ranges {
				got = append(got, r.From, r.To)
			}
			widen(string(text), got)
			widen(string(text), want[i])
			if d := cmp.Diff(want[i], got, cmpopts.EquateEmpty()); d != "" {
				t.Errorf("%s: document %d %q: %s", name, i, text, d)
			}
		}
	}
	if moved > 3 { // white space of several kinds becomes spaces, and then one
		t.Errorf("%d documents cannot be followed", moved)
	}
}

// widen makes ranges of whole clusters of what a normal form composes: there the
// library tells apart a base and its marks, and EncodeRanges does not.
func widen(text string, ranges []int) {
	state, rest := -1, text
	for rest != "" {
		from := len(text) - len(rest)
		var c string
		c, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if nfc(c) == c && nfd(c) == c {
			continue
		}
		for i := 0; i < len(ranges); i += 2 {
			if ranges[i] > from && ranges[i] < from+len(c) {
				ranges[i] = from
			}
			if ranges[i+1] > from && ranges[i+1] < from+len(c) {
				ranges[i+1] = from + len(c)
			}
		}
	}
}
