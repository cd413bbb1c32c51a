package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// everyShape calls fn with each schedule and each of a range of shapes that it
// is defined for.
func everyShape(t *testing.T, maxDevices, maxMicrobatches int, fn func(t *testing.T, s *Schedule)) {
	t.Helper()
	for _, name := range Names() {
		count := 0
		for p := 1; p <= maxDevices; p++ {
			for m := 1; m <= maxMicrobatches; m++ {
				for v := 1; v <= 4; v++ {
					s, err := New(name, Shape{Devices: p, Microbatches: m, Chunks: v}, Costs{})
					if err != nil {
						continue
					}
					count++
					fn(t, s)
				}
			}
		}
		if count%(maxDevices*maxMicrobatches) != 0 || count == 0 {
			t.Errorf("%s: only %d shapes: not every number of microbatches works", name, count)
		}
	}
}

func simulate(t *testing.T, s *Schedule, u Unit) *Result {
	t.Helper()
	r, err := Simulate(s, Uniform(s.Shape, u), Unbounded)
	if err != nil {
		t.Fatalf("%s, %s: %v", s.Name, s.Shape, err)
	}
	return r
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*(1+math.Abs(b)) }

// TestClosedForms compares bubble and peak of the simulation with each row's
// closed forms for one unit each and for random costs. Where the bubble has none,
// it is at least that of the device that starts last, and the peak is a bound.
func TestClosedForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	everyShape(t, 6, 14, func(t *testing.T, s *Schedule) {
		row, _ := Lookup(s.Name)
		units := []Unit{{1, 0.5, 0.5, 0}, {1, 1, 1, 0}}
		for range 3 {
			units = append(units, Unit{1 + rng.Float64(), 1 + rng.Float64(), 0.2 + 3*rng.Float64(), 0})
		}
		for _, u := range units {
			r := simulate(t, s, u)
			if row.Bubble != nil {
				if want := row.Bubble(s.Shape, u); !near(r.Bubble, want) {
					t.Errorf("%s, %s, %+v: bubble %v, closed form %v", s.Name, s.Shape, u, r.Bubble, want)
				}
			} else if fill := float64(s.Shape.Devices-1) * u.Forward; r.Idle[0] < fill-1e-9 {
				t.Errorf("%s, %s, %+v: %v idle, the last device starts after %v", s.Name, s.Shape, u, r.Idle[0], fill)
			}
			for d, peak := range r.Peak {
				if want := row.Peak(s.Shape, d); peak > want || row.Bubble != nil && peak < want {
					t.Errorf("%s, %s, device %d: peak %d, closed form %d", s.Name, s.Shape, d, peak, want)
				}
			}
		}
	})
}

