package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

func parseModel(raw json.RawMessage) (name string, m model, err error) {
	var c struct {
		Type     string          `json:"type"`
		Merges   json.RawMessage `json:"merges"`
		Vocab    json.RawMessage `json:"vocab"`
		MaxChars *int            `json:"max_input_chars_per_word"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return "", nil, fmt.Errorf("its model is not read: %w", err)
	}
	if c.Type == "" { // files of the first versions
		switch {
		case c.Merges != nil:
			c.Type = "BPE"
		case c.MaxChars != nil:
			c.Type = "WordPiece"
		case len(c.Vocab) > 0 && c.Vocab[0] == '[':
			c.Type = "Unigram"
		default:
			c.Type = "WordLevel"
		}
	}
	switch c.Type {
	case "BPE":
		m, err = parseBPE(raw)
	case "WordPiece":
		m, err = parseWordPiece(raw)
	case "WordLevel":
		m, err = parseWordLevel(raw)
	case "Unigram":
		m, err = parseUnigram(raw)
	default:
		err = unknown("model", c.Type)
	}
	return c.Type, m, err
}

// bpe merges characters by a list of pairs.
type bpe struct {
	vocab        map[string]int32
	merges       map[[2]int32]pair
	unk          int32 // -1: what is no token has none
	prefix, end  string
	fuse, bytes  bool
	ignoreMerges bool
	cache        wordCache
}

func parseBPE(raw json.RawMessage) (*bpe, error) {
	var c struct {
		Vocab        map[string]int32  `json:"vocab"`
		Merges       []json.RawMessage `json:"merges"`
		Dropout      *float64          `json:"dropout"`
		Unk          *string           `json:"unk_token"`
		Prefix       string            `json:"continuing_subword_prefix"`
		End          string            `json:"end_of_word_suffix"`
		FuseUnk      bool              `json:"fuse_unk"`
		ByteFallback bool              `json:"byte_fallback"`
		IgnoreMerges bool              `json:"ignore_merges"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its model is not read: %w", err)
	}
	if c.Dropout != nil && *c.Dropout != 0 {
		return nil, errors.New("its model has a dropout, which makes tokens random; set it to null")
	}
	b := &bpe{vocab: c.Vocab, merges: make(map[[2]int32]pair, len(c.Merges)), unk: -1, prefix: c.Prefix, end: c.End,
		fuse: c.FuseUnk, bytes: c.ByteFallback, ignoreMerges: c.IgnoreMerges}
	if c.Unk != nil {
		id, ok := c.Vocab[*c.Unk]
		if !ok {
			return nil, fmt.Errorf("its unk_token %q is not a token", clip(*c.Unk))
		}
		b.unk = id
	}
	for i, raw := range c.Merges {
		left, right, err := mergePair(raw)
		if err != nil {
			return nil, fmt.Errorf("its merge %d: %w", i, err)
		}
		a, okA := c.Vocab[left]
		z, okB := c.Vocab[right]
		id, okC := c.Vocab[left+right[min(len(c.Prefix), len(right)):]]
		if !okA || !okB || !okC {
			return nil, fmt.Errorf("its merge %d, of %q and %q, is not of tokens", i, clip(left), clip(right))
		}
		b.merges[[2]int32{a, z}] = pair{float64(i), id} // of two for one pair the last counts
	}
	return b, nil
}

// mergePair reads "a b" or ["a", "b"].
func mergePair(raw json.RawMessage) (left, right string, err error) {
	var two []string
	var one string
	if json.Unmarshal(raw, &two) == nil && len(two) == 2 {
		return two[0], two[1], nil
	}
	if json.Unmarshal(raw, &one) == nil {
		if left, right, ok := strings.Cut(one, " "); ok && !strings.Contains(right, " ") {
			return left, right, nil
		}
	}
	return "", "", errors.New("it is no pair")
}

func (b *bpe) tokens() map[string]int32 { return b.vocab }

func (b *bpe) encodeWord(word string, out []int32) ([]int32, error) {
	if b.ignoreMerges {
		if id, ok := b.vocab[word]; ok {
			return append(out, id), nil
		}
	}
	if ids, ok := b.cache.get(word); ok {
		return append(out, ids...), nil
	}
	from := len(out)
	symbols := b.symbols(word)
	link(symbols)
	merge(symbols, func(x, y *symbol) (pair, bool) {
		p, ok := b.merges[[2]int32{x.id, y.id}]
		return p, ok
	})
	for i := range symbols {
		if !symbols[i].gone {
			out = append(out, symbols[i].id)
		}
	}
	b.cache.put(word, out[from:])
	return out, nil
}

