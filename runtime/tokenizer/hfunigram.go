package tokenizer

import (
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
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

// node is the best way to a place of the text.
type node struct {
	score float64
	from  int // -1: there is none yet
	id    int32
}

func (u *unigram) encodeWord(word string, out []int32) ([]int32, error) {
	best := make([]node, len(word)+1)
	for i := range best {
		best[i].from = -1
	}
	for at, r := range word {
		size, whole := utf8.RuneLen(r), false
		offer := func(length int, id int32, score float64) {
			n := &best[at+length]
			if score += best[at].score; n.from < 0 || score > n.score {
				*n = node{score, at, id}
			}
		}
		u.trie.each(word[at:], func(length int, id int32) {
			offer(length, id, u.scores[id])
			whole = whole || length == size
		})
		if !whole {
			if u.unk < 0 {
				return nil, fmt.Errorf("the text has %q, which is not a token, and the tokenizer has no token for unknown text", r)
			}
			offer(size, u.unk, u.worst-unkPenalty)
		}
	}
	return u.backward(word, best, out), nil
}

// backward reads the best way from its end, with unknown characters that follow
// one another as one.
func (u *unigram) backward(word string, best []node, out []int32) []int32 {
	var pieces []string
	for end := len(word); end > 0; {
		n := best[end]
		start := n.from
		for n.id == u.unk && start > 0 && best[start].id == u.unk {
			start = best[start].from
		}
		pieces, end = append(pieces, word[start:end]), start
	}
	for i := len(pieces) - 1; i >= 0; i-- {
		id, ok := u.vocab[pieces[i]]
		if !ok && u.bytes {
			if ids, ok := byteTokens(u.vocab, pieces[i]); ok {
				out = append(out, ids...)
				continue
			}
		}
		if !ok {
			id = u.unk
		}
		out = append(out, id)
	}
	return out
}
