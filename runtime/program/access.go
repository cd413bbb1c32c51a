package program

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/internal/rolled"
)

// access is bytes of the device's own memory that an instruction reads or writes.
type access struct {
	lo, hi int64
	order  int // in which instructions were issued
	at     rolled.Issue
	writes bool
}

// accesses are those of instructions of which none waits for another.
type accesses []access

func (u *accesses) add(order int, at rolled.Issue, spans []span, writes bool) {
	for _, s := range spans {
		if s.memory == "" && s.lo < s.hi { // only transfers, which wait, use other memories
			*u = append(*u, access{s.lo, s.hi, order, at, writes})
		}
	}
}

// conflict reports an instruction that uses bytes that another writes. It goes
// through the accesses by their first bytes, so that any number of instructions may
// do without a wait.
func (u accesses) conflict() error {
	slices.SortFunc(u, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.order, b.order))
	})
	var reads, writes furthest
	for _, x := range u {
		y, ok := writes.other(x)
		if !ok && x.writes {
			y, ok = reads.other(x)
		}
		if ok {
			if x.order < y.order {
				x.at, y.at = y.at, x.at
			}
			return fmt.Errorf("%s does not wait for %s, whose bytes from %d on it needs", x.at, y.at, x.lo)
		}
		if x.writes {
			writes.add(x)
		} else {
			reads.add(x)
		}
	}
	return nil
}

// furthest is the access that reaches furthest, and the one that does of all other
// instructions.
type furthest struct{ first, second access }

func (f *furthest) add(x access) {
	switch {
	case x.order == f.first.order:
		if x.hi > f.first.hi {
			f.first = x
		}
	case x.hi > f.first.hi:
		f.first, f.second = x, f.first
	case x.hi > f.second.hi:
		f.second = x
	}
}

// other is an access by another instruction than x's that reaches into x.
func (f *furthest) other(x access) (access, bool) {
	for _, y := range []access{f.first, f.second} {
		if y.hi > x.lo && y.order != x.order {
			return y, true
		}
	}
	return access{}, false
}
