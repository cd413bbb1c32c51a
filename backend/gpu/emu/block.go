package emu

import (
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// blockRun is a block while it runs; its memory serves one block after the other.
type blockRun struct {
	c        *cluster
	rank     int // in it
	base     int // of its memory in the shadow
	d        *Device
	p        *Program
	params   []byte
	grid     int
	random   *rand.Rand
	shared   []byte
	warps    []*warp
	bars     [barriers]barrier
	shadow   *shadow           // nil if races are not looked for
	memory   map[int]*mbarrier // by address
	loads    []*bulk           // under way
	products [][]*product      // by warpgroup
	reached  []uint32          // by thread of the cluster: its clock when it last reached this block's memory from another one
	ended    bool
	free     int // registers of each thread of a warp, that warps have given up
}

// barrier is one of those of a block that have a number.
type barrier struct {
	threads int // that arrived
	want    int
	view    view // what those that arrived know
}

func newBlock(c *cluster, rank int, p *Program, l Launch, params []byte) *blockRun {
	b := &blockRun{c: c, rank: rank, d: c.d, p: p, params: params, grid: l.Grid, random: c.random,
		shared: make([]byte, p.static+l.Shared)}
	b.base = rank * b.words() * wordBytes
	threads := p.entry.Threads
	for i := 0; i*lanes < threads; i++ {
		w := &warp{b: b, number: i, file: make([]row, p.slots)}
		for lane := range min(lanes, threads-i*lanes) {
			w.exists |= 1 << lane
		}
		b.warps = append(b.warps, w)
	}
	for _, w := range b.warps {
		w.id = rank*len(b.warps) + w.number
	}
	return b
}

// words is how many its shared memory has.
func (b *blockRun) words() int { return (len(b.shared) + wordBytes - 1) / wordBytes }

// start is before the first instruction of block number n.
func (b *blockRun) start(n int) {
	for i := range b.shared {
		b.shared[i] = 0xA5 // nothing is defined at first
	}
	b.bars = [barriers]barrier{}
	b.memory, b.loads, b.reached, b.ended, b.free = map[int]*mbarrier{}, nil, nil, false, 0
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
		if len(w.copies) > 0 {
			return fmt.Errorf("warp %d ends with copies to shared memory under way", w.number)
		}
		if err := w.productsLeft(); err != nil {
			return err
		}
		for _, c := range w.stores {
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
	for _, at := range slices.Sorted(maps.Keys(b.memory)) {
		if m := b.memory[at]; m.loads > m.awaited {
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
	x.threads += bits.OnesCount32(w.exists)
	if x.threads > want {
		return false, fmt.Errorf("%d threads at barrier %d, which is for %d", x.threads, n, want)
	}
	if b.shadow != nil {
		b.shadow.meet(w)
		b.shadow.release(w, w.exists, &x.view)
	}
	return x.threads == want, nil
}

// release lets all who wait at barrier n go on.
func (b *blockRun) release(n int) {
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.barrier == n+1 {
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
