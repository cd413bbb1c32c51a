package sim

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/ir/pipeline"
	"ptc/runtime/program"
)

const randomCases = 300

// TestLaws holds random plans on random machines to what is true of every simulation.
func TestLaws(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range randomCases {
		s, sizes := randomShape(r, 64)
		p, m := planOf(s), cost.New(cluster(r, sizes...), cost.Software{})
		w := work(1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), r.Int64N(1e9))
		name := fmt.Sprintf("case %d: %+v on %v", i, s, sizes)
		j, err := New(p, w, m, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := runOf(t, name, j)
		free, err := Free(j)
		if err != nil || got.Step < free {
			t.Errorf("%s: %d ps, less than without contention, %d (%v)", name, got.Step, free, err)
		}
		for c, x := range got.Classes {
			sum := machine.PS(0)
			for cause, t1 := range x.ByCause {
				if t1 < 0 {
					t.Errorf("%s: class %d spends %d on %s", name, c, t1, j.Causes[cause])
				}
				sum += t1
			}
			if sum != got.Step {
				t.Errorf("%s: the causes of class %d add up to %d of %d ps", name, c, sum, got.Step)
			}
		}
		if again := runOf(t, name, j); !reflect.DeepEqual(got, again) {
			t.Errorf("%s: a second run differs", name)
		}
		one := oneByOne(t, name, p, w, m)
		if one.Step != got.Step {
			t.Errorf("%s: %d classes take %d ps, all ranks one by one %d", name, len(j.Classes), got.Step, one.Step)
		}
	}
}

