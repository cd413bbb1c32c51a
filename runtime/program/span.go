package program

import (
	"fmt"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
)

// span is a range of the arena in a memory.
type span struct {
	memory string
	lo, hi int64
}

func (s span) meets(t span) bool { return s.memory == t.memory && s.lo < t.hi && t.lo < s.hi }

func meetsAny(s span, all []span) bool {
	for _, t := range all {
		if s.meets(t) {
			return true
		}
	}
	return false
}

// span is the first n bytes of b as an instruction uses it.
func (b *Buffer) span(by rolled.Issue, n int64) span {
	at := b.Place(by.Instance, by.Micro)
	return span{b.Memory, at, at + n}
}

// elements are the bytes of the elements of b as an instruction uses it.
func (b *Buffer) elements(by rolled.Issue) span { return b.span(by, b.Size()) }

// meets says whether the first n bytes of any instance's buffer for microbatch m are
// among those of s, which are in the same memory.
func (b *Buffer) meets(m int, n int64, s span) bool {
	if n == 0 || s.lo == s.hi {
		return false
	}
	step, last := b.Step, int64(max(b.Ring, 1)-1)
	lo := b.Place(0, m)
	if step < 0 {
		lo, step = lo+step*last, -step
	}
	if step == 0 {
		return lo < s.hi && s.lo < lo+n
	}
	// The first place that ends behind where s begins.
	k := int64(0)
	if s.lo >= lo+n {
		k = (s.lo-lo-n)/step + 1
	}
	return k <= last && lo+step*k < s.hi
}

// spans appends what an instruction reads and writes where it is issued; its buffers are
// known to be valid.
func (d *Device) spans(kernels []Kernel, in *Instr, at rolled.Issue, reads, writes []span) ([]span, []span) {
	if in.Comm == nil {
		for j, n := range in.Bufs {
			a := kernels[in.Kernel].Args[j]
			if s := d.Buffers[n].span(at, a.Bytes); a.Write {
				writes = append(writes, s)
			} else {
				reads = append(reads, s)
			}
		}
		return reads, writes
	}
	sources, destinations := in.Ends()
	for _, n := range sources {
		reads = append(reads, d.Buffers[n].elements(at))
	}
	for _, n := range destinations {
		writes = append(writes, d.Buffers[n].elements(at))
	}
	return reads, writes
}

// hull is where the instances of a buffer are for microbatch m; or with [once] for all
// microbatches. Where each instance has a place of its own, it says by which step they
// move, but of no step where microbatches have places of their own and all are asked for.
func (d *Device) hull(b *Buffer, m int) rolled.Hull[string] {
	all := b.all()
	h := rolled.Hull[string]{Memory: b.Memory, Lo: all.Lo, Hi: all.Hi}
	if m != once {
		by := b.Spread().Of(0, m)
		h.Lo, h.Hi = h.Lo+by, h.Hi-b.Spread().Width()+by
	}
	if b.Ring > 0 && b.Ring == d.Count(b.Stack) && (m != once || b.MicroRing == 0) {
		h.Moves.Step = b.Step
	}
	return h
}

// accesses is which instruction last read, and which last wrote, each byte of the device's own memory
// since one has waited for all others.
type accesses struct {
	reads, writes ranges.Map[int] // numbers from 1 in at
	at            []rolled.Issue
}

// add has an instruction use bytes. It reports one that has written them, or that has read what
// this one writes.
func (u *accesses) add(at rolled.Issue, reads, writes []span) error {
	var err error
	check := func(by *ranges.Map[int], s span) {
		by.Each(s.lo, s.hi, func(lo, _ int64, n int) bool {
			err = fmt.Errorf("%s does not wait for %s, whose bytes from %d on it needs", at, u.at[n-1], max(lo, s.lo))
			return false
		})
	}
	own := func(list []span, do func(s span)) { // only transfers, which wait, use other memories
		for _, s := range list {
			if s.memory == "" && s.lo < s.hi && err == nil {
				do(s)
			}
		}
	}
	own(reads, func(s span) { check(&u.writes, s) })
	own(writes, func(s span) { check(&u.writes, s); check(&u.reads, s) })
	u.at = append(u.at, at)
	own(reads, func(s span) { u.reads.Set(s.lo, s.hi, len(u.at)) })
	own(writes, func(s span) { u.writes.Set(s.lo, s.hi, len(u.at)) })
	return err
}

// forget begins anew, with an instruction that waits.
func (u *accesses) forget() { *u = accesses{at: u.at[:0]} }
