package emu

import (
	"fmt"
	"math/bits"
)

// shadow finds races in shared memory: two accesses to a word, one of them a write, between
// which nothing says which comes first. Who knows of what is in views: a thread learns from
// others at barriers, from the lanes of its warp where they meet, and what ran by itself is
// done where it waits for it.
type shadow struct {
	threads int // of all warps, whole ones; actors are counted from here on
	actors  int
	warps   []warpView
	columns int      // of read, for each word
	wrote   []access // by word
	read    []access // by word: the last of each warp, of each warp's products, and of bulk stores
	async   []bool   // by word: a copy of cp.async may write it now
	size    int      // bytes of a block; those of a cluster are one behind the other
}

// access is the last one to a word: of lanes of a warp, or of an actor.
type access struct {
	clock uint32 // from 1 on; 0: none
	who   int32  // a warp, or ^actor
	mask  uint32 // of the lanes
}

const wordBytes = 4

// newShadow is that of a cluster of blocks, each of so many words and warps.
func newShadow(blocks, words, warps int, alone bool) *shadow {
	size := words * wordBytes
	words *= blocks
	warps *= blocks
	s := &shadow{size: size, threads: warps * lanes, warps: make([]warpView, warps), columns: warps,
		wrote: make([]access, words), async: make([]bool, words)}
	if alone {
		s.columns = 2*warps + 1
	}
	s.read = make([]access, words*s.columns)
	return s
}

func (s *shadow) reset() {
	clear(s.wrote)
	clear(s.read)
	clear(s.async)
	s.actors = s.threads + len(s.warps) // the products of warps are the first ones
	for i := range s.warps {
		v := &s.warps[i]
		v.clock = 1
		v.view.clear()
		v.lanes = [lanes]*view{}
	}
}

// actor is a new one.
func (s *shadow) actor() int {
	s.actors++
	return s.actors - 1
}

// before reports whether a is ordered before what a lane of w does now.
func (s *shadow) before(a access, w *warp, lane int) bool {
	if a.clock == 0 {
		return true
	}
	v := &s.warps[w.id]
	if a.who < 0 {
		return v.knows(lane, int(^a.who)) >= a.clock
	}
	for m := a.mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros32(m)
		if int(a.who) == w.id && l == lane {
			continue
		}
		if v.knows(lane, int(a.who)*lanes+l) < a.clock {
			return false
		}
	}
	return true
}

// access notes that a lane of w reads or writes bytes of shared memory.
func (s *shadow) access(w *warp, lane, at, bytes int, write bool) error {
	now := access{clock: s.warps[w.id].clock, who: int32(w.id), mask: 1 << lane}
	for i := at / wordBytes; i*wordBytes < at+bytes; i++ {
		if s.async[i] {
			return fmt.Errorf("lane %d reaches %s, which a copy may be writing", lane, s.place(i))
		}
		if err := s.check(w, lane, i, write); err != nil {
			return err
		}
		if write {
			s.wrote[i] = now
			continue
		}
		r := &s.read[i*s.columns+w.id]
		if r.clock == now.clock {
			r.mask |= now.mask
		} else {
			*r = now
		}
	}
	return nil
}

// check is the error of a race at word i.
func (s *shadow) check(w *warp, lane, i int, write bool) error {
	if !s.before(s.wrote[i], w, lane) {
		return s.race(w, lane, i, write, s.wrote[i], "write")
	}
	if !write {
		return nil
	}
	for _, r := range s.read[i*s.columns : (i+1)*s.columns] {
		if !s.before(r, w, lane) {
			return s.race(w, lane, i, write, r, "read")
		}
	}
	return nil
}

// alone notes that what lanes of w have begun, and what now runs by itself as an actor, reads or
// writes bytes, as the async proxy does; the column is where reads are noted.
func (s *shadow) alone(w *warp, lane, at, bytes int, write bool, now access, column int) error {
	for i := at / wordBytes; i*wordBytes < at+bytes; i++ {
		if s.async[i] {
			return fmt.Errorf("it reaches %s, which a copy may be writing", s.place(i))
		}
		if err := s.check(w, lane, i, write); err != nil {
			return err
		}
		if x := s.wrote[i]; !s.visible(x, w, lane) {
			return fmt.Errorf("%s was written by thread %d, and no fence.proxy.async makes that visible to what runs by itself",
				s.place(i), int(x.who)*lanes+bits.TrailingZeros32(x.mask))
		}
		if write {
			s.wrote[i] = now
		} else {
			s.read[i*s.columns+column] = now
		}
	}
	return nil
}

// visible reports whether the async proxy of a lane sees a write.
func (s *shadow) visible(a access, w *warp, lane int) bool {
	if a.clock == 0 || a.who < 0 {
		return true
	}
	v := &s.warps[w.id]
	for m := a.mask; m != 0; m &= m - 1 {
		if v.fences(lane, int(a.who)*lanes+bits.TrailingZeros32(m)) < a.clock {
			return false
		}
	}
	return true
}

func (s *shadow) race(w *warp, lane, i int, write bool, other access, did string) error {
	does, who := "reads", fmt.Sprintf("thread %d", w.id*lanes+lane)
	if write {
		does = "writes"
	}
	if lane == everyone {
		who = fmt.Sprintf("warp %d", w.id)
	}
	by := fmt.Sprintf("warp %d (lanes %08x)", other.who, other.mask)
	if other.who < 0 {
		by = "what runs by itself"
	}
	return fmt.Errorf("a race: %s %s %s after a %s by %s, with nothing to order them", who, does, s.place(i), did, by)
}

// place says where word i is, for errors.
func (s *shadow) place(i int) string {
	at := i * wordBytes
	if len(s.wrote)*wordBytes > s.size {
		return fmt.Sprintf("shared memory of rank %d at %d", at/s.size, at%s.size)
	}
	return fmt.Sprintf("shared memory at %d", at)
}