// TestMeasured: what each schedule costs and holds where forward, input and weight
// gradients of a whole device take 1 each and messages nothing: the idle time of a
// device, its share of the step, and the most activations that a device holds, in
// shares of a device. No device's idle time can be less than what passes until the
// last device starts, (p−1)/v, which zb_v, interleaved_zb with 2 chunks and
// dualpipe_v reach at p = 8 and m = 32.
func TestMeasured(t *testing.T) {
	for _, c := range []struct {
		name       string
		p, m, v    int
		idle, peak float64
		share      string
	}{
		{"gpipe", 8, 32, 1, 21, 32, "17.9%"},
		{"1f1b", 8, 32, 1, 21, 8, "17.9%"},
		{"breadth_first", 8, 32, 2, 10.5, 32, "9.9%"},
		{"interleaved", 8, 32, 2, 10.5, 11.5, "9.9%"},
		{"zb_h1", 8, 32, 1, 7, 8, "6.8%"},
		{"zb_h2", 8, 32, 1, 7, 15, "6.8%"},
		{"zb_v", 8, 32, 2, 3.5, 8, "3.5%"},
		{"interleaved_zb", 8, 32, 2, 3.5, 8, "3.5%"},
		{"dualpipe_v", 8, 32, 2, 3.5, 8.5, "3.5%"},

		{"gpipe", 4, 16, 1, 9, 16, "15.8%"},
		{"1f1b", 4, 16, 1, 9, 4, "15.8%"},
		{"breadth_first", 4, 16, 2, 4.5, 16, "8.6%"},
		{"interleaved", 4, 16, 2, 4.5, 5.5, "8.6%"},
		{"zb_h1", 4, 16, 1, 3, 4, "5.9%"},
		{"zb_h2", 4, 16, 1, 3, 7, "5.9%"},
		{"zb_v", 4, 16, 2, 1.5, 4, "3.0%"},
		{"interleaved_zb", 4, 16, 2, 1.5, 4, "3.0%"},
		{"dualpipe_v", 4, 16, 2, 1.5, 4.5, "3.0%"},

		// Microbatches that are no multiple of the devices.
		{"interleaved", 4, 10, 2, 4.5, 6, "13.0%"},
		{"zb_v", 4, 10, 2, 1.5, 4, "4.8%"},
		{"interleaved_zb", 4, 10, 2, 1.5, 4, "4.8%"},
		{"dualpipe_v", 4, 10, 2, 1.5, 4.5, "4.8%"},
		{"interleaved", 8, 35, 2, 10.5, 12, "9.1%"},
		{"zb_h1", 8, 35, 1, 7, 8, "6.2%"},
		{"zb_h2", 8, 35, 1, 7, 15, "6.2%"},
		{"zb_v", 8, 35, 2, 3.5, 8, "3.2%"},
		{"interleaved_zb", 8, 35, 2, 3.5, 8, "3.2%"},
		{"dualpipe_v", 8, 35, 2, 3.5, 8.5, "3.2%"},

		// Few microbatches: dualpipe_v is listed, and interleaved_zb misses the bound.
		{"zb_v", 8, 11, 2, 3.5, 8, "9.6%"},
		{"interleaved_zb", 8, 11, 2, 5, 8, "13.2%"},
		{"dualpipe_v", 8, 11, 2, 3.5, 8.5, "9.6%"},
	} {
		shape := Shape{Devices: c.p, Microbatches: c.m, Chunks: c.v}
		u := Unit{1 / float64(c.v), 1 / float64(c.v), 1 / float64(c.v), 0}
		s, err := New(c.name, shape, Uniform(shape, u))
		if err != nil {
			t.Fatal(err)
		}
		r := simulate(t, s, u)
		peak := float64(slices.Max(r.Peak)) / float64(c.v)
		if share := fmt.Sprintf("%.1f%%", 100*r.Bubble); !near(r.Idle[0], c.idle) || share != c.share || peak != c.peak {
			t.Errorf("%s, %s: %v idle, %s, peak %v; want %v, %s, %v", c.name, shape, r.Idle[0], share, peak, c.idle, c.share, c.peak)
		}
		if c.name == "zb_h2" { // Qi et al., table 2: none between the first pass and the last
			for d, runs := range r.Devices {
				if idle := r.Idle[d] - runs[0].Start - (r.Makespan - runs[len(runs)-1].End); !near(idle, 0) {
					t.Errorf("%s: device %d waits %v in the middle", shape, d, idle)
				}
			}
		}
	}
}

// TestPublishedForms states the formulas of the papers on their own, where the
// papers define them.
func TestPublishedForms(t *testing.T) {
	for p := 1; p <= 8; p++ {
		for m := p; m <= 4*p; m += p {
			P, M := float64(p), float64(m)
			for v := 1; v <= 4; v++ {
				bubble := func(name string, u Unit) float64 {
					s, err := New(name, Shape{Devices: p, Microbatches: m, Chunks: v}, Costs{})
					if err != nil {
						t.Fatal(err)
					}
					return simulate(t, s, u).Bubble
				}
				// Narayanan et al. SC'21 §2.2: t_pb = (p−1)(t_f+t_b)/v against
				// t_id = m(t_f+t_b); the cost of a chunk is 1/v of a device's.
				f, b := 1.0, 2.0
				idle, ideal := (P-1)*(f+b)/float64(v), M*(f+b)
				if got, want := bubble("interleaved", Unit{Forward: f / float64(v), Input: b / 2 / float64(v), Weight: b / 2 / float64(v)}), idle/(idle+ideal); !near(got, want) {
					t.Errorf("interleaved p=%d m=%d v=%d: %v, want %v", p, m, v, got, want)
				}
				if v > 1 {
					continue
				}
				for _, name := range []string{"gpipe", "1f1b"} { // GPipe §2.3
					if got, want := bubble(name, Unit{Forward: 1, Input: 1, Weight: 1}), (P-1)/(M+P-1); !near(got, want) {
						t.Errorf("%s p=%d m=%d: %v, want %v", name, p, m, got, want)
					}
				}
				// Qi et al. table 2: (p−1)(T_F+T_B−T_W) of idle time; a third of
				// 1f1b's (p−1)(T_F+T_B+T_W) where all three are equal.
				for _, u := range []Unit{{1, 1, 1, 0}, {1, 1.5, 0.75, 0}} {
					idle := (P - 1) * (u.Forward + u.Input - u.Weight)
					if got, want := bubble("zb_h1", u), idle/(idle+M*(u.Forward+u.Input+u.Weight)); !near(got, want) {
						t.Errorf("zb_h1 p=%d m=%d %+v: %v, want %v", p, m, u, got, want)
					}
				}
			}
		}
	}
}

