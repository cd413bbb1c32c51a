package host

import (
	"slices"
	"time"
)

// A range of a program that takes less than a millisecond is often faster on one thread than
// on several, which meet at each launch; by how much depends on the machine, and on what else
// it does. So it is tried: the first replays run on one thread and on all in turns, and all have
// the rest if their median is a fifth less. What reads the data and writes logs takes more from
// threads that wait for one another than a smaller gain is worth. Results are the same.
const (
	triesWarm = 3                    // replays before, on all threads: their caches and pages are cold
	triesEach = 9                    // replays that are measured of either
	tryBelow  = 1 * time.Millisecond // what takes longer gains by several threads
)

// trial is what is known of a range.
type trial struct {
	n       int // replays so far
	brief   bool
	decided bool
	alone   bool // once decided
	took    [2][triesEach]time.Duration
}

// next says whether the next replay is thread 0's alone.
func (t *trial) next() bool {
	if t.decided {
		return t.alone
	}
	return t.n >= triesWarm && (t.n-triesWarm)%2 == 1
}

// ended tells how long the replay took that next was asked for.
func (t *trial) ended(d time.Duration) {
	if t.decided {
		return
	}
	t.n++
	i := t.n - 1 - triesWarm
	if i < 0 {
		t.brief = t.brief || d < tryBelow
		t.decided = i == -1 && !t.brief
		return
	}
	t.took[i%2][i/2] = d
	if i == 2*triesEach-1 {
		all, one := median(t.took[0][:]), median(t.took[1][:])
		t.alone, t.decided = all*5 > one*4, true
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}
