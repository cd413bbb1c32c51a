package place

import (
	"slices"
	"sort"
)

// tree finds the lowest gap for a buffer without a look at every one that was placed
// before: it is a segment tree over the sections of time, which knows of each of
// its stretches of time what bytes are taken. A buffer touches a logarithm of them.
// The bytes of a stretch are few spans, since what is placed lies close, so that in
// practice all buffers together take far less than their pairs. It is no n log n: between
// the buffers of many layers there are more gaps that are too small.
type tree struct {
	leaves int
	// whole are the bytes of buffers that are in use all through a stretch and not all
	// through the next larger one; some are those of buffers that are in use in any
	// part of it.
	whole, some []taken
	lists       []taken // of a search, each without what ends below the place so far
	work        int64
}

// taken are bytes: spans that do not touch one another, by lo.
type taken []bytes

type bytes struct{ lo, hi int64 }

// behind is the first span that ends behind at.
func (t taken) behind(at int64) int {
	return sort.Search(len(t), func(i int) bool { return t[i].hi > at })
}

// with is the spans together with one more.
func (t taken) with(s bytes) taken {
	i := t.behind(s.lo - 1) // what ends where s begins is joined
	j := i
	for ; j < len(t) && t[j].lo <= s.hi; j++ {
		s.lo, s.hi = min(s.lo, t[j].lo), max(s.hi, t[j].hi)
	}
	return slices.Replace(t, i, j, s)
}

func newTree(sections int) *tree {
	leaves := 1
	for leaves < sections {
		leaves *= 2
	}
	return &tree{leaves: leaves, whole: make([]taken, 2*leaves), some: make([]taken, 2*leaves)}
}

// visit calls part for the stretches of time that make up b, and above for those
// that hold one of them.
func (t *tree) visit(b section, part, above func(node int)) {
	var walk func(node int, lo, hi int32)
	walk = func(node int, lo, hi int32) {
		switch middle := (lo + hi) / 2; {
		case hi <= b.lo || b.hi <= lo:
		case b.lo <= lo && hi <= b.hi:
			part(node)
		default:
			above(node)
			walk(2*node, lo, middle)
			walk(2*node+1, middle, hi)
		}
	}
	walk(1, 0, int32(t.leaves))
}

// place takes the lowest bytes for b that are free all the time.
func (t *tree) place(b section) (at int64) {
	t.lists = t.lists[:0]
	t.visit(b, func(node int) { t.lists = append(t.lists, t.some[node]) }, func(node int) { t.lists = append(t.lists, t.whole[node]) })
	for still := 0; still < len(t.lists); {
		for n, list := range t.lists {
			t.work++
			still++
			if len(list) > 0 && list[0].hi <= at {
				list = list[list.behind(at):]
			}
			for len(list) > 0 && list[0].lo < at+b.size {
				at, list, still = list[0].hi, list[1:], 0
				t.work++
			}
			t.lists[n] = list
		}
	}
	s := bytes{at, at + b.size}
	t.visit(b, func(node int) {
		t.whole[node], t.some[node] = t.whole[node].with(s), t.some[node].with(s)
	}, func(node int) { t.some[node] = t.some[node].with(s) })
	return at
}

// firstFitByTree is [firstFit]: the same offsets, found in less time for many
// buffers.
func firstFitByTree(bufs []Buffer, order []int) (offsets []int64, work int64) {
	parts, n := sections(bufs)
	t := newTree(n)
	offsets = make([]int64, len(bufs))
	for _, i := range order {
		offsets[i] = t.place(parts[i])
	}
	return offsets, t.work
}

// usual reports whether every buffer has bytes and is in use for some time.
func usual(bufs []Buffer) bool {
	return !slices.ContainsFunc(bufs, func(b Buffer) bool { return b.Size <= 0 || b.Lo >= b.Hi })
}