// TestUnevenCosts: with any costs and latencies runs do not overlap on a
// device, dependencies hold in time, and the step is at least as long as its
// critical path through the slowest device.
func TestUnevenCosts(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	everyShape(t, 4, 9, func(t *testing.T, s *Schedule) {
		c := randomCosts(rng, s.Shape)
		for _, room := range []int{Unbounded, s.Shape.Microbatches} {
			r, err := Simulate(s, c, room)
			if err != nil {
				t.Fatal(err)
			}
			checkTimes(t, s, c, r)
		}
	})
}

func randomCosts(rng *rand.Rand, s Shape) Costs {
	c := Uniform(s, Unit{})
	for _, xs := range [][]float64{c.Forward, c.Input, c.Weight, c.Message} {
		for i := range xs {
			xs[i] = float64(rng.IntN(40)) / 8
		}
	}
	return c
}

func checkTimes(t *testing.T, s *Schedule, c Costs, r *Result) {
	t.Helper()
	at := map[Slot]Run{}
	busiest := 0.0
	for _, runs := range r.Devices {
		end, busy := 0.0, 0.0
		for _, run := range runs {
			if run.Start < end {
				t.Fatalf("%s, %s: %s starts at %v while the device is busy until %v", s.Name, s.Shape, run.Slot, run.Start, end)
			}
			end, busy = run.End, busy+run.End-run.Start
			at[run.Slot] = run
		}
		busiest = max(busiest, busy)
	}
	if r.Makespan < busiest-1e-9 {
		t.Errorf("%s, %s: step %v, but one device is busy for %v", s.Name, s.Shape, r.Makespan, busiest)
	}
	after := func(a, b Slot, latency float64) {
		x, okA := at[a]
		y, okB := at[b]
		if okA && okB && y.Start < x.End+latency-1e-9 {
			t.Errorf("%s, %s: %s at %v, %s ends at %v, latency %v", s.Name, s.Shape, b, y.Start, a, x.End, latency)
		}
	}
	for slot := range at {
		next, latency := slot.Stage+1, 0.0
		if next < s.Shape.Stages() && s.Place.Device(next) != s.Place.Device(slot.Stage) {
			latency = c.Message[slot.Stage]
		}
		switch slot.Kind {
		case Forward:
			after(slot, Slot{Forward, next, slot.Microbatch}, latency)
			for _, k := range []Kind{Backward, BackwardInput} {
				after(slot, Slot{k, slot.Stage, slot.Microbatch}, 0)
			}
		case Backward, BackwardInput:
			for _, k := range []Kind{Backward, BackwardInput} {
				after(Slot{k, next, slot.Microbatch}, slot, latency)
			}
			after(slot, Slot{BackwardWeight, slot.Stage, slot.Microbatch}, 0)
		}
	}
}

