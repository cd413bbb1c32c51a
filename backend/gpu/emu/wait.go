package emu

import (
	"fmt"
	"slices"
)

// keepsOff is the error of an access to bytes of a barrier.
func (b *blockRun) keepsOff(at, n int) error {
	if len(b.memory) == 0 {
		return nil
	}
	for i := at / barrierBytes; i*barrierBytes < at+n; i++ {
		if b.memory[i*barrierBytes] != nil {
			return fmt.Errorf("the barrier at %d is reached as if it were ordinary memory", i*barrierBytes)
		}
	}
	return nil
}

// maxWakes is how often threads that wait are told that what they wait for has not happened, while
// nothing else does, before they are said to wait forever.
const maxWakes = 16

// sleep lets the group at hand wait for x, and be at the same instruction then.
func (w *warp) sleep(x waiting) { w.groups[w.at].waits = x }

// woken reports whether the group at hand has waited in vain.
func (w *warp) woken() bool { return w.groups[w.at].woken }

// progress is something that others may wait for: they look again.
func (b *blockRun) progress() {
	b.wakes, b.moved = 0, true
	b.rouse(false)
}

// rouse lets all that wait look again, and if it was in vain, tells them so.
func (b *blockRun) rouse(vain bool) bool {
	some := false
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.waits != nil {
				g.waits, g.woken, some = nil, vain, true
			}
		}
	}
	return some
}

// wake is for a block in which no thread can go on: what runs by itself does, or else those
// that may give up waiting, as mbarrier.try_wait may.
func (b *blockRun) wake() (bool, error) {
	if n := len(b.loads); n > 0 {
		i := 0
		if b.random != nil {
			i = b.random.IntN(n)
		}
		c := b.loads[i]
		b.loads = slices.Delete(b.loads, i, i+1)
		return true, b.finishLoad(c)
	}
	b.wakes++
	return b.wakes <= maxWakes && b.rouse(true), nil
}
