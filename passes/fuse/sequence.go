package fuse

import (
	"cmp"
	"slices"
)

// sequence is an order of the groups in which each comes after those that it
// depends on, kept as groups are made and merged (Pearce and Kelly, "A Dynamic
// Topological Sort Algorithm for Directed Acyclic Graphs", 2006; Dietz and
// Sleator, "Two Algorithms for Maintaining Order in a List", 1987, for the ranks).
// Who looks for a path into a group need not look before where it begins. When a
// backward operation joins a forward group, only that on which it depends beside
// that group moves, which that search went through anyway, and not all that
// depends on the group.
type sequence struct{ first, last *group }

const rankGap = 1 << 32

// push makes g the last.
func (s *sequence) push(g *group) {
	g.prev, g.next = s.last, nil
	if s.last == nil {
		s.first, s.last = g, g
		return
	}
	g.rank = s.last.rank + rankGap
	s.last.next, s.last = g, g
}

func (s *sequence) remove(g *group) {
	if g.prev == nil {
		s.first = g.next
	} else {
		g.prev.next = g.next
	}
	if g.next == nil {
		s.last = g.prev
	} else {
		g.next.prev = g.prev
	}
}

// replace puts g, which is not in the sequence, where old is.
func (s *sequence) replace(old, g *group) {
	g.rank, g.prev, g.next = old.rank, old.prev, old.next
	if g.prev == nil {
		s.first = g
	} else {
		g.prev.next = g
	}
	if g.next == nil {
		s.last = g
	} else {
		g.next.prev = g
	}
}

// before moves groups to just before g, in the order that they have.
func (s *sequence) before(g *group, moved []*group) {
	slices.SortFunc(moved, func(a, b *group) int { return cmp.Compare(a.rank, b.rank) })
	for _, m := range moved {
		s.remove(m)
	}
	lo := g.rank - rankGap*int64(len(moved)+1)
	if g.prev != nil {
		lo = g.prev.rank
	}
	step := (g.rank - lo) / int64(len(moved)+1)
	for n, m := range moved {
		m.rank = lo + step*int64(n+1)
		m.prev, m.next = g.prev, g
		if g.prev == nil {
			s.first = m
		} else {
			g.prev.next = m
		}
		g.prev = m
	}
	if step > 0 {
		return
	}
	rank := int64(0) // no room: all get new ranks, which takes many moves to one place
	for m := s.first; m != nil; m = m.next {
		m.rank = rank
		rank += rankGap
	}
}

// join puts to, which is a or b, where their union can be. others are the groups
// between them that b depends on; a is read by others than b if kept.
func (s *sequence) join(a, b, to *group, others []*group, kept bool) {
	place, gone := b, a
	if kept {
		place, gone = a, b
		s.before(a, others)
	}
	s.remove(gone)
	if to != place {
		s.replace(place, to)
	}
}
