package pipeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestListScheduler: from any placement, limit of memory and costs come schedules
// that are proved, hold no more than the limit, and leave no device idle for longer
// than one that runs a microbatch at a time.
func TestListScheduler(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for range 400 {
		shape := Shape{Devices: 1 + rng.IntN(5), Microbatches: 1 + rng.IntN(9), Chunks: 1 + rng.IntN(4)}
		devices := Loop(shape.Devices, shape.Chunks)
		if rng.IntN(2) == 0 {
			rng.Shuffle(len(devices), func(i, j int) { devices[i], devices[j] = devices[j], devices[i] })
		}
		c, limit := randomCosts(rng, shape), 1+rng.IntN(3*shape.Stages())
		s := &Schedule{Shape: shape, Place: Place(devices)}
		s.Devices = greedy(shape, s.Place, c, limit)
		if err := Prove(s, shape, Unbounded); err != nil {
			t.Fatalf("%s on %v, limit %d: %v", shape, devices, limit, err)
		}
		r, err := Simulate(s, c, Unbounded)
		if err != nil {
			t.Fatal(err)
		}
		if peak := slices.Max(r.Peak); peak > max(limit, shape.Chunks) {
			t.Errorf("%s on %v holds %d, limit %d", shape, devices, peak, limit)
		}
		serial := 0.0
		for _, xs := range [][]float64{c.Forward, c.Input, c.Weight, c.Message, c.Message} {
			for _, x := range xs {
				serial += x
			}
		}
		if most := serial * float64(shape.Microbatches); r.Makespan > most+1e-9 {
			t.Errorf("%s on %v takes %v, one microbatch after the other %v", shape, devices, r.Makespan, most)
		}
	}
}

// TestCostsDriveTheList: for uneven costs, a schedule that was made for them is
// mostly shorter than one that was made for equal ones.
func TestCostsDriveTheList(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	shorter := 0
	for range 60 {
		shape := Shape{Devices: 2 + rng.IntN(5), Microbatches: 8 + rng.IntN(9), Chunks: 2}
		c := randomCosts(rng, shape)
		step := func(made Costs) float64 {
			s, err := New("zb_v", shape, made)
			if err != nil {
				t.Fatal(err)
			}
			r, err := Simulate(s, c, Unbounded)
			if err != nil {
				t.Fatal(err)
			}
			return r.Makespan
		}
		if step(c) < step(Costs{}) {
			shorter++
		}
	}
	if shorter < 45 {
		t.Errorf("%d of 60 schedules are shorter for knowing the costs", shorter)
	}
}

// TestWaiting: with a bound of the weight backwards that wait on a stage, every schedule is proved,
// keeps to it, holds no more activations and waits no longer than 1f1b, where that is what it improves.
func TestWaiting(t *testing.T) {
	split := 0
	for _, name := range Names() {
		for p := 1; p <= 6; p++ {
			for _, m := range []int{1, 2, p, 2*p + 1, 4 * p} {
				for v := 1; v <= 3; v++ {
					for most := 1; most <= 3; most++ {
						shape := Shape{Devices: p, Microbatches: m, Chunks: v, Waiting: most}
						s, err := New(name, shape, Costs{})
						if err != nil {
							continue
						}
						if err := Prove(s, shape, Unbounded); err != nil {
							t.Fatalf("%s, %s, %d waiting: %v", name, shape, most, err)
						}
						split += waiting(t, s, most)
						r := simulate(t, s, Unit{1, 1, 1, 0})
						if peak, want := slices.Max(r.Peak), rows[name].Peak(shape, 0); peak > want {
							t.Errorf("%s, %s, %d waiting: %d activations, at most %d", name, shape, most, peak, want)
						}
						if n := float64(p - 1); strings.HasPrefix(name, "zb") && r.Bubble > n/(n+float64(m))+1e-9 {
							t.Errorf("%s, %s, %d waiting: bubble %v, 1f1b %v", name, shape, most, r.Bubble, n/(n+float64(m)))
						}
					}
				}
			}
		}
	}
	if split == 0 {
		t.Error("no weight backward has waited")
	}
	for name, want := range map[string]float64{"zb_h1": 0.127, "zb_v": 0.068, "interleaved_zb": 0.068, "dualpipe_v": 0.063} {
		s, err := New(name, Shape{Devices: 8, Microbatches: 32, Chunks: max(1, rows[name].Least), Waiting: 1}, Costs{})
		if err != nil {
			t.Fatal(err)
		}
		if r := simulate(t, s, Unit{1, 1, 1, 0}); r.Bubble > want+0.0005 {
			t.Errorf("%s: bubble %v with one waiting, %v is known", name, r.Bubble, want)
		}
	}
}

// waiting is how many weight backwards of a schedule come later than behind their input backward,
// none of which may be one of more than most of its stage.
func waiting(t *testing.T, s *Schedule, most int) (late int) {
	t.Helper()
	for _, slots := range s.Devices {
		now := map[int]int{}
		for i, x := range slots {
			switch x.Kind {
			case BackwardInput:
				now[x.Stage]++
			case BackwardWeight:
				now[x.Stage]--
				if before := slots[i-1]; before.Kind != BackwardInput || before.Stage != x.Stage {
					late++
				}
			}
			if now[x.Stage] > most {
				t.Fatalf("%s, %s: %d weight backwards of stage %d wait, at most %d", s.Name, s.Shape, now[x.Stage], x.Stage, most)
			}
		}
	}
	return late
}
