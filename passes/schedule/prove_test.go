package schedule

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// TestSchedulesAreProved: every schedule of every shape is accepted with a
// single message in flight and the least buffers, and rejected with one fewer.
func TestSchedulesAreProved(t *testing.T) {
	everyShape(t, 5, 12, func(t *testing.T, s *Schedule) {
		c, err := LeastCapacity(s)
		if err != nil {
			t.Fatalf("%s, %s: %v", s.Name, s.Shape, err)
		}
		b, err := LeastBuffers(Plain(s))
		if err != nil {
			t.Fatal(err)
		}
		if err := Prove(s, s.Shape, Limits{Sends{Capacity: c}, b}); err != nil {
			t.Errorf("%s, %s: %v", s.Name, s.Shape, err)
		}
		if c != 1 {
			t.Errorf("%s, %s: needs %d messages in flight per channel, 1 should do", s.Name, s.Shape, c)
		}
		for stage, n := range b.Saved {
			if n > 1 {
				fewer := Buffers{Saved: append([]int(nil), b.Saved...)}
				fewer.Saved[stage]--
				wantRule(t, Prove(s, s.Shape, Limits{Sends{Capacity: c}, fewer}), Overwrite)
			}
		}
	})
}

// TestLeastBuffers: microbatches pass through a stage in order, so the buffers
// needed are exactly the activations that the stage holds at its peak.
func TestLeastBuffers(t *testing.T) {
	everyShape(t, 5, 12, func(t *testing.T, s *Schedule) {
		b, err := LeastBuffers(Plain(s))
		if err != nil {
			t.Fatal(err)
		}
		for stage, peak := range simulate(t, s, Unit{1, 1, 1, 1, 0}).StagePeak {
			if b.Saved[stage] != peak {
				t.Errorf("%s, %s: stage %d needs %d buffers, holds %d", s.Name, s.Shape, stage, b.Saved[stage], peak)
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
// random.
func randomSchedule(rng *rand.Rand, s Shape) *Schedule {
	out := &Schedule{Shape: s, Devices: make([][]Slot, s.Devices)}
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
				d := s.Device(stage)
				out.Devices[d] = append(out.Devices[d], Slot{kind, stage, i})
				left--
			}
		}
	}
	return out
}

func randomShape(rng *rand.Rand) Shape {
	return Shape{1 + rng.IntN(4), 1 + rng.IntN(6), 1 + rng.IntN(3)}
}

// TestProofIsExact: over random schedules and their transfer programs the
// search for a cycle and the simulation agree on every bound, in both
// directions.
func TestProofIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	agree := map[bool]int{}
	for range 600 {
		s := randomSchedule(rng, randomShape(rng))
		programs := []*Program{Plain(s)}
		if p, err := Communicate(s, randomCosts(rng, s.Shape)); err == nil {
			programs = append(programs, p)
		} else {
			t.Fatal(err)
		}
		costs := randomCosts(rng, s.Shape)
		bounds := []Sends{{Synchronous: true}, {Capacity: 1}, {Capacity: 2}, {Capacity: s.Shape.Microbatches}}
		for _, p := range programs {
			for _, b := range bounds {
				proved := ProveProgram(p, s.Shape, Limits{Sends: b})
				_, ran := SimulateProgram(p, costs, b)
				if (proved == nil) != (ran == nil) {
					t.Fatalf("%s, %s: proof says %v, simulation says %v", s.Shape, b, proved, ran)
				}
				if proved != nil {
					wantRule(t, proved, Deadlock)
				}
				agree[proved == nil]++
			}
		}
	}
	if agree[true] < 1000 || agree[false] < 500 {
		t.Errorf("%d accepted and %d rejected: too few of one to mean anything", agree[true], agree[false])
	}
}

// TestProofOfOtherShape: a schedule of other numbers than wanted is not proved.
func TestProofOfOtherShape(t *testing.T) {
	s, _ := New("1f1b", Shape{2, 4, 1})
	wantRule(t, Prove(s, Shape{2, 5, 1}, Limits{Sends: free}), BadShape)
	wantRule(t, Prove(s, Shape{}, Limits{Sends: free}), BadShape)
	wantRule(t, Prove(s, s.Shape, Limits{}), BadShape)
	wantRule(t, Prove(s, s.Shape, Limits{free, Buffers{Saved: []int{1}}}), BadShape)
	wantRule(t, Prove(s, s.Shape, Limits{free, Buffers{Saved: []int{2, 0}}}), BadShape)
	s.Devices = s.Devices[:1]
	wantRule(t, Prove(s, s.Shape, Limits{Sends: free}), BadShape)
}

// TestLeastCapacity: the simulation comes to its end with the least capacity
// and stops with less, also where one message in flight is not enough.
func TestLeastCapacity(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	several := 0
	for range 300 {
		s := randomSchedule(rng, Shape{2 + rng.IntN(3), 3 + rng.IntN(5), 1})
		c, err := LeastCapacity(s)
		if err != nil {
			t.Fatal(err)
		}
		costs := randomCosts(rng, s.Shape)
		if _, err := Simulate(s, costs, Sends{Capacity: c}); err != nil {
			t.Errorf("%s, capacity %d: %v", s.Shape, c, err)
		}
		if c > 1 {
			several++
			_, err := Simulate(s, costs, Sends{Capacity: c - 1})
			wantRule(t, err, Deadlock)
		}
	}
	if several < 20 {
		t.Errorf("only %d schedules needed more than one message in flight", several)
	}
	if _, err := LeastCapacity(&Schedule{Shape: Shape{1, 1, 1}, Devices: [][]Slot{nil}}); err == nil {
		t.Error("an empty schedule has a least capacity")
	}
}

// TestGarbage: no schedule or program, however wrong, makes a check panic.
func TestGarbage(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	number := func() int { return []int{-1 << 62, -1, 0, 1, 2, 3, 1 << 62}[rng.IntN(7)] }
	for range 3000 {
		shape := Shape{number(), number(), number()}
		if rng.IntN(2) == 0 {
			shape = Shape{2, 2, 2}
		}
		s, p := &Schedule{Shape: shape}, &Program{Shape: shape}
		for range rng.IntN(4) {
			slot := Slot{Kind(rng.IntN(5)), number(), number()}
			s.Devices = append(s.Devices, []Slot{slot})
			p.Devices = append(p.Devices, []Action{{Slot: slot}, {Transfers: []Transfer{
				{rng.IntN(2) == 0, Message{Payload(rng.IntN(3)), number(), number()}, number()}}}})
		}
		if Prove(s, shape, Limits{Sends: free}) == nil || ProveProgram(p, shape, Limits{Sends: free}) == nil {
			t.Fatalf("accepted %+v", s)
		}
		// These may accept work that is only incomplete.
		c := Uniform(Shape{2, 2, 2}, Unit{1, 1, 1, 1, 0})
		_, _ = Simulate(s, c, free)
		_, _ = SimulateProgram(p, c, rendezvous)
		_, _ = Communicate(s, c)
		if _, err := LeastBuffers(p); err == nil {
			t.Fatalf("buffers for %+v", p)
		}
	}
}

// BenchmarkProve is the proof of a large pipeline.
func BenchmarkProve(b *testing.B) {
	s, err := New("interleaved", Shape{16, 128, 4})
	if err != nil {
		b.Fatal(err)
	}
	p, err := Communicate(s, Uniform(s.Shape, Unit{1, 2, 1, 1, 0}))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := ProveProgram(p, s.Shape, Limits{Sends: rendezvous}); err != nil {
			b.Fatal(err)
		}
	}
}
