package emu

import "fmt"

// shadow finds races in shared memory: two accesses to a word, one of them a write, between
// which nothing says which comes first. Warps are ordered by barriers: each has a clock, which ticks
// when it arrives at one, and knows the clocks of others at the last barriers that both
// were at (vector clocks: Mattern, "Virtual time and global states of distributed systems",
// 1989). The lanes of a warp are ordered where they meet.
type shadow struct {
	warps int
	know  [][]uint32 // [warp][other]: what warp knows of other's clock; its own at [warp][warp]
	wrote []access   // by word
	read  []access   // by word and warp
	async []bool     // by word: a copy that runs by itself may write it now
}

// access is the last one to a word.
type access struct {
	clock uint32 // of the warp, from 1 on; 0: none
	syncs uint32 // of the warp's lanes
	warp  int16
	lane  int16 // severalLanes: more than one
}

const (
	wordBytes    = 4
	severalLanes = -1
)

func newShadow(bytes, warps int) *shadow {
	words := (bytes + wordBytes - 1) / wordBytes
	s := &shadow{warps: warps, wrote: make([]access, words), read: make([]access, words*warps), async: make([]bool, words)}
	s.know = make([][]uint32, warps)
	for i := range s.know {
		s.know[i] = make([]uint32, warps)
	}
	return s
}

func (s *shadow) reset() {
	clear(s.wrote)
	clear(s.read)
	clear(s.async)
	for i := range s.know {
		clear(s.know[i])
		s.know[i][i] = 1
	}
}

// join orders all that these warps did before what they do now.
func (s *shadow) join(warps []*warp) {
	most := make([]uint32, s.warps)
	for _, w := range warps {
		for i, c := range s.know[w.number] {
			most[i] = max(most[i], c)
		}
	}
	for _, w := range warps {
		copy(s.know[w.number], most)
		s.know[w.number][w.number]++
		w.syncs++
	}
}

// before reports whether a is ordered before what a lane of w does now.
func (s *shadow) before(a access, w *warp, lane int) bool {
	if a.clock == 0 {
		return true
	}
	if int(a.warp) != w.number {
		return a.clock <= s.know[w.number][a.warp]
	}
	return a.lane == int16(lane) || a.syncs < w.syncs
}

// access notes that a lane of w reads or writes bytes of shared memory.
func (s *shadow) access(w *warp, lane, at, bytes int, write bool) error {
	now := access{clock: s.know[w.number][w.number], syncs: w.syncs, warp: int16(w.number), lane: int16(lane)}
	for i := at / wordBytes; i*wordBytes < at+bytes; i++ {
		if s.async[i] {
			return fmt.Errorf("lane %d reaches shared memory at %d, which a copy may be writing", lane, at)
		}
		if !s.before(s.wrote[i], w, lane) {
			return s.race(w, lane, at, write, s.wrote[i], "wrote")
		}
		readers := s.read[i*s.warps : (i+1)*s.warps]
		if !write {
			r := &readers[w.number]
			if r.clock == now.clock && r.syncs == now.syncs && r.lane != now.lane {
				r.lane = severalLanes
			} else {
				*r = now
			}
			continue
		}
		for _, r := range readers {
			if !s.before(r, w, lane) {
				return s.race(w, lane, at, write, r, "read")
			}
		}
		s.wrote[i] = now
	}
	return nil
}

func (s *shadow) race(w *warp, lane, at int, write bool, other access, did string) error {
	does := "reads"
	if write {
		does = "writes"
	}
	return fmt.Errorf("a race: thread %d %s shared memory at %d, which lane %d of warp %d %s, with nothing to order them",
		w.number*lanes+lane, does, at, other.lane, other.warp, did)
}
