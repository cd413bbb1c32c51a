package program

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/internal/ranges"
	"ptc/internal/rolled"
)

// flights are the communications of a program that are started and not done,
// while its instructions are checked in order.
type flights struct {
	open []flight
	axes map[string]int // how many over each set of axes
	// sent and got count, for each byte of a memory, the flights that send it and
	// that receive it: merged communications have hundreds of buffers.
	sent, got map[string]*ranges.Map[int]
}

// flight is one of them: until it is done nobody may write what it sends, nor
// touch where it receives.
type flight struct {
	at          rolled.Issue
	over        string
	counted     bool // among those over these axes
	sends, into []span
}

// pass checks an instruction, which reads and writes these bytes, against what
// is under way, and takes it up or ends one.
func (f *flights) pass(at rolled.Issue, in *Instr, reads, writes []span) error {
	c := in.Comm
	if c != nil && c.Kind == collective.Done {
		at.Op = c.Of
		return f.land(at)
	}
	if err := f.clear(at, reads, writes); err != nil {
		return err
	}
	if c == nil || !c.Start {
		return nil
	}
	x := flight{at: at, over: strings.Join(c.Over, " "), counted: c.Kind != collective.Recv, sends: slices.Clone(reads), into: slices.Clone(writes)}
	f.open = append(f.open, x)
	if f.axes == nil {
		f.axes, f.sent, f.got = map[string]int{}, map[string]*ranges.Map[int]{}, map[string]*ranges.Map[int]{}
	}
	f.count(x, 1)
	if !x.counted { // a receive: streams are counted where they meet
		return nil
	}
	if f.axes[x.over]++; f.axes[x.over] > MaxOpen {
		return fmt.Errorf("%s starts more than %d communications over %s", at, MaxOpen, x.over)
	}
	return nil
}

// clear reports an instruction that uses bytes of a flight.
func (f *flights) clear(at rolled.Issue, reads, writes []span) error {
	used := func(by map[string]*ranges.Map[int]) func(s span) bool {
		return func(s span) bool { m := by[s.memory]; return m != nil && m.Any(s.lo, s.hi) }
	}
	if !slices.ContainsFunc(writes, used(f.sent)) && !slices.ContainsFunc(writes, used(f.got)) && !slices.ContainsFunc(reads, used(f.got)) {
		return nil
	}
	for _, x := range f.open {
		for _, w := range writes {
			if meetsAny(w, x.sends) || meetsAny(w, x.into) {
				return fmt.Errorf("%s writes bytes from %d on, which %s, under way, uses", at, w.lo, x.at)
			}
		}
		for _, r := range reads {
			if meetsAny(r, x.into) {
				return fmt.Errorf("%s reads bytes from %d on, where %s, under way, receives", at, r.lo, x.at)
			}
		}
	}
	return nil
}

// count adds n to the flights that use the bytes of x.
func (f *flights) count(x flight, n int) {
	add := func(by map[string]*ranges.Map[int], spans []span) {
		for _, s := range spans {
			if by[s.memory] == nil {
				by[s.memory] = new(ranges.Map[int])
			}
			by[s.memory].Update(s.lo, s.hi, func(m int) int { return m + n })
		}
	}
	add(f.sent, x.sends)
	add(f.got, x.into)
}

func (f *flights) land(at rolled.Issue) error {
	for n, x := range f.open {
		if x.at == at {
			if x.counted {
				f.axes[x.over]--
			}
			f.count(x, -1)
			f.open = append(f.open[:n], f.open[n+1:]...)
			return nil
		}
	}
	return fmt.Errorf("done of %s, which is not under way", at)
}

// end checks that nothing is under way behind the last instruction of a tick.
func (f *flights) end() error {
	if len(f.open) > 0 {
		return fmt.Errorf("%s is started and never done", f.open[0].at)
	}
	return nil
}
