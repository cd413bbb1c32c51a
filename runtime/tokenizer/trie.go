package tokenizer

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
