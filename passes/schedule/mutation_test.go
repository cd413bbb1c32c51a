package schedule

import (
	"errors"
	"math/rand/v2"
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

// judge demands that whatever the executor finds wrong is rejected. A rejected
// program that computes the right thing must do something twice or confuse
// microbatches that happen to share a buffer, which alone shows that it does if
// each microbatch has its own.
func (c *tally) judge(t *testing.T, what string, proved error, verdict string, unshared func() string) {
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
		} else if c.strict++; fault.Rule != Duplicate && unshared() == "" {
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
		return randomSchedule(rng, Shape{1 + rng.IntN(3), 1 + rng.IntN(4), 1 + rng.IntN(2)})
	}
	shape := Shape{1 + rng.IntN(4), 1 + rng.IntN(5), 1}
	names := Names()
	name := names[rng.IntN(len(names))]
	if name == "interleaved" {
		shape.Chunks, shape.Microbatches = 2, shape.Devices*(1+rng.IntN(2))
	}
	s, err := New(name, shape)
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

// unshared returns a buffer for each microbatch everywhere.
func unshared(s Shape) Buffers {
	each := func(n int) []int {
		out := make([]int, n)
		for i := range out {
			out[i] = s.Microbatches
		}
		return out
	}
	n := s.Boundaries()
	return Buffers{each(s.Stages()), [payloads][]int{each(n), each(n)}, [payloads][]int{each(n), each(n)}}
}

// TestMutatedSchedules: mutate the slots of correct schedules, under the least
// capacity and buffers they need, so that there is no slack.
func TestMutatedSchedules(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	count := tally{rules: map[Rule]int{}}
	for range 3000 {
		s := original(t, rng)
		c, err := LeastCapacity(s)
		if err != nil {
			t.Fatal(err)
		}
		b, err := LeastBuffers(Plain(s))
		if err != nil {
			t.Fatal(err)
		}
		sends := Sends{Capacity: c}
		if w := wrong(Plain(s), b, sends, rng); w != "" {
			t.Fatalf("the original of %s %s %s", s.Name, s.Shape, w)
		}
		m := s.Clone()
		what := mutateSlots(rng, m)
		verdict := "cannot be placed"
		if checkSlots(m) == nil {
			verdict = wrong(Plain(m), b, sends, rng)
		}
		count.judge(t, what+" in "+s.Name+", "+s.Shape.String(), Prove(m, s.Shape, Limits{sends, b}), verdict,
			func() string { return wrong(Plain(m), unshared(s.Shape), sends, rng) })
	}
	count.finish(t, Misplaced, Duplicate, Missing, Order, Mismatch, Deadlock, Overwrite)
}

// mutateTransfers changes one thing about the transfers of a program and names
// it, or returns nothing if the program has none.
func mutateTransfers(rng *rand.Rand, p *Program) string {
	type place struct{ d, k int }
	var places []place
	for d, actions := range p.Devices {
		for k, a := range actions {
			if !a.IsRun() {
				places = append(places, place{d, k})
			}
		}
	}
	if len(places) == 0 {
		return ""
	}
	at := places[rng.IntN(len(places))]
	list := p.Devices[at.d]
	group := append([]Transfer(nil), list[at.k].Transfers...)
	j := rng.IntN(len(group))
	without := func() []Action { // the program without transfer j
		rest := remove(group, j)
		if len(rest) == 0 {
			return remove(list, at.k)
		}
		out := append([]Action(nil), list...)
		out[at.k] = Action{Transfers: rest}
		return out
	}
	switch rng.IntN(7) {
	case 0:
		p.Devices[at.d] = without()
		return "drop a transfer"
	case 1:
		p.Devices[at.d] = insert(list, rng.IntN(len(list)+1), Action{Transfers: []Transfer{group[j]}})
		return "duplicate a transfer"
	case 2:
		out := without()
		p.Devices[at.d] = insert(out, rng.IntN(len(out)+1), Action{Transfers: []Transfer{group[j]}})
		return "move a transfer"
	case 3: // take a group apart, in any order
		out := remove(list, at.k)
		for _, i := range rng.Perm(len(group)) {
			out = insert(out, at.k, Action{Transfers: []Transfer{group[i]}})
		}
		p.Devices[at.d] = out
		return "take a group apart"
	case 4:
		group[j].Message.Microbatch = rng.IntN(p.Shape.Microbatches)
		list[at.k] = Action{Transfers: group}
		return "change a transfer's microbatch"
	case 5:
		other := places[rng.IntN(len(places))]
		a, b := &list[at.k], &p.Devices[other.d][other.k]
		*a, *b = *b, *a
		return "swap two groups"
	}
	group[j].Send = !group[j].Send
	list[at.k] = Action{Transfers: group}
	return "turn a transfer round"
}

// TestMutatedPrograms: mutate the transfers of correct programs, under sends
// that wait and under a single message in flight.
func TestMutatedPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	count := tally{rules: map[Rule]int{}}
	for range 3000 {
		s := original(t, rng)
		p, err := Communicate(s, Uniform(s.Shape, Unit{1, 2, 1, 1, 0}))
		if err != nil {
			t.Fatal(err)
		}
		b, err := LeastBuffers(p)
		if err != nil {
			t.Fatal(err)
		}
		sends := Sends{Synchronous: rng.IntN(2) == 0, Capacity: 1}
		if w := wrong(p, b, sends, rng); w != "" {
			t.Fatalf("the original of %s %s %s", s.Name, s.Shape, w)
		}
		what := mutateTransfers(rng, p)
		if what == "" {
			continue
		}
		verdict := "cannot be placed"
		if checkProgram(p) == nil {
			verdict = wrong(p, b, sends, rng)
		}
		count.judge(t, what+" in "+s.Name+", "+s.Shape.String(), ProveProgram(p, s.Shape, Limits{sends, b}), verdict,
			func() string { return wrong(p, unshared(s.Shape), sends, rng) })
	}
	count.finish(t, Misplaced, Duplicate, Missing, Order, Mismatch, Deadlock, Overwrite)
}
