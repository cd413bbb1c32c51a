package data

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

// contentFact is of the text of files.
func contentFact(files []textFile) string {
	h := sha256.New()
	for _, f := range files {
		h.Write(f.hash[:])
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// nameFact is of the names and sizes of files.
func nameFact(files []textFile) string {
	h := sha256.New()
	for _, f := range files {
		fmt.Fprintf(h, "%q %d\n", f.rel, f.size)
	}
	return fmt.Sprintf("sha256:%x", h.Sum(nil))
}

// factsOf are what the fingerprint is of.
func (s *shards) factsOf(files []textFile, stores []*store, o shardOptions) []Fact {
	var tokenizers []string
	for _, st := range stores {
		if !slices.Contains(tokenizers, st.tokenizer) {
			tokenizers = append(tokenizers, st.tokenizer)
		}
	}
	return []Fact{{"tokenizer", strings.Join(tokenizers, " ")}, {"window", fmt.Sprint(s.window)}, {"predict", o.predict}, {"shuffle", fmt.Sprint(o.shuffle)},
		{"documents", fmt.Sprint(s.docs)}, {"separator", fmt.Sprint(s.sep)}, {"prompt", fmt.Sprintf("%q", o.prompt)},
		{"share held out", fmt.Sprint(o.valid)}, {"files", nameFact(files)}}
}
