package native

import (
	"sync/atomic"
	"time"
)

// lookFor is how long who waits at a gate looks at it before going to sleep. To be
// woken takes tens of microseconds, on a virtual machine over a hundred, and from one
// replay to the next there are often fewer.
const lookFor = 200 * time.Microsecond

// gate is where one goroutine waits until another one sets a number: at first by
// looking at it again and again, then asleep.
type gate struct {
	number atomic.Uint64
	asleep atomic.Bool
	wake   chan struct{}
	look   bool     // whether to look before sleeping; false where threads have to share processors
	_      [96]byte // what one thread looks at is on no cache line that another one writes
}

func newGate(look bool) *gate { return &gate{wake: make(chan struct{}, 1), look: look} }

// set changes the number, and wakes who sleeps.
func (g *gate) set(n uint64) {
	g.number.Store(n)
	if g.asleep.CompareAndSwap(true, false) {
		g.wake <- struct{}{}
	}
}

// await returns the number once it is another one than old.
func (g *gate) await(old uint64) uint64 {
	if g.look {
		for start := time.Now(); ; {
			for range 64 {
				if n := g.number.Load(); n != old {
					return n
				}
			}
			if time.Since(start) > lookFor {
				break
			}
		}
	}
	for {
		// Whoever sets the number after this store sees it, and sends; whoever did
		// before has changed what is loaded next. If both, it has sent.
		g.asleep.Store(true)
		if n := g.number.Load(); n != old && g.asleep.CompareAndSwap(true, false) {
			return n
		}
		<-g.wake
		if n := g.number.Load(); n != old {
			return n
		}
	}
}