// symbols are the tokens of a word's characters. Where a character is no token
// its bytes are, if all are tokens; else the unknown token, one for several such
// characters if they fuse. That one is put before the next character that is a
// token, so behind bytes that follow it, as in the reference.
func (b *bpe) symbols(word string) []symbol {
	var out []symbol
	unknown := 0
	flush := func() {
		for ; unknown > 0; unknown-- {
			out = append(out, symbol{id: b.unk})
		}
	}
	for i, r := range word {
		size := utf8.RuneLen(r)
		s := word[i : i+size]
		if i > 0 && b.prefix != "" {
			s = b.prefix + s
		}
		if i+size == len(word) && b.end != "" {
			s += b.end
		}
		if id, ok := b.vocab[s]; ok {
			flush()
			out = append(out, symbol{id: id})
			continue
		}
		if b.bytes {
			if ids, ok := byteTokens(b.vocab, s); ok {
				for _, id := range ids {
					out = append(out, symbol{id: id})
				}
				continue
			}
		}
		if b.unk >= 0 && (unknown == 0 || !b.fuse) {
			if unknown > 0 {
				flush()
			}
			unknown++
		}
	}
	flush()
	return out
}

// byteTokens are tokens of single bytes, written <0x0A>.
func byteTokens(vocab map[string]int32, s string) (ids []int32, ok bool) {
	for i := range len(s) {
		id, ok := vocab[fmt.Sprintf("<0x%02X>", s[i])]
		if !ok {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// wordCache keeps the tokens of words, most of which come again.
type wordCache struct {
	mu    sync.RWMutex
	words map[string][]int32
}

const (
	maxCached     = 1 << 16
	maxCachedWord = 64
)

func (c *wordCache) get(word string) ([]int32, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	ids, ok := c.words[word]
	return ids, ok
}

func (c *wordCache) put(word string, ids []int32) {
	if len(word) > maxCachedWord {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.words == nil {
		c.words = map[string][]int32{}
	}
	if len(c.words) < maxCached {
		c.words[strings.Clone(word)] = append([]int32(nil), ids...)
	}
}

// wordPiece takes the longest token again and again. Wu et al., "Google's neural
// machine translation system" (2016), section 4.1; as in BERT's code.
type wordPiece struct {
	vocab  map[string]int32
	unk    int32
	prefix string
	most   int
}

func parseWordPiece(raw json.RawMessage) (*wordPiece, error) {
	c := struct {
		Vocab  map[string]int32 `json:"vocab"`
		Unk    string           `json:"unk_token"`
		Prefix string           `json:"continuing_subword_prefix"`
		Most   int              `json:"max_input_chars_per_word"`
	}{Unk: "[UNK]", Prefix: "##", Most: 100}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its model is not read: %w", err)
	}
	unk, ok := c.Vocab[c.Unk]
	if !ok {
		return nil, fmt.Errorf("its unk_token %q is not a token", clip(c.Unk))
	}
	return &wordPiece{c.Vocab, unk, c.Prefix, c.Most}, nil
}

func (w *wordPiece) tokens() map[string]int32 { return w.vocab }

func (w *wordPiece) encodeWord(word string, out []int32) ([]int32, error) {
	if utf8.RuneCountInString(word) > w.most {
		return append(out, w.unk), nil
	}
	from := len(out)
	for start := 0; start < len(word); {
		end, id, ok := len(word), int32(0), false
		for end > start {
			s := word[start:end]
			if start > 0 {
				s = w.prefix + s
			}
			if id, ok = w.vocab[s]; ok {
				break
			}
			_, n := utf8.DecodeLastRuneInString(word[start:end])
			end -= n
		}
		if !ok {
			return append(out[:from], w.unk), nil
		}
		out, start = append(out, id), end
	}
	return out, nil
}

// wordLevel has a token for each word.
type wordLevel struct {
	vocab map[string]int32
	unk   int32 // -1: none
}

func parseWordLevel(raw json.RawMessage) (*wordLevel, error) {
	c := struct {
		Vocab map[string]int32 `json:"vocab"`
		Unk   string           `json:"unk_token"`
	}{Unk: "<unk>"}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its model is not read: %w", err)
	}
	w := &wordLevel{c.Vocab, -1}
	if id, ok := c.Vocab[c.Unk]; ok {
		w.unk = id
	}
	return w, nil
}

func (w *wordLevel) tokens() map[string]int32 { return w.vocab }

func (w *wordLevel) encodeWord(word string, out []int32) ([]int32, error) {
	id, ok := w.vocab[word]
	if !ok {
		if id = w.unk; id < 0 {
			return nil, fmt.Errorf("the text has the word %q, which is not a token, and the tokenizer has no token for unknown words", clip(word))
		}
	}
	return append(out, id), nil
}
