package emu

import "fmt"

// trace finds races in global memory, of a launch: two accesses to bytes, one of them a write, that nothing
// orders. Nothing orders those of different blocks; those of one block, what orders them in
// shared memory. Of the readers of a word it knows the last ones alone, and of what its
// bytes were last written by, the last write: what it finds is a race, and some races it does not find.
type trace struct {
	pages map[uint64]*page
	last  *page // that was used last
	at    uint64
	block int32 // whose threads run, from 1 on
}

const pageWords = 256

type page [pageWords]mark

// mark is what happened to a word. Blocks run one after the other.
type mark struct {
	block                   int32 // that reached it last
	written, seen           uint8 // bytes of it that it wrote, and read
	wroteBefore, readBefore uint8 // and that other blocks did before
	wroteBytes, readBytes   uint8 // of the last accesses
	wrote, read             access
}

func (t *trace) mark(word uint64) *mark {
	n := word / pageWords
	if t.last == nil || t.at != n {
		p := t.pages[n]
		if p == nil {
			p = &page{}
			t.pages[n] = p
		}
		t.last, t.at = p, n
	}
	return &t.last[word%pageWords]
}

// use is how memory is accessed.
type use struct {
	write bool
	nc    bool   // as memory that no one writes
	async bool   // by the async proxy, which runs by itself
	now   access // what is noted: of a lane, or of what runs by itself
}

// access notes that a lane of w reaches n bytes of global memory.
func (b *blockRun) access(w *warp, lane int, at uint64, n int, u use) error {
	t := b.d.trace
	for word := at / wordBytes; word*wordBytes < at+uint64(n); word++ {
		bytes := uint8(1<<wordBytes - 1)
		if first := word * wordBytes; first < at {
			bytes &= bytes << (at - first)
		}
		if end := (word + 1) * wordBytes; end > at+uint64(n) {
			bytes &= 1<<wordBytes - 1>>(end-at-uint64(n))
		}
		m := t.mark(word)
		m.enter(t.block)
		if err := b.raced(m, w, lane, bytes, u); err != nil {
			return fmt.Errorf("lane %d: a race: global memory at %#x: %w", lane, word*wordBytes, err)
		}
		m.note(bytes, u)
	}
	return nil
}

// raced is the error of an access to bytes of a word.
func (b *blockRun) raced(m *mark, w *warp, lane int, bytes uint8, u use) error {
	s := b.shadow
	switch {
	case m.wroteBefore&bytes != 0:
		return fmt.Errorf("another block wrote it in the same launch")
	case m.readBefore&bytes != 0 && u.write:
		return fmt.Errorf("another block read it in the same launch")
	case m.written&bytes != 0 && u.nc:
		return fmt.Errorf("it is read as if no one wrote it, and was written in the same launch")
	case m.wroteBytes&bytes != 0 && !s.before(m.wrote, w, lane):
		return fmt.Errorf("it was written with nothing to order that before this")
	case m.wroteBytes&bytes != 0 && u.async && !s.visible(m.wrote, w, lane):
		return fmt.Errorf("it was written, and no fence.proxy.async makes that visible to what runs by itself")
	case m.readBytes&bytes != 0 && u.write && !s.before(m.read, w, lane):
		return fmt.Errorf("it was read with nothing to order that before this")
	}
	return nil
}

// enter is the first access of a block.
func (m *mark) enter(block int32) {
	if m.block == block {
		return
	}
	*m = mark{block: block, wroteBefore: m.wroteBefore | m.written, readBefore: m.readBefore | m.seen}
}

// note remembers an access.
func (m *mark) note(bytes uint8, u use) {
	if u.write {
		m.written |= bytes
		m.wrote, m.wroteBytes = u.now, bytes
		return
	}
	m.seen |= bytes
	if m.read.who == u.now.who && m.read.clock == u.now.clock && m.readBytes == bytes {
		m.read.mask |= u.now.mask
	} else {
		m.read, m.readBytes = u.now, bytes
	}
}

// reachGlobal notes that a lane of w itself reaches global memory.
func (w *warp) reachGlobal(lane int, at uint64, n int, write, nc bool) error {
	if w.b.d.trace == nil {
		return nil
	}
	now := access{clock: w.b.shadow.warps[w.id].clock, who: int32(w.id), mask: 1 << lane}
	return w.b.access(w, lane, at, n, use{write: write, nc: nc, now: now})
}
