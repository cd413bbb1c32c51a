package place

import "slices"

// parts reports whether b, which was placed, held together what is left.
func (s *searcher) parts(left []item, b section) bool {
	if len(left) == 0 || b.width() < 2 {
		return false
	}
	s.left -= int64(len(left)) + b.width()
	cover := s.cover[b.lo:b.hi]
	clear(cover)
	for _, y := range left {
		if c := s.bufs[y.id]; b.meets(c) {
			cover[max(c.lo, b.lo)-b.lo]++
			cover[min(c.hi, b.hi)-1-b.lo]--
			if c.hi > b.hi {
				cover[b.hi-1-b.lo]++ // it goes on
			}
		}
	}
	var open int32
	for _, change := range cover[:len(cover)-1] {
		if open += change; open == 0 {
			return true
		}
	}
	return false
}

// pieces solves what is left after a placement, each piece alone.
func (s *searcher) pieces(left []item, depth int) verdict {
	if len(left) == 0 {
		return solved
	}
	ends := s.cuts(left)
	if len(ends) == 1 {
		return s.piece(left, depth)
	}
	var from int32
	for _, to := range ends {
		var part []item
		for _, x := range left {
			if b := &s.bufs[x.id]; from <= b.lo && b.hi <= to {
				part = append(part, x)
			}
		}
		from = to
		if len(part) == 0 {
			continue
		}
		if v := s.piece(part, depth); v != solved {
			return v
		}
	}
	return solved
}

// cuts are the sections before which what is left falls apart, the last behind
// all.
func (s *searcher) cuts(left []item) (ends []int32) {
	lo, hi := int32(s.n), int32(0)
	for _, x := range left {
		lo, hi = min(lo, s.bufs[x.id].lo), max(hi, s.bufs[x.id].hi)
	}
	s.left -= int64(2*len(left)) + int64(hi-lo)
	clear(s.cover[lo:hi])
	for _, x := range left {
		s.cover[s.bufs[x.id].lo]++
		s.cover[s.bufs[x.id].hi-1]--
	}
	var open int32
	for t := lo; t < hi; t++ {
		if open += s.cover[t]; open == 0 {
			ends = append(ends, t+1)
		}
	}
	return ends
}

// piece solves one piece from the ground, unless it is known to be impossible.
func (s *searcher) piece(left []item, depth int) verdict {
	h := uint64(len(left))
	for _, x := range left {
		h += mix(uint64(x.id)<<48 ^ uint64(x.min))
	}
	if why := s.failed[h]; why != nil {
		copy(s.why, why)
		return impossible
	}
	v := s.place(left, item{-1, -1, -1}, depth)
	if v == impossible {
		s.failed[h] = slices.Clone(s.why)
	}
	return v
}

// mix scatters bits (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
