package place

import (
	"cmp"
	"slices"
	"sort"
)

// many is from how many buffers on the quick plan is that of [inTurn] alone:
// the others take time that grows with the square.
const many = 1 << 15

// orders are those in which first-fit is tried (Pisarchyk and Lee, "Efficient
// Memory Management for Deep Neural Net Inference", 2020: greedy by size).
var orders = []func(a, b Buffer) int{
	func(a, b Buffer) int { return cmp.Compare(b.Size, a.Size) },
	func(a, b Buffer) int { return cmp.Compare(b.area(), a.area()) },
	func(a, b Buffer) int { return cmp.Compare(b.Hi-b.Lo, a.Hi-a.Lo) },
	func(a, b Buffer) int { return cmp.Compare(a.Lo, b.Lo) },
}

func (b Buffer) area() float64 { return float64(b.Size) * float64(b.Hi-b.Lo) }

// firstFits is the best plan of first-fit in several orders, up to the first
// that meets the goal.
func firstFits(bufs []Buffer, goal int64) (best []int64, least, work int64) {
	if len(bufs) > many {
		best = inTurn(bufs)
		return best, height(bufs, best), int64(len(bufs))
	}
	fit := firstFit
	if len(bufs) > searchable && usual(bufs) {
		fit = firstFitByTree
	}
	order := make([]int, len(bufs))
	for _, compare := range orders {
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return compare(bufs[i], bufs[j]) })
		offsets, w := fit(bufs, order)
		work += w
		if h := height(bufs, offsets); best == nil || h < least {
			best, least = offsets, h
		}
		if least <= goal {
			break
		}
	}
	return best, least, work
}

// InOrder puts each buffer, in the given order, into the lowest gap in which it fits
// among those before it: for who knows which have to be low.
func InOrder(bufs []Buffer, order []int) (offsets []int64, top int64) {
	offsets, _ = firstFit(bufs, order)
	return offsets, height(bufs, offsets)
}

// firstFit puts each buffer, in the given order, into the lowest gap, among
// those placed before it that are in use at the same time, in which it fits. It looks
// at all of those in turn, which is quickest for few buffers; the search counts this
// work as its own.
func firstFit(bufs []Buffer, order []int) (offsets []int64, work int64) {
	type taken struct {
		Buffer
		at int64
	}
	offsets = make([]int64, len(bufs))
	placed := make([]taken, 0, len(bufs)) // by offset
	for _, i := range order {
		b, at, seen := bufs[i], int64(0), 0
		for n := range placed {
			o := &placed[n]
			seen++
			if !b.meets(o.Buffer) {
				continue
			}
			if o.at-at >= b.Size {
				break
			}
			at = max(at, o.at+o.Size)
		}
		work += int64(seen)
		offsets[i] = at
		n := sort.Search(len(placed), func(n int) bool { return placed[n].at > at })
		placed = slices.Insert(placed, n, taken{b, at})
	}
	return offsets, work
}

// inTurn places the buffers as they come into use, each in the smallest gap that
// holds it, as an allocator does that does not know what follows.
func inTurn(bufs []Buffer) []int64 {
	type gap struct{ lo, hi int64 }
	var gaps []gap // by lo; none touches another
	var top int64
	offsets := make([]int64, len(bufs))
	take := func(size int64) int64 {
		best := -1
		for i, g := range gaps {
			if room := g.hi - g.lo; room >= size && (best < 0 || room < gaps[best].hi-gaps[best].lo) {
				best = i
			}
		}
		if best < 0 {
			if n := len(gaps) - 1; n >= 0 && gaps[n].hi == top { // the last one grows
				top, gaps = gaps[n].lo, gaps[:n]
			}
			top += size
			return top - size
		}
		at := gaps[best].lo
		if gaps[best].lo += size; gaps[best].lo == gaps[best].hi {
			gaps = slices.Delete(gaps, best, best+1)
		}
		return at
	}
	free := func(lo, hi int64) {
		i := sort.Search(len(gaps), func(i int) bool { return gaps[i].lo > lo })
		if i < len(gaps) && gaps[i].lo == hi {
			hi = gaps[i].hi
			gaps = slices.Delete(gaps, i, i+1)
		}
		if i > 0 && gaps[i-1].hi == lo {
			gaps[i-1].hi = hi
			return
		}
		gaps = slices.Insert(gaps, i, gap{lo, hi})
	}
	for _, e := range events(bufs) {
		b := bufs[e.id]
		switch {
		case b.Size == 0:
		case e.end:
			free(offsets[e.id], offsets[e.id]+b.Size)
		default:
			offsets[e.id] = take(b.Size)
		}
	}
	return offsets
}