func runOf(t *testing.T, name string, j *Job) *Result {
	t.Helper()
	r, err := Run(j, How{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

// oneByOne simulates every rank.
func oneByOne(t *testing.T, name string, p *program.Plan, w Work, m *cost.Model) *Result {
	t.Helper()
	all := map[int]float64{}
	for r := range p.Mesh.Ranks() {
		all[r] = 1
	}
	j, err := New(p, w, m, Options{Slow: all})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(j.Classes) != p.Mesh.Ranks() {
		t.Fatalf("%s: %d classes of %d ranks", name, len(j.Classes), p.Mesh.Ranks())
	}
	return runOf(t, name, j)
}

// TestBubbles: stages that take the same time, and messages that take none, have the bubble and the end that the
// schedule has.
func TestBubbles(t *testing.T) {
	for _, name := range []string{"gpipe", "1f1b", "zb_h1"} {
		for _, pp := range []int{1, 2, 3, 4, 7} {
			for _, micro := range []int{pp, pp + 1, 3 * pp} {
				const f, in, weight = 1000, 1200, 900
				shape1 := pipeline.Shape{Devices: pp, Microbatches: micro, Chunks: 1}
				x, err := pipeline.New(name, shape1, pipeline.Costs{})
				if err != nil {
					t.Fatal(err)
				}
				want, err := pipeline.Simulate(x, pipeline.Uniform(shape1, pipeline.Unit{Forward: f, Input: in, Weight: weight}), pipeline.Any)
				if err != nil {
					t.Fatal(err)
				}
				p := planOf(shape{dp: 1, pp: pp, tp: 1, micro: micro, schedule: name})
				j, err := New(p, work(f, in, weight, 0), cost.New(cluster(nil, 8, 1), cost.Software{}), Options{})
				if err != nil {
					t.Fatal(err)
				}
				got := runOf(t, name, j)
				if float64(got.Step) != want.Makespan {
					t.Errorf("%s, %d stages, %d microbatches: %d ps, the schedule takes %g", name, pp, micro, got.Step, want.Makespan)
				}
				for i, c := range got.Classes {
					if idle := c.ByCause[causeBubble]; float64(idle) != want.Idle[i] {
						t.Errorf("%s, %d stages, %d microbatches: stage %d idles %d ps, in the schedule %g", name, pp, micro, i, idle, want.Idle[i])
					}
				}
			}
		}
	}
}

// TestTwiceTheMicrobatches: twice the microbatches take at most 2.2 times as long.
func TestTwiceTheMicrobatches(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 100 {
		s, sizes := randomShape(r, 64)
		m := cost.New(cluster(r, sizes...), cost.Software{})
		w := work(1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), r.Int64N(1e9))
		var steps [2]machine.PS
		for i := range steps {
			j, err := New(planOf(s), w, m, Options{})
			if err != nil {
				t.Fatal(err)
			}
			steps[i] = runOf(t, fmt.Sprint(s), j).Step
			s.micro *= 2
		}
		if float64(steps[1]) > 2.2*float64(steps[0]) {
			t.Errorf("%+v: %d ps, and %d for half the microbatches", s, steps[1], steps[0])
		}
	}
}

// TestSharedLinks: two exchanges that need all of a link at the same time take twice as long, and kernels during a
// collective that occupies a quarter of the processors a third longer.
func TestSharedLinks(t *testing.T) {
	c := cluster(nil, 2)
	c.Device.Occupies = given(25)
	start := func(bytes int64) program.Instr {
		return program.Instr{Comm: &program.Comm{Kind: collective.AllReduce, Over: []string{"x"}, Bytes: bytes, Start: true}}
	}
	done := func(of int) program.Instr {
		return program.Instr{Comm: &program.Comm{Kind: collective.Done, Of: of}}
	}
	p := &program.Plan{
		Mesh: program.Mesh{{Name: "x", Size: 2}}, Kernels: []program.Kernel{{Class: "map"}},
		Devices: []program.Device{{Progs: []program.Program{{Name: "step", Instrs: []program.Instr{start(10_000_000), {Kernel: 0}, done(0)}}}}},
	}
	for _, x := range []struct{ work, want machine.PS }{
		{600_000_000, 1_000_000_000},   // hidden: 10 MB at 10 GB/s take 1 ms
		{750_000_000, 1_000_000_000},   // 750 µs at three quarters
		{1_750_000_000, 2_000_000_000}, // the last 1,000 µs at full speed
	} {
		j, err := New(p, work(int64(x.work)), cost.New(c, cost.Software{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := runOf(t, "", j).Step; got != x.want {
			t.Errorf("work of %d ps: the step takes %d, expected %d", x.work, got, x.want)
		}
	}
	uses := make([]use, 3)
	for i, d := range [][]int64{{full, 0}, {full / 2, full}, {0, full / 4}} {
		uses[i] = use{flow: &flow{exchange: &exchange{demand: [2][]int64{d, d}}}}
	}
	rates := make([]int64, 3)
	share(uses, rates, 2)
	// The first resource is full at 2/3 of both; then the third flow has what is left of the second, and needs less.
	if rates[0] != full*2/3 || rates[1] != full*2/3 || rates[2] != full {
		t.Errorf("rates are %v", rates)
	}
}

// TestSlowDevice: one slow device slows a step down as all do that wait for it, and no more than if all were slow.
func TestSlowDevice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 100 {
		s, sizes := randomShape(r, 32)
		p, m := planOf(s), cost.New(cluster(r, sizes...), cost.Software{})
		w := work(1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), r.Int64N(1e9))
		var steps []machine.PS
		for _, slow := range []map[int]float64{nil, {r.IntN(p.Mesh.Ranks()): 1.5}, {-1: 1.5}} {
			j, err := New(p, w, m, Options{Slow: slow})
			if err != nil {
				t.Fatal(err)
			}
			free, err := Free(j)
			if err != nil {
				t.Fatal(err)
			}
			steps = append(steps, free)
		}
		if steps[0] > steps[1] || steps[1] > steps[2] {
			t.Errorf("%+v: none slow %d ps, one %d, all %d", s, steps[0], steps[1], steps[2])
		}
	}
}

// TestMeshTooLarge: a plan for more devices than the machine has is an error.
func TestMeshTooLarge(t *testing.T) {
	p := planOf(shape{dp: 2, pp: 2, tp: 4, micro: 2, schedule: "gpipe"})
	if _, err := New(p, work(1, 1, 1, 1), cost.New(cluster(nil, 8, 1), cost.Software{}), Options{}); err == nil || err.Error() != "the plan is for 16 devices; the machine has 8" {
		t.Errorf("error %v", err)
	}
}
