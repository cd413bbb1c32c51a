package pipeline

// Turn is a time at which a device does something, of a kind that has a number, with a microbatch.
type Turn struct{ What, Microbatch int }

// Use says since when a microbatch has a place in its turn of a kind.
type Use uint8

const (
	Unused Use = iota
	InTurn     // from the turn on
	Before     // from the turn of the device before it on, as what is received ahead
)

// Places is the least number of places that microbatches take in turns, by their number, one each from its first turn of the kinds
// that are in use through its last, so that none is in the place of another. Use has an entry for each kind.
func Places(turns []Turn, microbatches int, use []Use) int {
	type stay struct{ micro, from, to int }
	stays := make([]stay, 0, microbatches) // in the order of from
	of := make([]int32, microbatches)      // by microbatch: one more than the number of its stay
	for i, t := range turns {
		u := use[t.What]
		if u == Unused {
			continue
		}
		if of[t.Microbatch] == 0 {
			from := i + 1
			if u == Before {
				from = max(1, i)
			}
			stays = append(stays, stay{micro: t.Microbatch, from: from})
			of[t.Microbatch] = int32(len(stays))
		}
		stays[of[t.Microbatch]-1].to = i + 1
	}
	ends := make([]int, 0, len(stays)) // ascending
	for i, t := range turns {
		if use[t.What] != Unused && stays[of[t.Microbatch]-1].to == i+1 {
			ends = append(ends, i+1)
		}
	}
	ring, over := 1, 0
	for i, s := range stays {
		for ends[over] < s.from {
			over++
		}
		ring = max(ring, i+1-over) // so many are under way
	}
	until := make([]int, microbatches)
	free := func() bool {
		clear(until[:ring])
		for _, s := range stays {
			p := s.micro % ring
			if until[p] >= s.from {
				return false
			}
			until[p] = s.to
		}
		return true
	}
	for ring < microbatches && !free() {
		ring++
	}
	return ring
}