func TestBadInput(t *testing.T) {
	sch := func(name string, p, m, v int) error {
		_, err := New(name, Shape{Devices: p, Microbatches: m, Chunks: v}, Costs{})
		return err
	}
	shape := Shape{Devices: 2, Microbatches: 3, Chunks: 1}
	good, _ := New("1f1b", shape, Costs{})
	costs := Uniform(shape, Unit{1, 1, 1, 0})
	sim := func(c Costs, room int) error { _, err := Simulate(good, c, room); return err }
	list := func(c Costs) error { _, err := New("zb_h2", shape, c); return err }
	line := func(unit float64) error {
		_, err := simulate(t, good, Unit{1, 1, 1, 0}).Timeline(unit)
		return err
	}
	negative := Uniform(shape, Unit{1, 1, -1, 0})
	late := costs
	late.Message = []float64{1, 2}
	for _, c := range []struct {
		err  error
		want string
	}{
		{sch("1f2b", 2, 2, 1), `no pipeline schedule is called "1f2b"; there are 1f1b, breadth_first, dualpipe_v, gpipe, `},
		{sch("gpipe", 0, 2, 1), "at least 1 of its devices, found 0"},
		{sch("gpipe", 2, -1, 1), "at least 1 of its microbatches, found -1"},
		{sch("interleaved", 2, 2, 0), "at least 1 of its chunks per device, found 0"},
		{sch("gpipe", 2, 1<<40, 1), "1099511627776 microbatches are too many"},
		{sch("interleaved", 1<<20, 1<<20, 1<<20), "too many"},
		{sch("1f1b", 2, 2, 3), "1f1b keeps 1 chunk on each device, found 3; schedules with so many: breadth_first, interleaved, interleaved_zb"},
		{sch("zb_v", 2, 2, 1), "zb_v keeps 2 chunks on each device, found 1; schedules with so many: 1f1b, gpipe, interleaved, zb_h1, zb_h2"},
		{sch("interleaved_zb", 2, 2, 1), "interleaved_zb keeps at least 2 chunks on each device, found 1"},
		{sim(costs, 0), "room for at least 1 message, found 0"},
		{sim(negative, 1), "costs of the weight backward: entry 0 is -1"},
		{list(negative), "costs of the weight backward: entry 0 is -1"},
		{list(Uniform(shape, Unit{1, 1e301, 1, 0})), "costs of the input backward: entry 0 is 1e+301; a time is from 0 to 1e+300"},
		{sim(Costs{Forward: costs.Forward}, 1), "0 costs of the input backward for 2 stages"},
		{sim(late, 1), "2 costs of messages for 1 boundaries"},
		{line(0), "must be a positive time, found 0"},
		{line(math.NaN()), "must be a positive time"},
		{line(1e-9), "wider than 4096"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

// TestRegister: a row that lacks something or takes a name again is refused.
func TestRegister(t *testing.T) {
	row, err := Lookup("gpipe")
	if err != nil {
		t.Fatal(err)
	}
	unnamed, formless := *row, *row
	unnamed.Name, formless.Name, formless.Peak = "", "formless", nil
	for _, r := range []Row{*row, unnamed, formless} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("registered %q", r.Name)
				}
			}()
			Register(r)
		}()
	}
}

// TestTimelineOfShortSlots: slots under half a column may vanish, and no column
// is added for the rounding of sums.
func TestTimelineOfShortSlots(t *testing.T) {
	s, _ := New("gpipe", Shape{Devices: 1, Microbatches: 3, Chunks: 1}, Costs{})
	r := simulate(t, s, Unit{Forward: 0.1, Input: 0.1, Weight: 0.1})
	for unit, want := range map[float64]string{
		0.1: "device 0  F0 F1 F2 B0 -- B1 -- B2 --\n",
		0.9: "device 0  B0\n",
	} {
		if got, err := r.Timeline(unit); err != nil || got != want {
			t.Errorf("unit %v: %q, %v; want %q", unit, got, err, want)
		}
	}
}

func Example() {
	s, _ := New("1f1b", Shape{Devices: 2, Microbatches: 3, Chunks: 1}, Costs{})
	r, _ := Simulate(s, Uniform(s.Shape, Unit{Forward: 1, Input: 0.5, Weight: 0.5}), 1)
	text, _ := r.Timeline(1)
	fmt.Print(text)
	fmt.Printf("bubble %.2f, activations held %v\n", r.Bubble, r.Peak)
	// Output:
	// device 0  F0 F1 .. B0 F2 B1 .. B2
	// device 1  .. F0 B0 F1 B1 F2 B2 ..
	// bubble 0.25, activations held [2 1]
}

// TestOneLoss: the last stage takes a microbatch back before the next one comes, but where a
// schedule is all forward passes first. Else a device keeps the logits of several.
func TestOneLoss(t *testing.T) {
	for _, name := range Names() {
		row, _ := Lookup(name)
		if name == "gpipe" || name == "breadth_first" {
			continue
		}
		for _, devices := range []int{1, 2, 4, 8} {
			for _, micro := range []int{1, 4, 8, 16, 33} {
				if name == "interleaved" && micro%devices != 0 {
					continue // a smaller last group has one more
				}
				for _, waiting := range []int{0, 1} {
					for _, u := range []Unit{{1, 1, 1, 0}, {1, 2, 1, 0}, {1, 0.5, 1.5, 0.1}} {
						s := Shape{Devices: devices, Microbatches: micro, Chunks: min(row.Most, row.Least+1), Waiting: waiting}
						x, err := New(name, s, Uniform(s, u))
						if err != nil {
							t.Fatal(name, s, err)
						}
						last, open := s.Stages()-1, 0
						for _, slot := range x.Devices[x.Place.Device(last)] {
							switch {
							case slot.Stage != last:
							case slot.Kind == Forward:
								open++
							case slot.Kind != BackwardWeight:
								open--
							}
							if open > 1 {
								t.Errorf("%s, %s, waiting %d, %v: the last stage has the losses of %d microbatches", name, s, waiting, u, open)
								break
							}
						}
					}
				}
			}
		}
	}
}
