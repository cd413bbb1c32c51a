package emu

import "fmt"

// reach checks that a copy stays in both memories, and in the way of nobody: now is what it
// leaves in the shadow.
func (w *warp) reach(c *bulk, lane int, write bool, now access) error {
	for _, p := range c.pieces {
		if p.at < 0 || p.n > len(c.block.shared.bytes) || p.at > len(c.block.shared.bytes)-p.n {
			return fmt.Errorf("lane %d: %d bytes of shared memory at %d; there are %d", lane, p.n, p.at, len(c.block.shared.bytes))
		}
		if p.inside {
			if _, err := w.b.d.Bytes(p.global, p.n); err != nil {
				return fmt.Errorf("lane %d: %w", lane, err)
			}
			w.b.d.Counts.GlobalBytes += int64(p.n)
			w.b.d.Counts.GlobalSectors += int64((p.global+uint64(p.n)-1)/sector - p.global/sector + 1)
			if w.b.d.trace != nil {
				far := now
				if !write { // a store has read shared memory before it has written here
					far.who--
				}
				if err := w.b.access(w, lane, p.global, p.n, use{write: !write, async: true, now: far}); err != nil {
					return err
				}
			}
		}
		if err := c.block.shared.keepsOff(p.at, p.n); err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
	}
	if w.b.shadow == nil {
		return nil
	}
	for i := 0; i < len(c.pieces); {
		p := c.pieces[i]
		// What lies next to each other is looked at as one: pieces may share words.
		for i++; i < len(c.pieces) && c.pieces[i].at == p.at+p.n && (write || p.inside == c.pieces[i].inside); i++ {
			p.n += c.pieces[i].n
		}
		if !write && !p.inside {
			continue
		}
		if err := c.each(p, func(at, _, n int) error {
			return w.b.shadow.alone(w, lane, c.block.shared.base+at, n, write, now, 2*len(w.b.shadow.warps))
		}); err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
	}
	return nil
}

// each calls f for the parts of a piece that lie next to each other in shared memory: where
// they are there, and in the piece.
func (c *bulk) each(p piece, f func(at, from, n int) error) error {
	const unit = 16
	if c.swizzle == NoSwizzle {
		return f(p.at, 0, p.n)
	}
	for x := p.at; x < p.at+p.n; {
		n := min(unit-x%unit, p.at+p.n-x)
		if err := f(c.swizzle.at(x), x-p.at, n); err != nil {
			return err
		}
		x += n
	}
	return nil
}

// startLoad begins a copy to shared memory that counts its bytes at a barrier.
func (w *warp) startLoad(c *bulk, lane int, barrier uint64) error {
	m, err := w.barrierAt(barrier, lane)
	if err != nil {
		return err
	}
	if m.block != c.block {
		return fmt.Errorf("lane %d: the barrier is in the memory of rank %d, and the copy goes to that of rank %d", lane, m.block.rank, c.block.rank)
	}
	c.barrier, c.phase, c.lane = m, m.phase, lane
	if s := w.b.shadow; s != nil {
		if !m.fenced && !s.visible(m.init, w, lane) {
			return fmt.Errorf("lane %d: no fence makes the barrier at %d visible to what runs by itself", lane, m.place)
		}
	}
	if err := w.reach(c, lane, true, access{clock: uint32(m.phase + 1), who: int32(^m.actor)}); err != nil {
		return err
	}
	m.loads = m.phase + 1
	if w.b.now() {
		return c.block.finishLoad(c)
	}
	c.block.loads = append(c.block.loads, c)
	return nil
}

// multicast begins a copy to each of the blocks that bits say, where it is in its own, counted by the barriers
// that are where that one is.
func (w *warp) multicast(c *bulk, lane int, barrier uint64, ranks uint16) error {
	if ranks == 0 || int(ranks)>>len(w.b.c.blocks) != 0 {
		return fmt.Errorf("lane %d: copies for the ranks %#x of a cluster of %d blocks", lane, ranks, len(w.b.c.blocks))
	}
	for rank := range w.b.c.blocks {
		if ranks>>rank&1 == 0 {
			continue
		}
		there := uint64(rank+1) << rankShift
		one := *c
		b, _, err := w.resolve(there)
		if err != nil {
			return fmt.Errorf("lane %d: %w", lane, err)
		}
		one.block = b
		if err := w.startLoad(&one, lane, barrier&(1<<rankShift-1)|there); err != nil {
			return err
		}
	}
	return nil
}

