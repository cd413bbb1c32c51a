package emu

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// launched is what all blocks of a launch have in common; none of it is theirs to change.
type launched struct {
	d      *Device
	p      *Program
	params []byte
	grid   int
	random *rand.Rand // by which things take their time; nil: all at once, in order
	shadow *shadow    // nil if races are not looked for
}

// now says whether a copy or product that can be done now is.
func (l *launched) now() bool {
	return !l.d.Late && (l.random == nil || l.random.IntN(4) == 0)
}

// blockRun is a block while it runs; its memory serves one block after the other.
type blockRun struct {
	*launched
	c        *cluster
	rank     int // in it
	shared   sharedMemory
	warps    []*warp
	bars     [barriers]barrier
	loads    []*bulk      // under way
	products [][]*product // by warpgroup
	reached  []uint32     // by thread of the cluster: its clock when it last reached this block's memory from another one
	ended    bool
	free     int // registers of each thread of a warp, that warps have given up
}

// sharedMemory is that of a block.
type sharedMemory struct {
	bytes    []byte
	base     int               // in the shadow
	barriers map[int]*mbarrier // by address
}

// reset is before a block: nothing is defined at first.
func (m *sharedMemory) reset() {
	for i := range m.bytes {
		m.bytes[i] = 0xA5
	}
	m.barriers = map[int]*mbarrier{}
}

// keepsOff is the error of an access to bytes of a barrier.
func (m *sharedMemory) keepsOff(at, n int) error {
	if len(m.barriers) == 0 {
		return nil
	}
	for i := at / barrierBytes; i*barrierBytes < at+n; i++ {
		if m.barriers[i*barrierBytes] != nil {
			return fmt.Errorf("the barrier at %d is reached as if it were ordinary memory", i*barrierBytes)
		}
	}
	return nil
}

// barrier is one of those of a block that have a number.
type barrier struct {
	threads int // that arrived
	want    int
	view    view // what those that arrived know
}

func newBlock(c *cluster, rank, size int) *blockRun {
	b := &blockRun{launched: c.launched, c: c, rank: rank, shared: sharedMemory{bytes: make([]byte, size), base: rank * words(size) * wordBytes}}
	threads := c.p.entry.Threads
	count := warpsOf(threads)
	for i := range count {
		w := &warp{b: b, number: i, id: rank*count + i, file: make([]row, c.p.slots)}
		for lane := range min(lanes, threads-i*lanes) {
			w.flow.exists |= 1 << lane
		}
		b.warps = append(b.warps, w)
	}
	return b
}

// words is how many so many bytes of shared memory have, and warpsOf how many warps so many threads are in.
func words(bytes int) int     { return (bytes + wordBytes - 1) / wordBytes }
func warpsOf(threads int) int { return (threads + lanes - 1) / lanes }

// start is before the first instruction of block number n.
func (b *blockRun) start(n int) {
	b.shared.reset()
	b.bars = [barriers]barrier{}
	b.loads, b.reached, b.ended, b.free = nil, nil, false, 0
	b.products = make([][]*product, (len(b.warps)+groupWarps-1)/groupWarps)
	for _, w := range b.warps {
		w.start(n)
	}
}

// finish looks at what the block leaves undone.
func (b *blockRun) finish() error {
	for i, x := range b.bars {
		if x.threads > 0 {
			return fmt.Errorf("%d threads wait at barrier %d for others that have ended", x.threads, i)
		}
	}
	for _, w := range b.warps {
		if len(w.copies.begun) > 0 {
			return fmt.Errorf("warp %d ends with copies to shared memory under way", w.number)
		}
		if err := w.productsLeft(); err != nil {
			return err
		}
		for _, c := range w.stores.begun {
			if !c.waited {
				return fmt.Errorf("warp %d ends while `%s` may still read shared memory", w.number, c.text)
			}
			b.finishStore(c, true)
		}
	}
	for i, w := range b.warps {
		if !slices.Equal(w.limits, b.warps[i/groupWarps*groupWarps].limits) {
			return fmt.Errorf("setmaxnreg is not executed by all warps of the warpgroup of warp %d", i)
		}
	}
	if len(b.loads) > 0 {
		return fmt.Errorf("the block ends while `%s` is under way", b.loads[0].text)
	}
	for _, at := range slices.Sorted(maps.Keys(b.shared.barriers)) {
		if m := b.shared.barriers[at]; m.loads > m.awaited {
			return fmt.Errorf("the block ends while copies may still be written: nobody waited for phase %d of the barrier at %d", m.loads-1, at)
		}
	}
	return nil
}

// arrive counts the threads of w at barrier n, and says whether it is complete.
func (b *blockRun) arrive(w *warp, n, want int) (bool, error) {
	x := &b.bars[n]
	if x.threads > 0 && x.want != want {
		return false, fmt.Errorf("barrier %d is for %d threads, and for %d in another place", n, x.want, want)
	}
	x.want = want
	x.threads += bits.OnesCount32(w.flow.exists)
	if x.threads > want {
		return false, fmt.Errorf("%d threads at barrier %d, which is for %d", x.threads, n, want)
	}
	if b.shadow != nil {
		b.shadow.meet(w)
		b.shadow.release(w, w.flow.exists, &x.view)
	}
	return x.threads == want, nil
}

// release lets all who wait at barrier n go on.
func (b *blockRun) release(n int) {
	for _, w := range b.warps {
		for i := range w.flow.groups {
			if g := &w.flow.groups[i]; g.barrier == n+1 {
				g.barrier = 0
				if b.shadow != nil {
					b.shadow.acquire(w, g.mask, &b.bars[n].view)
				}
			}
		}
	}
	b.bars[n] = barrier{view: view{seen: b.bars[n].view.seen[:0], fenced: b.bars[n].view.fenced[:0]}}
	b.c.wakes = 0
}
