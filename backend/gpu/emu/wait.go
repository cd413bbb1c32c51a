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
func (c *cluster) progress() {
	c.wakes, c.moved = 0, true
	c.rouse(false)
}

// rouse lets all that wait look again, and if it was in vain, tells them so.
func (c *cluster) rouse(vain bool) bool {
	some := false
	for _, w := range c.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.waits != nil {
				g.waits, g.woken, some = nil, vain, true
			}
		}
	}
	return some
}

// wake is for blocks in which no thread can go on: what runs by itself does, or else those
// that may give up waiting, as mbarrier.try_wait may.
func (c *cluster) wake() (bool, error) {
	n := 0
	for _, b := range c.blocks {
		n += len(b.loads)
	}
	if n > 0 {
		i := 0
		if c.random != nil {
			i = c.random.IntN(n)
		}
		for _, b := range c.blocks {
			if i < len(b.loads) {
				x := b.loads[i]
				b.loads = slices.Delete(b.loads, i, i+1)
				return true, b.finishLoad(x)
			}
			i -= len(b.loads)
		}
	}
	c.wakes++
	return c.wakes <= maxWakes && c.rouse(true), nil
}
