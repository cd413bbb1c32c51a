package emu

import (
	"fmt"
	"slices"
)

// maxWakes is how many times blocked threads may time out in a row, while nothing else happens, before the launch
// counts as deadlocked.
const maxWakes = 16

// progress wakes all blocked threads, which check again what they wait for: something has happened.
func (c *cluster) progress() {
	c.wakes, c.moved = 0, true
	c.rouse(false)
}

// rouse has all blocked threads check again; if vain holds, their waits may time out.
func (c *cluster) rouse(vain bool) bool {
	some := false
	for _, w := range c.warps {
		for i := range w.flow.groups {
			if g := &w.flow.groups[i]; g.waits != nil {
				g.waits, g.woken, some = nil, vain, true
			}
		}
	}
	return some
}

// wake is called when every thread is blocked: it completes one asynchronous load, or else lets waits time out, as
// mbarrier.try_wait may.
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

// await gives each lane whether the phase that it names is complete. If none is, the warp may block: test_wait and try_wait
// take an implementation-defined time.
func (w *warp) await(in *inst, parity bool) error {
	var done uint32
	var first *mbarrier
	at := make([]*mbarrier, lanes)
	if err := w.flow.each(func(l int) error {
		m, err := w.barrierAt(w.file[in.from[0]][l]+uint64(in.offset), l)
		if err != nil {
			return err
		}
		if m.block != w.b {
			return fmt.Errorf("lane %d: a wait at a barrier of another block", l)
		}
		at[l] = m
		x := w.file[in.from[1]][l]
		if parity && x > 1 {
			return fmt.Errorf("lane %d: parity %d", l, x)
		}
		if parity && uint64(m.phase&1) != x || !parity && uint64(m.phase) > x {
			done |= 1 << l
		} else if first == nil {
			first = m
		}
		return nil
	}); err != nil {
		return err
	}
	if done == 0 && !w.flow.woken() && !w.timedOut() {
		w.flow.sleep(first)
		return nil
	}
	for l := range lanes {
		if done>>l&1 == 0 {
			continue
		}
		if s := w.b.shadow; s != nil {
			same := uint32(1) << l
			if at[l] != nil && done == w.flow.alive() && w.same(at) {
				same = done
			}
			s.acquire(w, same, &at[l].last)
			if same == done {
				break
			}
		}
	}
	return w.flow.each(func(l int) error {
		if done>>l&1 != 0 {
			at[l].awaited = at[l].phase
		}
		w.file[in.to[0]][l] = uint64(done >> l & 1)
		return nil
	})
}

// timedOut reports whether this wait returns false early: at random, or every second time in Late mode.
func (w *warp) timedOut() bool {
	w.flow.vain++
	if w.b.d.Late {
		return w.flow.vain%2 == 1
	}
	return w.b.random != nil && w.b.random.IntN(4) == 0
}

// same reports whether all lanes at hand are at one barrier.
func (w *warp) same(at []*mbarrier) bool {
	var one *mbarrier
	for l := range lanes {
		if w.flow.mask>>l&1 != 0 {
			if one != nil && at[l] != one {
				return false
			}
			one = at[l]
		}
	}
	return true
}
