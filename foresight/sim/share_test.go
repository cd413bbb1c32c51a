package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/runtime/program"
)

// shared is a cluster whose devices share the processors of one host.
func shared(r *rand.Rand, processors int, sizes ...int) *machine.Cluster {
	c := cluster(r, sizes...)
	c.Device.Processors, c.Device.Serial, c.Host.Shared, c.Host.Devices = processors, true, true, 1024
	c.Device.Occupies = given(float64(processors))
	return c
}

// TestSharedProcessors holds random plans on shared processors to the laws, and to what they have in common: no step is shorter than
// the work of all devices on all processors.
func TestSharedProcessors(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range randomCases {
		s, sizes := randomShape(r, 32)
		processors := 1 + r.IntN(6)
		p, m := planOf(s), cost.New(shared(r, processors, sizes...), cost.Software{})
		w := work(1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), 1e6+r.Int64N(1e9), 1+r.Int64N(1e9))
		name := fmt.Sprintf("case %d: %+v on %v, %d processors", i, s, sizes, processors)
		j, err := New(p, w, m, Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := runOf(t, name, j)
		free, err := Free(j)
		if err != nil || got.Step < free {
			t.Errorf("%s: %d ps, less than alone, %d (%v)", name, got.Step, free, err)
		}
		all := int64(0) // processor time of kernels
		for c, x := range got.Classes {
			sum := machine.PS(0)
			for _, spent := range x.ByCause {
				sum += spent
			}
			if sum != got.Step {
				t.Errorf("%s: the causes of class %d add up to %d of %d ps", name, c, sum, got.Step)
			}
			for _, turn := range j.Classes[c].turns {
				for _, e := range j.Classes[c].tasks[turn.task].rest {
					for _, part := range e.causes {
						if strings.HasPrefix(j.Causes[part.cause], "compute.") {
							all += int64(part.time) * int64(j.Classes[c].Ranks) * j.sharing.Threads
						}
					}
				}
			}
		}
		if least := all / int64(processors); int64(got.Step) < least-least/1000 {
			t.Errorf("%s: %d ps, less than all work on all processors, %d", name, got.Step, least)
		}
		// Ranks end a picosecond apart where their class ends at once, and may then come to a link in another order.
		if one := oneByOne(t, name, p, w, m); one.Step-got.Step > got.Step/1e3 || got.Step-one.Step > got.Step/1e3 {
			t.Errorf("%s: %d classes take %d ps, all ranks one by one %d", name, len(j.Classes), got.Step, one.Step)
		}
	}
}

// TestCrowd: devices that do the same take as many times as long as they are more than processors; stages of a pipeline of which one
// computes at a time do not.
func TestCrowd(t *testing.T) {
	const each = 1_000_000_000
	step := func(p *program.Plan, processors, devices int) machine.PS {
		j, err := New(p, work(each, each, each, each), cost.New(shared(nil, processors, devices), cost.Software{}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return runOf(t, "", j).Step
	}
	same := func(devices int) *program.Plan {
		return &program.Plan{
			Mesh: program.Mesh{{Name: "x", Size: devices}}, Kernels: []program.Kernel{{Class: "map", Tasks: 64}},
			Devices: []program.Device{{Progs: []program.Program{{Name: "step", Instrs: []program.Instr{{Kernel: 0}}}}}},
		}
	}
	for _, x := range []struct{ devices, processors, want int }{{1, 2, 1}, {2, 2, 2}, {8, 2, 8}, {8, 1, 8}, {2, 4, 2}} {
		// Work that takes `each` on all processors takes devices times as long where each device has such work.
		if got := step(same(x.devices), x.processors, x.devices); got != machine.PS(x.want*each) {
			t.Errorf("%d devices on %d processors: %d ps, expected %d", x.devices, x.processors, got, x.want*each)
		}
	}
	pipe := planOf(shape{dp: 1, pp: 2, tp: 1, micro: 1, schedule: "gpipe"})
	for i := range pipe.Kernels {
		pipe.Kernels[i].Tasks = 1
	}
	if one, two := step(pipe, 1, 2), step(pipe, 2, 2); two >= one {
		t.Errorf("two stages take %d ps on one processor, %d on two: the updates at the end run at the same time", one, two)
	}
}

// TestSchedules: a plan's own schedules give the tiles of its products, if they are for the machine's target.
func TestSchedules(t *testing.T) {
	const product = `func @gemm_0 class=kernel kind=gemm
  arg %0 : bf16[batch=2048, embed=1024] in
  arg %1 : bf16[embed=1024, ffn=4096] in
  %2 : bf16[batch=2048, ffn=4096] = dot %0, %1 over=(embed)
  result %2 out
end
`
	c := cluster(nil, 1)
	c.Device.Target = "cuda:sm_90a"
	m := cost.New(c, cost.Software{})
	p := &program.Plan{Target: "cuda:sm_90a", Kernels: []program.Kernel{{Name: "gemm_0", IR: product}}}
	own, err := WorkOf(p, m)
	if err != nil {
		t.Fatal(err)
	}
	p.Schedules = []program.KV{{Key: own[0][0].Key, Value: "rows=64 cols=64"}}
	given, err := WorkOf(p, m)
	if err != nil {
		t.Fatal(err)
	}
	if tile := given[0][0].Tile; tile.M != 64 || tile.N != 64 || own[0][0].Tile.M == 64 {
		t.Errorf("the tile is %+v, and %+v without a schedule", *tile, *own[0][0].Tile)
	}
	p.Target = "cpu:x86-64-v4"
	if other, err := WorkOf(p, m); err != nil || *other[0][0].Tile != *own[0][0].Tile {
		t.Errorf("schedules of another target count: %v", err)
	}
	p.Target, p.Schedules[0].Value = "cuda:sm_90a", "rows=many"
	if _, err := WorkOf(p, m); err == nil {
		t.Error("a schedule that is none is read")
	}
}
