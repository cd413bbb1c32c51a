package place

import (
	"cmp"
	"slices"
)

// searcher looks for a plan of at most a given height, depth first. It follows
// MiniMalloc (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for
// Hardware-Accelerated Machine Learning", ASPLOS 2023):
//
//   - Buffers are placed in the order of their offsets, each as low as those
//     before it allow (canonical solutions). In any solution buffers can fall until
//     each lies on another or at 0, so none is lost.
//   - No buffer is placed above the end that another could have: that one would
//     come first (dominance).
//   - Where no buffer that is left crosses a time, the two sides are independent
//     (decomposition).
//
// Three things are different. The bound on a section is that of jobs with release
// times on one machine, which is stronger, see [searcher.fits]. A piece that was
// found impossible is remembered by what is in it and how low that can lie. And an
// attempt may jump back over placements that have no part in a failure (Prosser,
// "Hybrid algorithms for the constraint satisfaction problem", 1993); since the
// reasons that are kept for it leave out order and dominance, such an attempt may miss
// solutions.
type searcher struct {
	bufs  []section
	n     int // sections
	limit int64
	left  int64 // work
	jump  bool

	rank   []int32 // of a buffer: what is preferred has a lower one
	at     []int64 // offset of what is placed
	under  []int32 // what it lies on, or -1
	why    set     // after a failure: the placements of which one must change
	failed map[uint64]set
	levels []level // by depth
	sum    []int64 // by section, for fits
	cover  []int32 // by section, for cuts
}

// level is memory of one depth, used again and again.
type level struct {
	next, up []item
	why      set
}

// item is a buffer that is not placed, and how low it can lie.
type item struct {
	min   int64
	id    int32
	under int32 // what it would lie on there, or -1
}

// set is a set of buffers.
type set []uint64

func (a set) add(i int32)      { a[i>>6] |= 1 << (i & 63) }
func (a set) has(i int32) bool { return a[i>>6]>>(i&63)&1 != 0 }
func (a set) drop(i int32)     { a[i>>6] &^= 1 << (i & 63) }

func (a set) union(b set) {
	for i, w := range b {
		a[i] |= w
	}
}

type verdict int8

const (
	impossible verdict = iota
	solved
	outOfWork
)

func newSearcher(bufs []Buffer) *searcher {
	s := &searcher{rank: make([]int32, len(bufs)), at: make([]int64, len(bufs)), under: make([]int32, len(bufs)), failed: map[uint64]set{}}
	s.bufs, s.n = sections(bufs)
	s.why = s.set()
	s.sum, s.cover = make([]int64, s.n), make([]int32, s.n)
	s.levels = make([]level, len(bufs)+1)
	return s
}

func (s *searcher) set() set { return make(set, (len(s.bufs)+63)/64) }

// attempt looks for a plan with so much work, which left tells the rest of.
func (s *searcher) attempt(order []int32, work int64, jump bool) verdict {
	all := make([]item, len(order))
	for r, id := range order {
		s.rank[id] = int32(r)
		all[r] = item{0, id, -1}
	}
	clear(s.failed)
	clear(s.why)
	s.left, s.jump = work, jump
	return s.pieces(all, 0)
}

// place tries every buffer that can come next, after last; left is sorted by min
// and rank.
func (s *searcher) place(left []item, last item, depth int) verdict {
	switch {
	case len(left) == 0:
		return solved
	case s.left <= 0:
		return outOfWork
	case !s.fits(left, last):
		return impossible
	}
	lowest := s.limit + 1 // of the ends that are possible
	for _, x := range left {
		lowest = min(lowest, x.min+s.bufs[x.id].size)
	}
	l := &s.levels[depth]
	if l.why == nil {
		l.why = s.set()
	}
	clear(l.why)
	var before *item
	for i := range left {
		x := &left[i]
		if x.min >= lowest {
			break
		}
		if x.min < last.min || x.min == last.min && last.id >= 0 && s.rank[x.id] < s.rank[last.id] {
			continue // it would have come before
		}
		if before != nil && before.min == x.min && s.bufs[before.id] == s.bufs[x.id] {
			continue // as the one before
		}
		before = x
		s.at[x.id], s.under[x.id] = x.min, x.under
		next, hat := s.raise(left, i, l)
		var v verdict
		if s.parts(next, s.bufs[x.id]) {
			v = s.pieces(next, depth+1)
		} else {
			v = s.place(next, *x, depth+1)
		}
		if v != impossible || !hat || s.jump && !s.why.has(x.id) {
			return v
		}
		l.why.union(s.why)
		l.why.drop(x.id)
	}
	copy(s.why, l.why)
	return impossible
}

// raise is left without its item i, which is placed, on which others now must
// lie; hat says whether there are such.
func (s *searcher) raise(left []item, i int, l *level) (next []item, hat bool) {
	x := left[i]
	b := s.bufs[x.id]
	end := x.min + b.size
	next, up := l.next[:0], l.up[:0]
	for j, y := range left {
		switch c := &s.bufs[y.id]; {
		case j == i:
		case c.hi <= b.lo || b.hi <= c.lo:
			next = append(next, y)
		default:
			if hat = true; y.min < end {
				up = append(up, item{end, y.id, x.id})
			} else {
				next = append(next, y)
			}
		}
	}
	slices.SortFunc(up, func(a, b item) int { return cmp.Compare(s.rank[a.id], s.rank[b.id]) })
	// Merge the two, from their ends.
	n := len(next)
	next = append(next, up...)
	for k, u := len(next)-1, len(up)-1; u >= 0; k-- {
		if n > 0 && s.after(next[n-1], up[u]) {
			next[k] = next[n-1]
			n--
		} else {
			next[k] = up[u]
			u--
		}
	}
	l.next, l.up = next, up
	return next, hat
}

func (s *searcher) after(a, b item) bool {
	return a.min > b.min || a.min == b.min && s.rank[a.id] > s.rank[b.id]
}

// fits reports whether, in each section, what is left can lie above where it
// must: what lies at r or above takes the sum of its bytes from there on.
func (s *searcher) fits(left []item, last item) bool {
	clear(s.sum)
	s.left -= int64(len(left) + s.n/4)
	for i := len(left) - 1; i >= 0; i-- {
		x := left[i]
		b := &s.bufs[x.id]
		room := s.limit - max(x.min, last.min)
		s.left -= b.width()
		sum := s.sum[b.lo:b.hi]
		for t, above := range sum {
			above += b.size
			if sum[t] = above; above > room {
				s.explain(left[i:], b.lo+int32(t), last)
				return false
			}
		}
	}
	return true
}

// explain says why what is left does not fit at a section: because of that on
// which it lies, down to the ground, and because the lower places are over.
func (s *searcher) explain(left []item, t int32, last item) {
	clear(s.why)
	for _, y := range left {
		if b := &s.bufs[y.id]; t < b.lo || b.hi <= t {
			continue
		}
		for p := y.under; p >= 0 && !s.why.has(p); p = s.under[p] {
			s.why.add(p)
		}
	}
	if last.min > left[0].min {
		s.why.add(last.id)
	}
}
