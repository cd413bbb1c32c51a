package program

import (
	"slices"
	"sort"
)

// spanSet is bytes of one memory: spans that do not touch one another, by lo. It
// answers in logarithmic time whether a span meets it, so that any number of
// instructions may be between two waits.
type spanSet []span

// after is the first span of x that ends behind at.
func (x spanSet) after(at int64) int {
	return sort.Search(len(x), func(i int) bool { return x[i].hi > at })
}

func (x spanSet) meets(s span) bool {
	i := x.after(s.lo)
	return i < len(x) && x[i].lo < s.hi
}

// add joins s with the spans that it meets or touches.
func (x *spanSet) add(s span) {
	if s.lo >= s.hi {
		return
	}
	i := x.after(s.lo - 1)
	j := i
	for ; j < len(*x) && (*x)[j].lo <= s.hi; j++ {
		s.lo, s.hi = min(s.lo, (*x)[j].lo), max(s.hi, (*x)[j].hi)
	}
	*x = slices.Replace(*x, i, j, s)
}
