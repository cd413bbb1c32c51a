package program

import (
	"fmt"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
)

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
