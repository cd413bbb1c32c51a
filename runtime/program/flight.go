package program

import (
	"fmt"
	"slices"
	"strings"
)

// flights are the communications of a program that are started and not done,
// while its instructions are checked in order.
type flights struct {
	open []flight
	axes map[string]int // how many over each set of axes
}

// flight is one of them: until it is done nobody may write what it sends, nor
// touch where it receives.
type flight struct {
	at          int
	over        string
	sends, into []span
}

// pass checks instruction i, which reads and writes these bytes, against what
// is under way, and takes it up or ends one.
func (f *flights) pass(i int, in *Instr, reads, writes []span) error {
	c := in.Comm
	if c != nil && c.Kind == Done {
		return f.land(c.Of)
	}
	for _, x := range f.open {
		for _, w := range writes {
			if meetsAny(w, x.sends) || meetsAny(w, x.into) {
				return fmt.Errorf("instruction %d writes bytes from %d on, which instruction %d, under way, uses", i, w.lo, x.at)
			}
		}
		for _, r := range reads {
			if meetsAny(r, x.into) {
				return fmt.Errorf("instruction %d reads bytes from %d on, where instruction %d, under way, receives", i, r.lo, x.at)
			}
		}
	}
	if c == nil || !c.Start {
		return nil
	}
	x := flight{at: i, over: strings.Join(c.Over, " "), sends: slices.Clone(reads), into: slices.Clone(writes)}
	f.open = append(f.open, x)
	if f.axes == nil {
		f.axes = map[string]int{}
	}
	if f.axes[x.over]++; f.axes[x.over] > MaxOpen {
		return fmt.Errorf("instruction %d starts more than %d communications over %s", i, MaxOpen, x.over)
	}
	return nil
}

func (f *flights) land(at int) error {
	for n, x := range f.open {
		if x.at == at {
			f.axes[x.over]--
			f.open = append(f.open[:n], f.open[n+1:]...)
			return nil
		}
	}
	return fmt.Errorf("done of instruction %d, which is not under way", at)
}

// end checks that nothing is under way behind the last instruction.
func (f *flights) end() error {
	if len(f.open) > 0 {
		return fmt.Errorf("instruction %d is started and never done", f.open[0].at)
	}
	return nil
}
