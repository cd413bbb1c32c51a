package host

import (
	"testing"
	"time"
)

// TestTrial replays ranges of given times on one thread and on all.
func TestTrial(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name         string
		first        time.Duration // of the first replay
		alone, all   time.Duration
		slow         int // every so many replays take ten times as long: 0 is none
		want         bool
		replaysAlone int // before it is decided
	}{
		{"one thread is faster", 5000 * us, 100 * us, 140 * us, 0, true, triesEach},
		{"all are little faster", 5000 * us, 110 * us, 100 * us, 0, true, triesEach},
		{"all are faster", 5000 * us, 140 * us, 100 * us, 0, false, triesEach},
		{"one thread is faster, with outliers", 5000 * us, 100 * us, 140 * us, 5, true, triesEach},
		{"all are faster, with outliers", 5000 * us, 140 * us, 100 * us, 5, false, triesEach},
		{"long", 5000 * us, 900 * us, 1000 * us, 0, false, 0},
	} {
		var x trial
		alone := 0
		for i := range triesWarm + 2*triesEach {
			d := c.all
			if x.next() {
				alone++
				d = c.alone
			}
			if i == 0 {
				d = c.first
			}
			if c.slow > 0 && i%c.slow == c.slow-1 {
				d *= 10
			}
			x.ended(d)
		}
		if !x.decided || x.next() != c.want || alone != c.replaysAlone {
			t.Errorf("%s: decided %v, for one thread %v after %d replays of it", c.name, x.decided, x.next(), alone)
		}
	}
}