// finishLoad does a copy to shared memory.
func (b *blockRun) finishLoad(c *bulk) error {
	m := c.barrier
	if b.shared.barriers[m.place] != m || m.phase != c.phase {
		return fmt.Errorf("`%s` counts its %d bytes at the barrier at %d after the phase of that is over in which it began", c.text, c.bytes, m.place)
	}
	for _, p := range c.pieces {
		var from []byte
		if p.inside {
			from, _ = b.d.Bytes(p.global, p.n) // looked at when it began
		} else {
			from = make([]byte, p.n)
		}
		_ = c.each(p, func(at, x, n int) error { copy(b.shared.bytes[at:at+n], from[x:x+n]); return nil })
	}
	if err := m.expect(-c.bytes); err != nil {
		return err
	}
	b.advance(m)
	return nil
}

// startStore begins a copy from shared memory, of the group that its thread has open.
func (w *warp) startStore(c *bulk, lane int) error {
	if c.block != w.b {
		return fmt.Errorf("lane %d: a store from the memory of another block", lane)
	}
	c.group, c.lane = w.stores.closed[lane], lane
	var now access
	if s := w.b.shadow; s != nil {
		if w.stores.actors[lane] == 0 {
			w.stores.actors[lane] = s.actor()
			s.actor() // the next one stands for what they write
		}
		now = access{clock: uint32(c.group + 1), who: int32(^w.stores.actors[lane])}
	}
	if err := w.reach(c, lane, false, now); err != nil {
		return err
	}
	w.stores.begun = append(w.stores.begun, c)
	if w.b.now() {
		w.b.finishStore(c, w.b.random == nil || w.b.random.IntN(2) == 0)
	}
	return nil
}

// finishStore reads shared memory, and if it is to be done as a whole, writes global memory.
func (b *blockRun) finishStore(c *bulk, whole bool) {
	if !c.read {
		for _, p := range c.pieces {
			if p.inside {
				held := make([]byte, p.n)
				_ = c.each(p, func(at, x, n int) error { copy(held[x:x+n], b.shared.bytes[at:at+n]); return nil })
				c.held = append(c.held, held...)
			}
		}
		c.read = true
	}
	if !whole || c.done {
		return
	}
	held := c.held
	for _, p := range c.pieces {
		if p.inside {
			to, _ := b.d.Bytes(p.global, p.n) // looked at when it began
			copy(to, held)
			held = held[p.n:]
		}
	}
	c.done = true
}

// waitStores returns when the groups of a lane before one have read shared memory, or are done.
func (w *warp) waitStores(lane, before int, whole bool) error {
	kept := w.stores.begun[:0]
	for _, c := range w.stores.begun {
		if c.lane == lane && c.group < before {
			w.b.finishStore(c, whole)
			c.waited = true
			if c.done {
				continue
			}
		}
		kept = append(kept, c)
	}
	w.stores.begun = kept
	if s := w.b.shadow; s != nil && before > 0 && w.stores.actors[lane] != 0 {
		s.learn(w, 1<<lane, w.stores.actors[lane], uint32(before))
		if whole {
			s.learn(w, 1<<lane, w.stores.actors[lane]+1, uint32(before))
		}
	}
	return nil
}

// drift does some of what runs by itself, at a random time.
func (b *blockRun) drift() error {
	if b.random == nil || b.d.Late {
		return nil
	}
	kept := b.loads[:0]
	for _, c := range b.loads {
		if b.random.IntN(4) > 0 {
			kept = append(kept, c)
		} else if err := b.finishLoad(c); err != nil {
			return err
		}
	}
	b.loads = kept
	b.driftProducts()
	for _, w := range b.warps {
		for _, c := range w.stores.begun {
			if b.random.IntN(4) == 0 {
				b.finishStore(c, b.random.IntN(2) == 0)
			}
		}
	}
	return nil
}
