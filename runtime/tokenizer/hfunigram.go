package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
)

// unigram takes the tokens whose probabilities have the largest product. Kudo,
// "Subword regularization" (2018), section 3.1.
type unigram struct {
	vocab  map[string]int32
	scores []float64
	trie   *trie
	unk    int32 // -1: none
	worst  float64
	bytes  bool
}

// unkPenalty is what an unknown character costs below the worst token.
const unkPenalty = 10

func parseUnigram(raw json.RawMessage) (*unigram, error) {
	var c struct {
		Vocab        [][2]json.RawMessage `json:"vocab"`
		Unk          *int32               `json:"unk_id"`
		ByteFallback bool                 `json:"byte_fallback"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, fmt.Errorf("its model is not read: %w", err)
	}
	u := &unigram{vocab: map[string]int32{}, trie: newTrie(), unk: -1, worst: math.Inf(1), bytes: c.ByteFallback}
	for i, v := range c.Vocab {
		var s string
		var score float64
		if json.Unmarshal(v[0], &s) != nil || !readScore(v[1], &score) {
			return nil, fmt.Errorf("its token %d is not a pair of text and number", i)
		}
		u.vocab[s] = int32(i)
		u.trie.add(s, int32(i))
		u.scores, u.worst = append(u.scores, score), min(u.worst, score)
	}
	if c.Unk != nil {
		if *c.Unk < 0 || int(*c.Unk) >= len(c.Vocab) {
			return nil, fmt.Errorf("its unk_id is %d, but there are %d tokens", *c.Unk, len(c.Vocab))
		}
		u.unk = *c.Unk
	}
	return u, nil
}

func (u *unigram) tokens() map[string]int32 { return u.vocab }

func (u *unigram) encodeWord(word string, out []int32) ([]int32, error) {
	list, missing := bestPieces(u.trie, word, func(_ int, id int32) (float64, bool) { return u.scores[id], true }, u.unk, u.worst-unkPenalty)
	if missing >= 0 && u.unk < 0 {
		return nil, fmt.Errorf("the text has %q, which is not a token, and the tokenizer has no token for unknown text", missing)
	}
	for i, p := range list {
		if i+1 < len(list) && p.id == u.unk && list[i+1].id == u.unk { // unknown characters that follow one another are one
			list[i+1].text = p.text + list[i+1].text
			continue
		}
		id, ok := u.vocab[p.text]
		if !ok && u.bytes {
			if ids, ok := byteTokens(u.vocab, p.text); ok {
				out = append(out, ids...)
				continue
			}
		}
		if !ok {
			id = u.unk
		}
		out = append(out, id)
	}
	return out, nil
}
