package pipeline

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSchedulesAreProved: every schedule of every shape is accepted, in its own
// placement alone; those that alternate forward and backward passes with a single
// message in flight.
func TestSchedulesAreProved(t *testing.T) {
	everyShape(t, 5, 12, func(t *testing.T, s *Schedule) {
		room := Unbounded
		switch s.Name {
		case "gpipe", "1f1b", "zb_h1":
			room = 1
		case "interleaved":
			if s.Shape.Microbatches%s.Shape.Devices == 0 {
				room = 1
			}
		}
		if err := Prove(s, s.Shape, room); err != nil {
			t.Errorf("%s, %s: %v", s.Name, s.Shape, err)
		}
		if s.Shape.Devices > 1 {
			other := slices.Clone(s.Place.device)
			slices.Reverse(other)
			if !slices.Equal(other, s.Place.device) {
				m := *s
				m.Place = Place(other)
				wantRule(t, Prove(&m, s.Shape, room), Misplaced)
			}
		}
	})
}

func wantRule(t *testing.T, err error, want Rule) {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) || f.Rule != want {
		t.Errorf("got %v, want a fault of rule %s", err, want)
	}
}

// randomSchedule builds a schedule by running slots that are ready at random.
// Microbatches pass each stage in order, with the backward whole or split at
// random, and the stages in a loop, folded or anywhere.
func randomSchedule(rng *rand.Rand, s Shape) *Schedule {
	place := Loop(s.Devices, s.Chunks)
	switch rng.IntN(3) {
	case 0:
		place = Fold(s.Devices, s.Chunks)
	case 1:
		rng.Shuffle(len(place), func(i, j int) { place[i], place[j] = place[j], place[i] })
	}
	out := &Schedule{Shape: s, Place: Place(place), Devices: make([][]Slot, s.Devices)}
	n := s.Stages()
	forward, backward, weight := make([]int, n), make([]int, n), make([]int, n)
	split := make([]bool, n)
	for i := range split {
		split[i] = rng.IntN(2) == 0
	}
	// Preferring one kind now and then makes runs of it, which need room.
	for left := 3 * n * s.Microbatches; left > 0; {
		kind, burst := Kind(rng.IntN(int(kinds))), 1+rng.IntN(24)
		for ; burst > 0; burst-- {
			stage := rng.IntN(n)
			i := -1
			switch kind {
			case Forward:
				if forward[stage] < s.Microbatches && (stage == 0 || forward[stage-1] > forward[stage]) {
					i = forward[stage]
					forward[stage]++
				}
			case Backward, BackwardInput:
				ready := backward[stage] < forward[stage] && (stage == n-1 || backward[stage+1] > backward[stage])
				if ready && split[stage] == (kind == BackwardInput) {
					i = backward[stage]
					backward[stage]++
					if kind == Backward {
						weight[stage]++
						left--
					}
				}
			case BackwardWeight:
				if weight[stage] < backward[stage] {
					i = weight[stage]
					weight[stage]++
				}
			}
			if i >= 0 {
				d := out.Place.Device(stage)
				out.Devices[d] = append(out.Devices[d], Slot{kind, stage, i})
				left--
			}
		}
	}
	return out
}

func randomShape(rng *rand.Rand) Shape {
	return Shape{Devices: 1 + rng.IntN(4), Microbatches: 1 + rng.IntN(6), Chunks: 1 + rng.IntN(3)}
}

// TestProofIsExact: over random schedules in random placements the proof says that
// a schedule comes to its end with so much room if and only if an executor that
// shares no code with it does.
func TestProofIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	agree := map[bool]int{}
	for range 1800 {
		s := randomSchedule(rng, randomShape(rng))
		for _, room := range []int{1, 2, s.Shape.Microbatches, Unbounded} {
			proved, ran := Prove(s, s.Shape, room), wrong(s, room, rng)
			if (proved == nil) != (ran == "") {
				t.Fatalf("%s, room for %d: proof says %v, the executor %q", s.Shape, room, proved, ran)
			}
			if proved != nil {
				wantRule(t, proved, Deadlock)
			}
			agree[proved == nil]++
		}
	}
	if agree[true] < 1000 || agree[false] < 500 {
		t.Errorf("%d accepted and %d rejected: too few of one to mean anything", agree[true], agree[false])
	}
}

// TestProofOfOtherShape: a schedule of other numbers than wanted is not proved, nor
// one whose placement is of others.
func TestProofOfOtherShape(t *testing.T) {
	make := func() *Schedule {
		s, _ := New("1f1b", Shape{Devices: 2, Microbatches: 4, Chunks: 1}, Costs{})
		return s
	}
	shape := Shape{Devices: 2, Microbatches: 4, Chunks: 1}
	wantRule(t, Prove(make(), Shape{Devices: 2, Microbatches: 5, Chunks: 1}, 1), BadShape)
	wantRule(t, Prove(make(), Shape{}, 1), BadShape)
	wantRule(t, Prove(make(), shape, 0), BadShape)
	for _, place := range []*Placement{nil, Place([]int{0}), Place([]int{0, 0}), Place([]int{0, 1, 1}), Place([]int{0, 2})} {
		s := make()
		s.Place = place
		wantRule(t, Prove(s, shape, 1), BadShape)
	}
	s := make()
	s.Devices = s.Devices[:1]
	wantRule(t, Prove(s, shape, 1), BadShape)
}

// TestGarbage: no schedule, however wrong, makes a check panic.
func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	number := func() int { return []int{-1 << 62, -1, 0, 1, 2, 3, 1 << 62}[rng.IntN(7)] }
	for range 3000 {
		shape := Shape{Devices: number(), Microbatches: number(), Chunks: number()}
		if rng.IntN(2) == 0 {
			shape = Shape{Devices: 2, Microbatches: 2, Chunks: 2}
		}
		s := &Schedule{Shape: shape, Place: Place([]int{0, 1, 1, 0})}
		for range rng.IntN(4) {
			s.Devices = append(s.Devices, []Slot{{Kind(rng.IntN(5)), number(), number()}})
		}
		if Prove(s, shape, Unbounded) == nil {
			t.Fatalf("accepted %+v", s)
		}
		if _, err := Simulate(s, Uniform(Shape{Devices: 2, Microbatches: 2, Chunks: 2}, Unit{1, 1, 1, 0}), 1); err == nil {
			t.Fatalf("simulated %+v", s)
		}
	}
}

// BenchmarkProve is the proof of a large pipeline.
func BenchmarkProve(b *testing.B) {
	s, err := New("interleaved", Shape{Devices: 16, Microbatches: 128, Chunks: 4}, Costs{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := Prove(s, s.Shape, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkList is the list scheduler on a large pipeline.
func BenchmarkList(b *testing.B) {
	for b.Loop() {
		if _, err := New("zb_v", Shape{Devices: 32, Microbatches: 256, Chunks: 2}, Costs{}); err != nil {
			b.Fatal(err)
		}
	}
}
