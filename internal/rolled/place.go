package rolled

import (
	"cmp"
	"iter"
	"slices"
)

// Spread says where the instances of a value are in memory: instance k of its stack, counted as the stack
// does, is Step·(k mod Ring) bytes behind the place of the value. The zero value has all in one place. Of
// two places that instances have in turns, the value may be in the second first: then Step is less than 0.
//
// Microbatch m is MicroStep·(m mod MicroRing) bytes further on, where a task leaves the value to another
// one. A ring of 1 is one place that all microbatches have, one after the other; if MicroRing is 0,
// no other task reads the value.
type Spread struct {
	Step      int64
	Ring      int
	MicroStep int64
	MicroRing int
}

// Of is the distance of instance k for microbatch m in bytes.
func (s Spread) Of(k, m int) (bytes int64) {
	if s.Ring > 0 {
		bytes = s.Step * int64(k%s.Ring)
	}
	if s.MicroRing > 0 {
		bytes += s.MicroStep * int64(m%s.MicroRing)
	}
	return bytes
}

// Width is the distance from the first place of microbatches to the last.
func (s Spread) Width() int64 { return s.MicroStep * int64(max(s.MicroRing, 1)-1) }

// Micro is the part of the spread that is of microbatches.
func (s Spread) Micro() Spread { return Spread{MicroStep: s.MicroStep, MicroRing: s.MicroRing} }

// Place is where a value is: instance 0 for microbatch 0 at At, and the others as the spread says.
type Place struct {
	At int64
	Spread
}

// Of is the place of instance k for microbatch m.
func (p Place) Of(k, m int) int64 { return p.At + p.Spread.Of(k, m) }

// Ends are where the places of count instances for microbatch 0 begin, each of so many bytes, and where
// they end.
func (p Place) Ends(bytes int64, count int) (lo, hi int64) {
	last := p.At + p.Step*int64(max(1, min(p.Ring, count))-1)
	return min(p.At, last), max(p.At, last) + bytes
}

// period is after how many instances of count the places come again; 1 where they do not.
func (p Place) period(count int) int {
	if p.Ring > 0 && p.Ring < count {
		return p.Ring
	}
	return 1
}

// Hull is a range of bytes of a memory in which the instances of a value have their places. Moves says how
// the value moves from instance to instance, or from microbatch to microbatch, as far as that matters to who
// asks; ID is the caller's.
type Hull[M cmp.Ordered] struct {
	Memory M
	Lo, Hi int64
	Moves  Spread
	ID     int
}

// Groups yields the hulls that meet one another, in a chain, in the order of their places.
func Groups[M cmp.Ordered](hulls []Hull[M]) iter.Seq[[]Hull[M]] {
	slices.SortStableFunc(hulls, func(a, b Hull[M]) int { return cmp.Or(cmp.Compare(a.Memory, b.Memory), cmp.Compare(a.Lo, b.Lo)) })
	return func(yield func([]Hull[M]) bool) {
		for i := 0; i < len(hulls); {
			end, j := hulls[i].Hi, i+1
			for j < len(hulls) && hulls[j].Memory == hulls[i].Memory && hulls[j].Lo < end {
				end = max(end, hulls[j].Hi)
				j++
			}
			if !yield(hulls[i:j]) {
				return
			}
			i = j
		}
	}
}

// Alike reports whether all hulls that meet one another move in one way. Whether two instances of two of
// them meet then depends on how far apart these are, or on their numbers in a ring.
func Alike[M cmp.Ordered](hulls []Hull[M]) bool {
	for group := range Groups(hulls) {
		if slices.ContainsFunc(group[1:], func(h Hull[M]) bool { return h.Moves != group[0].Moves }) {
			return false
		}
	}
	return true
}
