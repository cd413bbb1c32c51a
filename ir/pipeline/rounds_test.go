package pipeline

import (
	"slices"
	"testing"
)

// TestForwardOnly: of every schedule the forward passes alone are a schedule, which
// holds one activation at a time, and proves with little room; a backward pass in it is
// a fault.
func TestForwardOnly(t *testing.T) {
	everyShape(t, 5, 9, func(t *testing.T, s *Schedule) {
		shape := s.Shape
		shape.ForwardOnly = true
		f, err := New(s.Name, shape, Costs{})
		if err != nil {
			t.Fatal(err)
		}
		if err := Prove(f, shape, Unbounded); err != nil {
			t.Fatalf("%s, %s: %v", s.Name, shape, err)
		}
		r := simulate(t, f, Unit{Forward: 1})
		if most := slices.Max(r.Peak); most != 1 {
			t.Errorf("%s, %s: %d activations are held", s.Name, shape, most)
		}
		// A device without idle time between its slots works m·v units, and the last stage
		// begins p − 1 units late.
		if least := float64(shape.Chunks*shape.Microbatches + shape.Devices - 1); shape.Chunks == 1 && r.Makespan != least {
			t.Errorf("%s, %s: takes %v units, want %v", s.Name, shape, r.Makespan, least)
		}
		f.Devices[0] = append(f.Devices[0], Slot{Backward, s.Place.Stages(0)[0], 0})
		wantRule(t, Prove(f, shape, Unbounded), Misplaced)
	})
}

// TestRounds: a schedule again and again is one of so many more microbatches, of which
// no device holds more than in one round.
func TestRounds(t *testing.T) {
	everyShape(t, 4, 6, func(t *testing.T, s *Schedule) {
		for _, only := range []bool{false, true} {
			shape := s.Shape
			shape.ForwardOnly = only
			one, err := New(s.Name, shape, Costs{})
			if err != nil {
				t.Fatal(err)
			}
			all := one.Rounds(3)
			want := shape
			want.Microbatches *= 3
			if err := Prove(all, want, Unbounded); err != nil {
				t.Fatalf("%s, %s: %v", s.Name, shape, err)
			}
			u := Unit{1, 1, 1, 0}
			if a, b := simulate(t, one, u), simulate(t, all, u); !slices.Equal(a.Peak, b.Peak) || b.Makespan > 3*a.Makespan {
				t.Errorf("%s, %s: three rounds hold %v in %v, one %v in %v", s.Name, shape, b.Peak, b.Makespan, a.Peak, a.Makespan)
			}
		}
	})
}
