package native

import (
	"sync/atomic"
	"time"
)

// seat is where a thread of a team is: its processor, plus one, as it last said so.
type seat struct {
	processor atomic.Int32
	moved     time.Time // when it was moved last; its own
	_         [96]byte  // each on a cache line of its own
}

// movedAgain is how long a thread stays where it was moved to, whoever else comes there: on a
// machine with more to do than processors some threads always share one.
const movedAgain = 20 * time.Millisecond

// apart has thread tid, which calls it, leave a processor that a thread of the team with a smaller
// number is on. A kernel that had two of them share a processor for a moment may leave
// them there for tens of milliseconds, although another is idle: each runs for a few microseconds until
// it waits for the other, so that neither seems worth moving.
func (t *Team) apart(tid int) {
	if !t.spread {
		return
	}
	own := int32(processor() + 1)
	t.seats[tid].processor.Store(own)
	if own == 0 || tid == 0 {
		return
	}
	shared := false
	for i := range tid {
		shared = shared || t.seats[i].processor.Load() == own
	}
	if s := &t.seats[tid]; shared && time.Since(s.moved) > movedAgain {
		s.moved = time.Now()
		s.processor.Store(int32(leave(t.seats) + 1))
	}
}
