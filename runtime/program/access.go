package program

import (
	"cmp"
	"fmt"
	"slices"
)

// access is bytes of the device's own memory that an instruction reads or writes.
type access struct {
	lo, hi int64
	instr  int
	writes bool
}

// accesses are those of instructions of which none waits for another.
type accesses []access

func (u *accesses) add(instr int, spans []span, writes bool) {
	for _, s := range spans {
		if s.memory == "" && s.lo < s.hi { // only transfers, which wait, use other memories
			*u = append(*u, access{s.lo, s.hi, instr, writes})
		}
	}
}

// conflict reports an instruction that uses bytes that another writes. It goes
// through the accesses by their first bytes, so that any number of instructions may
// do without a wait.
func (u accesses) conflict() error {
	slices.SortFunc(u, func(a, b access) int {
		return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.instr, b.instr))
	})
	var reads, writes furthest
	for _, x := range u {
		y, ok := writes.other(x)
		if !ok && x.writes {
			y, ok = reads.other(x)
		}
		if ok {
			return fmt.Errorf("instruction %d does not wait for instruction %d, whose bytes from %d on it needs", max(x.instr, y.instr), min(x.instr, y.instr), x.lo)
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
	case x.instr == f.first.instr:
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
		if y.hi > x.lo && y.instr != x.instr {
			return y, true
		}
	}
	return access{}, false
}
