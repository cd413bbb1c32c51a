package schedule

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

var rendezvous = Sends{Synchronous: true}

// TestProgramsNeverDeadlock: the program of every schedule runs its slots in the
// schedule's order and is proved under every kind of send, whichever costs
// placed its transfers.
func TestProgramsNeverDeadlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	everyShape(t, 5, 10, func(t *testing.T, s *Schedule) {
		for _, c := range []Costs{
			Uniform(s.Shape, Unit{1, 2, 1, 1, 0}), Uniform(s.Shape, Unit{}), randomCosts(rng, s.Shape),
		} {
			p, err := Communicate(s, c)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Schedule(); !reflect.DeepEqual(got.Devices, s.Devices) {
				t.Fatalf("%s, %s: the program runs other slots", s.Name, s.Shape)
			}
			b, err := LeastBuffers(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, sends := range []Sends{rendezvous, {Capacity: 1}, free} {
				if err := ProveProgram(p, s.Shape, Limits{sends, b}); err != nil {
					t.Fatalf("%s, %s, %s: %v", s.Name, s.Shape, sends, err)
				}
			}
		}
	})
}

// TestRandomProgramsNeverDeadlock is the same for schedules nobody would write.
func TestRandomProgramsNeverDeadlock(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for range 400 {
		s := randomSchedule(rng, randomShape(rng))
		p, err := Communicate(s, randomCosts(rng, s.Shape))
		if err != nil {
			t.Fatal(err)
		}
		for _, sends := range []Sends{rendezvous, {Capacity: 1}} {
			if err := ProveProgram(p, s.Shape, Limits{Sends: sends}); err != nil {
				t.Fatalf("%s, %s: %v", s.Shape, sends, err)
			}
		}
	}
}

// TestRendezvousCostsNothing: where stages are alike and transfers free, sends
// that wait for the receiver leave the bubble at its closed form.
func TestRendezvousCostsNothing(t *testing.T) {
	everyShape(t, 6, 12, func(t *testing.T, s *Schedule) {
		row, _ := Lookup(s.Name)
		// The rounding of sums of thirds must not move a receive.
		for _, u := range []Unit{{1, 1, 1, 1, 0}, {1. / 3, 1. / 3, 1. / 3, 1. / 3, 0}} {
			costs := Uniform(s.Shape, u)
			p, err := Communicate(s, costs)
			if err != nil {
				t.Fatal(err)
			}
			r, err := SimulateProgram(p, costs, rendezvous)
			if err != nil {
				t.Fatal(err)
			}
			if want := row.Bubble(s.Shape, u); !near(r.Bubble, want) {
				t.Errorf("%s, %s: bubble %v with rendezvous, %v without", s.Name, s.Shape, r.Bubble, want)
			}
		}
	})
}

// TestPlainNeedsAsynchronousSends: the schedules that alternate deadlock if each
// slot's transfers stand around it and sends wait; that is why Communicate
// exists.
func TestPlainNeedsAsynchronousSends(t *testing.T) {
	for _, name := range []string{"1f1b", "interleaved", "zb_h1"} {
		shape := Shape{4, 8, 1}
		if name == "interleaved" {
			shape.Chunks = 2
		}
		s, err := New(name, shape)
		if err != nil {
			t.Fatal(err)
		}
		wantRule(t, Prove(s, shape, Limits{Sends: rendezvous}), Deadlock)
	}
}

// TestTraffic: one activation and one gradient cross each boundary for each
// microbatch.
func TestTraffic(t *testing.T) {
	everyShape(t, 4, 8, func(t *testing.T, s *Schedule) {
		p, err := Communicate(s, Uniform(s.Shape, Unit{1, 1, 1, 1, 0}))
		if err != nil {
			t.Fatal(err)
		}
		sends := 0
		for _, actions := range p.Devices {
			for _, a := range actions {
				for _, x := range a.Transfers {
					if x.Send {
						sends++
					}
				}
			}
		}
		want := 2 * s.Shape.Microbatches * s.Shape.Boundaries()
		if s.Shape.Devices == 1 {
			want = 0
		}
		if sends != want {
			t.Errorf("%s, %s: %d messages, want %d", s.Name, s.Shape, sends, want)
		}
	})
}
