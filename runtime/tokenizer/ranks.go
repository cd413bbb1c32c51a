package tokenizer

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
)

// encoding is what tiktoken knows of a file of ranks, which does not say it
// itself: the pattern that cuts text, and special tokens.
// github.com/openai/tiktoken, tiktoken_ext/openai_public.py.
type encoding struct {
	name    string
	ranks   int // how many the published file has; 0 where that does not tell
	pattern string
	special map[string]int32
}

const (
	gpt2Pattern   = `'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s`
	cl100kPattern = `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`
	o200kPattern  = `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?` +
		`|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

var encodings = []encoding{
	{"o200k", 199998, o200kPattern, map[string]int32{"<|endoftext|>": 199999, "<|endofprompt|>": 200018}},
	{"cl100k", 100256, cl100kPattern, map[string]int32{"<|endoftext|>": 100257, "<|fim_prefix|>": 100258,
		"<|fim_middle|>": 100259, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}},
	{"p50k", 50280, gpt2Pattern, map[string]int32{"<|endoftext|>": 50256}},
	{"r50k", 50256, gpt2Pattern, map[string]int32{"<|endoftext|>": 50256}},
	{"gpt2", 0, gpt2Pattern, map[string]int32{"<|endoftext|>": 50256}},
}

// looksLikeRanks: the first line is a token in base64 and a number.
func looksLikeRanks(raw []byte) bool {
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	token, rank, ok := strings.Cut(strings.TrimRight(string(line[:min(len(line), 4096)]), "\r"), " ")
	if !ok {
		return false
	}
	if _, err := base64.StdEncoding.DecodeString(token); err != nil {
		return false
	}
	_, err := strconv.ParseUint(rank, 10, 31)
	return err == nil
}

func parseRanks(name string, raw []byte) (*Tokenizer, error) {
	ranks := map[string]int32{}
	for n, line := range strings.Split(string(raw), "\n") {
		if line = strings.TrimRight(line, "\r"); line == "" {
			continue
		}
		word, number, _ := strings.Cut(line, " ")
		token, err := base64.StdEncoding.DecodeString(word)
		rank, bad := strconv.ParseUint(number, 10, 31)
		if err != nil || bad != nil || len(token) == 0 {
			return nil, fmt.Errorf("line %d is not a token in base64 with its rank", n+1)
		}
		if _, twice := ranks[string(token)]; twice {
			return nil, fmt.Errorf("line %d repeats a token", n+1)
		}
		ranks[string(token)] = int32(rank)
	}
	for b := range 256 {
		if _, ok := ranks[string([]byte{byte(b)})]; !ok {
			return nil, fmt.Errorf("the byte %#02x is not a token, so some text has no tokens", b)
		}
	}
	e, err := findEncoding(name, len(ranks))
	if err != nil {
		return nil, err
	}
	all := maps.Clone(ranks)
	special := map[int32]bool{}
	taken := map[int32]bool{}
	for _, r := range ranks {
		taken[r] = true
	}
	for s, id := range e.special {
		// The numbers are those of the published files; a smaller one has none.
		if e.ranks == len(ranks) || !taken[id] && int(id) <= len(ranks) {
			all[s], special[id] = id, true
		}
	}
	t, err := newTokenizer("tiktoken, "+e.name, all)
	if err != nil {
		return nil, err
	}
	t.special = special
	re, err := compile(e.pattern, false)
	if err != nil {
		return nil, err
	}
	t.encode = &rankEncoder{ranks: ranks, pattern: re}
	t.decode = func(t *Tokenizer, ids []int32) []byte { return []byte(strings.Join(t.texts(ids), "")) }
	return t, nil
}

func findEncoding(name string, ranks int) (*encoding, error) {
	base := filepath.Base(name)
	for i := range encodings {
		if strings.Contains(base, encodings[i].name) {
			return &encodings[i], nil
		}
	}
	for i := range encodings {
		if encodings[i].ranks == ranks {
			return &encodings[i], nil
		}
	}
	return nil, fmt.Errorf("tiktoken ranks do not say which pattern splits text; the file name must contain one of cl100k, o200k, p50k, r50k, gpt2, as in my.cl100k.tiktoken")
}

// rankEncoder merges bytes by the ranks of what they make.
type rankEncoder struct {
	ranks   map[string]int32
	pattern *pattern
}

func (e *rankEncoder) encode(text []byte) ([]int32, error) {
	s := validText(text)
	spans, err := e.pattern.find(s)
	if err != nil {
		return nil, err
	}
	out := make([]int32, 0, len(s)/3)
	for _, p := range spans {
		if !p.match { // what no pattern takes is not encoded by tiktoken either
			continue
		}
		word := s[p.from:p.to]
		if id, ok := e.ranks[word]; ok {
			out = append(out, id)
			continue
		}
		out = e.word(word, out)
	}
	return out, nil
}

func (e *rankEncoder) word(word string, out []int32) []int32 {
	symbols := make([]symbol, len(word))
	for i := range symbols {
		symbols[i] = symbol{from: i, to: i + 1, id: e.ranks[word[i:i+1]]}
	}
	link(symbols)
	merge(symbols, func(a, b *symbol) (pair, bool) {
		id, ok := e.ranks[word[a.from:b.to]]
		return pair{float64(id), id}, ok
	})
	for i := range symbols {
		if !symbols[i].gone {
			out = append(out, symbols[i].id)
		}
	}
	return out
}
