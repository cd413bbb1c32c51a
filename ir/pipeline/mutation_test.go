package pipeline

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// mutants is how many wrong programs of each kind the proof must have rejected
// for the tests to mean something.
const mutants = 500

// tally compares the proof with the executor over mutants.
type tally struct {
	bad, strict, accepted int
	rules                 map[Rule]int
}

// judge demands that whatever the executor finds wrong is rejected, and that a
// rejected schedule that computes the right thing does something twice.
func (c *tally) judge(t *testing.T, what string, proved error, verdict string) {
	t.Helper()
	var fault *Fault
	switch {
	case proved == nil && verdict != "":
		t.Errorf("%s: accepted, but it %s", what, verdict)
	case proved == nil:
		c.accepted++
	case !errors.As(proved, &fault) || fault.Text == "":
		t.Errorf("%s: %v is not a fault in words", what, proved)
	default:
		c.rules[fault.Rule]++
		if verdict != "" {
			c.bad++
		} else if c.strict++; fault.Rule != Duplicate && fault.Rule != Order {
			t.Errorf("%s: rejected although it does the same work: %v", what, proved)
		}
	}
}

func (c *tally) finish(t *testing.T, rules ...Rule) {
	t.Helper()
	t.Logf("%d wrong and rejected, %d harmless and rejected, %d harmless and accepted; %v", c.bad, c.strict, c.accepted, c.rules)
	if c.bad < mutants {
		t.Errorf("only %d mutants were wrong", c.bad)
	}
	for _, r := range rules {
		if c.rules[r] == 0 {
			t.Errorf("no mutant was rejected by the rule %q", r)
		}
	}
}

// original returns a random correct schedule: a registered one or any other.
func original(t *testing.T, rng *rand.Rand) *Schedule {
	if rng.IntN(3) == 0 {
		return randomSchedule(rng, Shape{Devices: 1 + rng.IntN(3), Microbatches: 1 + rng.IntN(4), Chunks: 1 + rng.IntN(2)})
	}
	names := Names()
	row, err := Lookup(names[rng.IntN(len(names))])
	if err != nil {
		t.Fatal(err)
	}
	shape := Shape{Devices: 1 + rng.IntN(4), Microbatches: 1 + rng.IntN(7), Chunks: min(row.Most, row.Least+rng.IntN(2))}
	s, err := New(row.Name, shape, Costs{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// mutateSlots changes one thing and names it.
func mutateSlots(rng *rand.Rand, s *Schedule) string {
	d := rng.IntN(len(s.Devices))
	list := s.Devices[d]
	k := rng.IntN(len(list))
	switch rng.IntN(7) {
	case 0:
		s.Devices[d] = remove(list, k)
		return "drop"
	case 1:
		s.Devices[d] = insert(list, rng.IntN(len(list)+1), list[k])
		return "duplicate"
	case 2:
		x := list[k]
		list = remove(list, k)
		s.Devices[d] = insert(list, rng.IntN(len(list)+1), x)
		return "reorder"
	case 3:
		j := rng.IntN(len(list))
		list[k], list[j] = list[j], list[k]
		return "swap"
	case 4:
		e := rng.IntN(len(s.Devices))
		j := rng.IntN(len(s.Devices[e]))
		list[k], s.Devices[e][j] = s.Devices[e][j], list[k]
		return "swap between devices"
	case 5:
		list[k].Microbatch = rng.IntN(s.Shape.Microbatches+2) - 1
		return "change microbatch"
	}
	if rng.IntN(2) == 0 {
		list[k].Kind = Kind(rng.IntN(int(kinds)))
		return "change kind"
	}
	list[k].Stage = rng.IntN(s.Shape.Stages())
	return "change stage"
}

func remove[T any](list []T, k int) []T {
	return append(append([]T(nil), list[:k]...), list[k+1:]...)
}

func insert[T any](list []T, k int, x T) []T {
	return append(append(append([]T(nil), list[:k]...), x), list[k:]...)
}

// TestMutatedSchedules: mutate the slots of correct schedules, under no more room
// than they need.
func TestMutatedSchedules(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	count := tally{rules: map[Rule]int{}}
	for range 3000 {
		s := original(t, rng)
		room := 1
		for Prove(s, s.Shape, room) != nil {
			if room++; room > s.Shape.Microbatches {
				t.Fatal(Prove(s, s.Shape, room))
			}
		}
		if w := wrong(s, room, rng); w != "" {
			t.Fatalf("the original of %s %s %s", s.Name, s.Shape, w)
		}
		m := s.clone()
		what := mutateSlots(rng, m)
		verdict := "cannot be placed"
		if checkSlots(m) == nil {
			verdict = wrong(m, room, rng)
		}
		count.judge(t, what+" in "+s.Name+", "+s.Shape.String(), Prove(m, s.Shape, room), verdict)
	}
	count.finish(t, Misplaced, Duplicate, Missing, Order, Deadlock)
}

// clone returns a schedule with slots of its own.
func (s *Schedule) clone() *Schedule {
	c := *s
	c.Devices = make([][]Slot, len(s.Devices))
	for d, slots := range s.Devices {
		c.Devices[d] = slices.Clone(slots)
	}
	return &c
}
