package memory

import "sort"

// place gives temporaries their offsets from base up, by the best of several
// greedy orders (Pisarchyk and Lee, "Efficient Memory Management for Deep
// Neural Net Inference", 2020: greedy by size): each buffer goes to the lowest
// gap, among the placed buffers that live at the same time, in which it fits.
func place(bufs []*buffer, base int64) {
	orders := []func(a, b *buffer) bool{
		func(a, b *buffer) bool { return a.bytes > b.bytes },
		func(a, b *buffer) bool { return a.area() > b.area() },
		func(a, b *buffer) bool { return a.hi-a.lo > b.hi-b.lo },
		func(a, b *buffer) bool { return a.lo < b.lo },
	}
	best, height := []int64(nil), int64(-1)
	for _, less := range orders {
		order := append([]*buffer(nil), bufs...)
		sort.SliceStable(order, func(i, j int) bool { return less(order[i], order[j]) })
		if h := firstFit(order, base); height < 0 || h < height {
			height = h
			best = best[:0]
			for _, b := range bufs {
				best = append(best, b.offset)
			}
		}
	}
	for i, b := range bufs {
		b.offset = best[i]
	}
}

func (b *buffer) area() int64 { return b.bytes * int64(b.hi-b.lo+1) }

// firstFit places in the given order and returns the height reached.
func firstFit(order []*buffer, base int64) int64 {
	var placed []*buffer // by offset
	top := base
	for _, b := range order {
		at := base
		for _, o := range placed {
			if o.hi < b.lo || b.hi < o.lo {
				continue
			}
			if o.offset-at >= b.bytes {
				break
			}
			at = max(at, o.offset+o.bytes)
		}
		b.offset = at
		top = max(top, at+b.bytes)
		i := sort.Search(len(placed), func(i int) bool { return placed[i].offset > at })
		placed = append(placed, nil)
		copy(placed[i+1:], placed[i:])
		placed[i] = b
	}
	return top
}

// mostLive is the most bytes that are live at one time: no plan can do with
// less.
func mostLive(bufs []*buffer) int64 {
	change := map[int]int64{}
	end := 0
	for _, b := range bufs {
		change[b.lo] += b.bytes
		change[b.hi+1] -= b.bytes
		end = max(end, b.hi+1)
	}
	var live, most int64
	for i := 0; i <= end; i++ {
		live += change[i]
		most = max(most, live)
	}
	return most
}
