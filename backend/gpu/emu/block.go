package emu

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
)

// blockRun is a block while it runs; its memory serves one block after the other.
type blockRun struct {
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
	moved    bool              // whether anything happened since all warps had their turn
	wakes    int               // how often all that wait were woken since the last progress
}

// barrier is one of those of a block that have a number.
type barrier struct {
	threads int // that arrived
	want    int
	view    view // what those that arrived know
}

func newBlock(d *Device, p *Program, l Launch, params []byte, random *rand.Rand) *blockRun {
	b := &blockRun{d: d, p: p, params: params, grid: l.Grid, random: random, shared: make([]byte, p.static+l.Shared)}
	threads := p.entry.Threads
	for i := 0; i*lanes < threads; i++ {
		w := &warp{b: b, number: i, file: make([]row, p.slots)}
		for lane := range min(lanes, threads-i*lanes) {
			w.exists |= 1 << lane
		}
		b.warps = append(b.warps, w)
	}
	if d.Check {
		b.shadow = newShadow(len(b.shared), len(b.warps), p.alone)
	}
	return b
}

// run executes block number n.
func (b *blockRun) run(n int) error {
	for i := range b.shared {
		b.shared[i] = 0xA5 // nothing is defined at first
	}
	b.bars = [barriers]barrier{}
	b.memory, b.loads, b.wakes = map[int]*mbarrier{}, nil, 0
	if b.shadow != nil {
		b.shadow.reset()
	}
	b.products = make([][]*product, (len(b.warps)+groupWarps-1)/groupWarps)
	for _, w := range b.warps {
		w.start(n)
	}
	for {
		live := 0
		b.moved = false
		for _, i := range b.turns() {
			w := b.warps[i]
			if w.done() {
				continue
			}
			live++
			before := w.steps
			if err := w.turn(b.budget()); err != nil {
				return err
			}
			b.moved = b.moved || w.steps != before || w.done()
		}
		if live == 0 {
			return b.finish()
		}
		if err := b.drift(); err != nil {
			return err
		}
		if b.moved {
			continue
		}
		if again, err := b.wake(); err != nil {
			return err
		} else if !again {
			return b.stuck()
		}
	}
}

// turns is the order in which warps are next.
func (b *blockRun) turns() []int {
	if b.random != nil {
		return b.random.Perm(len(b.warps))
	}
	out := make([]int, len(b.warps))
	for i := range out {
		out[i] = i
	}
	return out
}

// budget is how many instructions a warp takes before the next one.
func (b *blockRun) budget() int64 {
	if b.random == nil {
		return 1 << 40
	}
	return 1 + b.random.Int64N(1<<b.random.IntN(9))
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

// stuck says who waits where.
func (b *blockRun) stuck() error {
	var where []string
	for _, w := range b.warps {
		if !w.done() {
			where = append(where, w.where())
		}
	}
	return errors.New("no thread can go on: " + strings.Join(where, "; "))
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
	b.wakes = 0
}
