package tokenizer

import "container/heap"

// symbol is a piece of a word while pairs are merged.
type symbol struct {
	from, to   int // bytes of the word
	id         int32
	prev, next int // neighbours, -1 at the ends
	gone       bool
	frozen     bool // never merged
}

// pair says what two neighbours become, and how soon: the lowest rank is merged
// first, of equal ones the leftmost.
type pair struct {
	rank float64
	id   int32
}

// candidate is a merge that was possible when it was found.
type candidate struct {
	pair
	left int
}

type queue []candidate

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].rank != q[j].rank {
		return q[i].rank < q[j].rank
	}
	return q[i].left < q[j].left
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(candidate)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// link makes neighbours of symbols in order.
func link(symbols []symbol) {
	for i := range symbols {
		symbols[i].prev, symbols[i].next = i-1, i+1
	}
	if n := len(symbols); n > 0 {
		symbols[n-1].next = -1
	}
}

// merge is byte pair encoding: as long as two neighbours make a token, those of
// the lowest rank are merged. Sennrich et al., "Neural machine translation of rare
// words with subword units" (2016), section 3.2; the queue makes it n log n. A
// candidate is dropped where its place has changed since it was found.
func merge(symbols []symbol, become func(a, b *symbol) (pair, bool)) {
	var q queue
	look := func(left int) {
		if left < 0 || symbols[left].next < 0 {
			return
		}
		a, b := &symbols[left], &symbols[symbols[left].next]
		if a.frozen || b.frozen {
			return
		}
		if p, ok := become(a, b); ok {
			q = append(q, candidate{p, left})
		}
	}
	for i := range symbols {
		look(i)
	}
	heap.Init(&q)
	for len(q) > 0 {
		top := heap.Pop(&q).(candidate)
		a := &symbols[top.left]
		if a.gone || a.next < 0 {
			continue
		}
		b := &symbols[a.next]
		if p, ok := become(a, b); !ok || p.id != top.id {
			continue
		}
		a.to, a.id, b.gone, a.next = b.to, top.id, true, b.next
		if b.next >= 0 {
			symbols[b.next].prev = top.left
		}
		for _, left := range []int{a.prev, top.left} {
			n := len(q)
			if look(left); len(q) > n {
				heap.Fix(&q, n)
			}
		}
	}
}
