package emu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
)

// blockRun is a block while it runs; its memory serves one block after the other.
type blockRun struct {
	d      *Device
	p      *Program
	params []byte
	grid   int
	random *rand.Rand
	shared []byte
	warps  []*warp
	bars   [16]barrier
	shadow *shadow // nil if races are not looked for
}

// barrier is one of the sixteen of a block.
type barrier struct {
	waiting int // threads
	want    int
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
		b.shadow = newShadow(len(b.shared), len(b.warps))
	}
	return b
}

// run executes block number n.
func (b *blockRun) run(n int) error {
	for i := range b.shared {
		b.shared[i] = 0xA5 // nothing is defined at first
	}
	b.bars = [16]barrier{}
	if b.shadow != nil {
		b.shadow.reset()
	}
	for _, w := range b.warps {
		w.start(n)
	}
	for {
		live, moved := 0, false
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
			moved = moved || w.steps != before || w.done()
		}
		if live == 0 {
			return b.finish()
		}
		if !moved {
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
		if x.waiting > 0 {
			return fmt.Errorf("%d threads wait at barrier %d for others that have ended", x.waiting, i)
		}
	}
	for _, w := range b.warps {
		if len(w.copies) > 0 {
			return fmt.Errorf("warp %d ends with copies to shared memory under way", w.number)
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

// arrive counts threads at barrier n, and says whether it is complete.
func (b *blockRun) arrive(n, threads, want int) (bool, error) {
	x := &b.bars[n]
	if x.waiting > 0 && x.want != want {
		return false, fmt.Errorf("barrier %d is for %d threads, and for %d in another place", n, x.want, want)
	}
	x.want = want
	x.waiting += threads
	if x.waiting > want {
		return false, fmt.Errorf("%d threads at barrier %d, which is for %d", x.waiting, n, want)
	}
	return x.waiting == want, nil
}

// release lets all who wait at barrier n go on.
func (b *blockRun) release(n int) {
	b.bars[n] = barrier{}
	var together []*warp
	for _, w := range b.warps {
		for i := range w.groups {
			if g := &w.groups[i]; g.barrier == n+1 {
				g.barrier = 0
				together = append(together, w)
			}
		}
	}
	if b.shadow != nil {
		b.shadow.join(together)
	}
}
