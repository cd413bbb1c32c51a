package pipeline

import (
	"math/rand/v2"
	"slices"
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
