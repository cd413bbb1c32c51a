package place

import (
	"slices"
	"sort"
)

// Buffer is what has to be placed: Size bytes that are in use at the times
// [Lo, Hi).
type Buffer struct {
	Lo, Hi int
	Size   int64
}

func (b Buffer) meets(c Buffer) bool { return b.Lo < c.Hi && c.Lo < b.Hi }

// Effort is the default limit of the work for one problem, in visits of a buffer
// or of a section of time: about a second on a common processor. Problems
// whose first plan meets the goal cost a small part of it.
const Effort = 1 << 28

// Options change what [Place] aims for; the zero value is the default.
type Options struct {
	// Goal is a height in bytes that is low enough. The lower bound counts if
	// it is higher, since no plan is below it.
	Goal int64
	// Work limits the search; 0 stands for Effort.
	Work int64
}

// Plan is where the buffers are.
type Plan struct {
	Offsets []int64 // in bytes, by buffer
	Height  int64   // the end of the highest buffer
	Bound   int64   // the most bytes that are in use at one time: no plan is lower
	Work    int64   // that it took, in the unit of Effort
}

// Place gives every buffer an offset such that none that are in use at the same
// time overlap, and returns the lowest plan that it finds. Each offset is 0 or
// the end of another buffer, so that sizes that are multiples of an alignment
// give offsets that are. The same problem always gives the same plan: the work is
// limited by counting, and never by time.
//
// Quick plans come first, see [firstFits]. Only where none comes to within 0.4% of the
// goal, the search of [searcher] tries to meet it.
func Place(bufs []Buffer, o Options) Plan {
	p := Plan{Offsets: make([]int64, len(bufs)), Bound: Bound(bufs)}
	goal := max(o.Goal, p.Bound)
	left := o.Work
	if left == 0 {
		left = Effort
	}
	parts := independent(bufs)
	hard := make([]bool, len(parts))
	for i, ids := range parts {
		part := pick(bufs, ids)
		offsets, height, work := firstFits(part, goal)
		put(p.Offsets, ids, offsets)
		p.Work += work
		hard[i] = height > near(goal)
	}
	left -= p.Work
	for i, ids := range parts {
		if !hard[i] {
			continue
		}
		part := pick(bufs, ids)
		offsets := pick(p.Offsets, ids)
		work := improve(part, offsets, goal, left)
		put(p.Offsets, ids, offsets)
		p.Work += work
		left -= work
	}
	p.Height = height(bufs, p.Offsets)
	return p
}

// near is a height that is as good as the goal: a search takes longer the closer to it
// a plan is already.
func near(goal int64) int64 { return goal + goal>>8 }

// Bound is the most bytes that are in use at one time.
func Bound(bufs []Buffer) int64 {
	type change struct {
		at   int
		size int64
	}
	changes := make([]change, 0, 2*len(bufs))
	for _, b := range bufs {
		if b.Lo < b.Hi {
			changes = append(changes, change{b.Lo, b.Size}, change{b.Hi, -b.Size})
		}
	}
	sort.Slice(changes, func(i, j int) bool {
		a, b := changes[i], changes[j]
		return a.at < b.at || a.at == b.at && a.size < b.size // what ends makes room for what begins
	})
	var live, most int64
	for _, c := range changes {
		live += c.size
		most = max(most, live)
	}
	return most
}

// independent groups the buffers by stretches of time that none crosses into
// another; the numbers in each group ascend.
func independent(bufs []Buffer) [][]int {
	order := make([]int, len(bufs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return bufs[a].Lo - bufs[b].Lo })
	var out [][]int
	end := 0
	for n, i := range order {
		if n == 0 || bufs[i].Lo >= end {
			out = append(out, nil)
			end = bufs[i].Hi
		}
		end = max(end, bufs[i].Hi)
		out[len(out)-1] = append(out[len(out)-1], i)
	}
	for _, ids := range out {
		slices.Sort(ids)
	}
	return out
}

func pick[T any](all []T, ids []int) []T {
	out := make([]T, len(ids))
	for i, id := range ids {
		out[i] = all[id]
	}
	return out
}

func put[T any](all []T, ids []int, values []T) {
	for i, id := range ids {
		all[id] = values[i]
	}
}

func height(bufs []Buffer, offsets []int64) int64 {
	var h int64
	for i, b := range bufs {
		h = max(h, offsets[i]+b.Size)
	}
	return h
}
