package place

import (
	"cmp"
	"slices"
)

// event is the begin or the end of a buffer's use.
type event struct {
	at  int
	id  int
	end bool
}

// events are those of all buffers by time; at one time, ends come before begins.
func events(bufs []Buffer) []event {
	out := make([]event, 0, 2*len(bufs))
	for i, b := range bufs {
		out = append(out, event{b.Lo, i, false}, event{b.Hi, i, true})
	}
	slices.SortFunc(out, func(a, b event) int {
		switch {
		case a.at != b.at:
			return cmp.Compare(a.at, b.at)
		case a.end != b.end && a.end:
			return -1
		case a.end != b.end:
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	return out
}

// section is a buffer whose times are numbers of sections, [lo, hi).
type section struct {
	lo, hi int32
	size   int64
}

func (b section) meets(c section) bool { return b.lo < c.hi && c.lo < b.hi }
func (b section) width() int64         { return int64(b.hi - b.lo) }

// sections cuts the times into as few sections as tell which buffers are in use
// together: one ends where a buffer ends after another has begun. There, and
// nowhere else, are the largest sets of buffers that are in use together.
func sections(bufs []Buffer) (out []section, n int) {
	out = make([]section, len(bufs))
	begun := false // a buffer, since the last section
	for _, e := range events(bufs) {
		if !e.end {
			out[e.id] = section{lo: int32(n), size: bufs[e.id].Size}
			begun = true
			continue
		}
		if begun {
			n++
			begun = false
		}
		out[e.id].hi = int32(n)
	}
	return out, n
}

// preferences are the orders in which buffers that can lie equally low are tried:
// first the widest, those in the fullest section, or the largest.
func preferences(bufs []section, n int) [][]int32 {
	total := make([]int64, n)
	for _, b := range bufs {
		for t := b.lo; t < b.hi; t++ {
			total[t] += b.size
		}
	}
	full := make([]int64, len(bufs))
	for i, b := range bufs {
		full[i] = slices.Max(total[b.lo:b.hi])
	}
	var (
		byWidth = func(i int32) int64 { return bufs[i].width() }
		bySize  = func(i int32) int64 { return bufs[i].size }
		byArea  = func(i int32) int64 { return bufs[i].size * bufs[i].width() }
		byFull  = func(i int32) int64 { return full[i] }
	)
	var out [][]int32
	for _, keys := range [][]func(int32) int64{
		{byWidth, byArea, byFull},
		{byFull, byArea, byWidth},
		{byFull, byWidth, byArea},
		{bySize, byWidth},
		{byArea},
	} {
		order := make([]int32, len(bufs))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(i, j int32) int {
			for _, key := range keys {
				if c := cmp.Compare(key(j), key(i)); c != 0 {
					return c
				}
			}
			return 0
		})
		out = append(out, order)
	}
	return out
}
