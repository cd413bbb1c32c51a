package tokenizer

import (
	"slices"
	"unicode/utf8"
)

// trie finds the tokens at the start of a text.
type trie struct {
	next  map[uint64]int32 // node and byte to node
	value []int32          // of each node; -1 where no token ends
	first [256]bool        // bytes that start a token
}

func newTrie() *trie { return &trie{next: map[uint64]int32{}, value: []int32{-1}} }

func (t *trie) add(key string, value int32) {
	if key == "" {
		return
	}
	node := int32(0)
	t.first[key[0]] = true
	for i := range len(key) {
		k := uint64(node)<<8 | uint64(key[i])
		n, ok := t.next[k]
		if !ok {
			n = int32(len(t.value))
			t.next[k], t.value = n, append(t.value, -1)
		}
		node = n
	}
	t.value[node] = value
}

// each calls do for every token that text starts with, shortest first.
func (t *trie) each(text string, do func(length int, value int32)) {
	if text == "" || !t.first[text[0]] {
		return
	}
	node := int32(0)
	for i := range len(text) {
		n, ok := t.next[uint64(node)<<8|uint64(text[i])]
		if !ok {
			return
		}
		if node = n; t.value[n] >= 0 {
			do(i+1, t.value[n])
		}
	}
}

// longest gives the longest token that text starts with, 0 if none.
func (t *trie) longest(text string) (length int, value int32) {
	t.each(text, func(n int, v int32) { length, value = n, v })
	return length, value
}

// textPiece is a piece of a text, and the token that it is.
type textPiece struct {
	text string
	id   int32
}

// bestPieces cuts a text into the tokens with the largest sum of scores. score is the one of a token; ok is false for
// a token that is not to be used. A character that is no token is the token unknown, with the score worst; missing is
// the first one, or -1.
func bestPieces[F float32 | float64](t *trie, text string, score func(length int, id int32) (x F, ok bool), unknown int32, worst F) (out []textPiece, missing rune) {
	type node struct { // the best way to a place of the text
		score F
		from  int // -1: there is none yet
		id    int32
	}
	best := make([]node, len(text)+1)
	for i := range best {
		best[i].from = -1
	}
	missing = -1
	for at, r := range text {
		size, whole := utf8.RuneLen(r), false
		offer := func(length int, id int32, score F) {
			n := &best[at+length]
			if score += best[at].score; n.from < 0 || score > n.score {
				*n = node{score, at, id}
			}
		}
		t.each(text[at:], func(length int, id int32) {
			if x, ok := score(length, id); ok {
				offer(length, id, x)
				whole = whole || length == size
			}
		})
		if !whole {
			offer(size, unknown, worst)
			if missing < 0 {
				missing = r
			}
		}
	}
	for end := len(text); end > 0; end = best[end].from {
		out = append(out, textPiece{text[best[end].from:end], best[end].id})
	}
	slices.Reverse(out)
	return out, missing
}
