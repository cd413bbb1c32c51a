package sim

import (
	"ptc/foresight/machine"
	"ptc/internal/wide"
)

// flow is one exchange under way: what several classes have issued together, or are about to.
type flow struct {
	*exchange
	state    state
	joined   int
	joinedAt machine.PS // when the last class came to it; of a message, when the sender did

	left    machine.PS // of the bytes' time, at full rate
	since   machine.PS // up to when left is counted
	rate    int64      // in parts of full
	version uint32     // of the event of its end that counts
	limits  []int64    // the rate that each of its classes allows
}

// state is how far an exchange has come.
type state uint8

const (
	pending state = iota // some of its classes have not come to it, or one has others before it in its stream
	waiting              // for latencies
	moving               // its bytes
	ended
)

// use is a flow as one of its classes has it: the number of the class among the flow's.
type use struct {
	*flow
	at int
}

// demandOf is what the use takes of the resources of its class.
func (u use) demandOf() []int64 { return u.demand[min(u.at, 1)] }

// scaled is n·part/full, rounded up.
func scaled(n, part int64) int64 {
	q := wide.MulDiv(n, part, full)
	if wide.MulDiv(q, full, part) < n {
		q++
	}
	return q
}

// stretched is how long n takes at a rate, rounded up.
func stretched(n machine.PS, rate int64) machine.PS {
	if rate >= full {
		return n
	}
	q := wide.MulDiv(int64(n), full, rate)
	if wide.MulDiv(q, rate, full) < int64(n) {
		q++
	}
	return machine.PS(q)
}

// progress is how much of a full rate's time passes in t at a rate, rounded down.
func progress(t machine.PS, rate int64) machine.PS {
	if rate >= full {
		return t
	}
	return machine.PS(wide.MulDiv(int64(t), rate, full))
}

// share gives flows that move on one class's links the max-min fair rates: all rates rise together, and those that use a
// resource stop when it is full (Bertsekas and Gallager, "Data Networks", 1992, section 6.5.2). Rates are in parts of the
// one that a flow has alone.
func share(uses []use, rates []int64, resources int) {
	if len(uses) == 1 {
		rates[0] = full
		return
	}
	room, rising := make([]int64, resources), len(uses)
	for r := range room {
		room[r] = full
	}
	for i := range rates {
		rates[i] = -1
	}
	for rising > 0 {
		tight, level := -1, int64(full)
		for r := range room {
			sum := int64(0)
			for i, u := range uses {
				if rates[i] < 0 {
					sum += u.demandOf()[r]
				}
			}
			if sum > 0 {
				if x := wide.MulDiv(room[r], full, sum); x < level {
					tight, level = r, x
				}
			}
		}
		for i, u := range uses {
			if d := u.demandOf(); rates[i] < 0 && (tight < 0 || d[tight] > 0) {
				rates[i] = max(level, 1)
				rising--
				for r := range room {
					room[r] = max(0, room[r]-wide.MulDiv(d[r], level, full))
				}
			}
		}
	}
}
