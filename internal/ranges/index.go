package ranges

import (
	"cmp"
	"slices"
	"sort"
)

// Span is the numbers from Lo up to and without Hi.
type Span struct{ Lo, Hi int64 }

// Meets reports whether a number is in both.
func (s Span) Meets(t Span) bool { return s.Lo < t.Hi && t.Lo < s.Hi }

// Index finds those of many spans that meet one. It holds them by their begins,
// next to the furthest end up to each: where few overlap each other, it looks at
// few that it does not find.
type Index struct {
	spans []Span
	order []int32 // of spans, by Lo
	ends  []int64 // the furthest, up to each of order
}

// NewIndex is an index of spans, which it calls by their places in the slice.
func NewIndex(spans []Span) *Index {
	x := &Index{spans: spans, order: make([]int32, len(spans)), ends: make([]int64, len(spans))}
	for i := range x.order {
		x.order[i] = int32(i)
	}
	slices.SortStableFunc(x.order, func(a, b int32) int { return cmp.Compare(spans[a].Lo, spans[b].Lo) })
	var end int64
	for n, i := range x.order {
		if n == 0 || spans[i].Hi > end {
			end = spans[i].Hi
		}
		x.ends[n] = end
	}
	return x
}

// Meeting appends to found the spans that meet s, in ascending order.
func (x *Index) Meeting(s Span, found []int) []int {
	n, first := sort.Search(len(x.ends), func(n int) bool { return x.ends[n] > s.Lo }), len(found)
	for ; n < len(x.order) && x.spans[x.order[n]].Lo < s.Hi; n++ {
		if i := x.order[n]; x.spans[i].Meets(s) {
			found = append(found, int(i))
		}
	}
	slices.Sort(found[first:])
	return found
}
