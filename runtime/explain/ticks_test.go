package explain

import (
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// staged is a plan of a stage with tasks for so many microbatches, in the order of the
// ticks, pairs of a task and a microbatch.
func staged(micro int, ticks []program.Tick) *program.Plan {
	return &program.Plan{
		Kernels: []program.Kernel{{Name: "f", Flops: 3, Bytes: 2}, {Name: "add", Flops: 5}, {Name: "set", Flops: 4}},
		Devices: []program.Device{{Stacks: []program.Stack{{Name: "blocks", Count: 6}}, Buffers: make([]program.Buffer, 2), Progs: []program.Program{{Name: "step", Micro: micro,
			Instrs: []program.Instr{
				{Kernel: 0, Bufs: []int{0, 1}, Scope: "head"},
				{Kernel: 0, Bufs: []int{0, 1}, Scope: "blocks.{i}"},
				{Comm: &program.Comm{Kind: collective.AllReduce, Bytes: 8}, Bufs: []int{0, 0}, Scope: "blocks.{i}"},
				{Kernel: 1, Bufs: []int{0, 1, 0}, Scope: "tail", First: &program.First{Kernel: 2, Without: []int{0}}},
			},
			Runs:  []program.Run{{Stack: 1, From: 1, To: 3}},
			Tasks: []program.Task{{Name: "before", To: 1, Once: true}, {Name: "forward", From: 1, To: 3}, {Name: "backward", From: 3, To: 4}},
			Ticks: ticks}}}},
	}
}

// TestTasksCount: what is written once is counted for every microbatch, and the kernel of
// the first tick once.
func TestTasksCount(t *testing.T) {
	d := Describe(staged(10, []program.Tick{{Task: 0}}))
	if d.Microbatches != 10 || d.LaunchesPerStep != 1+60+10 {
		t.Errorf("%d microbatches, %d launches", d.Microbatches, d.LaunchesPerStep)
	}
	for i, want := range []int{61, 9, 1} {
		if k := d.Kernels[i]; k.Launches != want {
			t.Errorf("kernel %s is launched %d times, want %d", k.Name, k.Launches, want)
		}
	}
	if s := d.Kernels[0].Where; len(s) != 2 || s[1] != (Site{"blocks.0..5", "", 60}) {
		t.Errorf("sites %+v", s)
	}
	if c := d.Collectives; len(c) != 1 || c[0].Count != 60 || c[0].Scope != "blocks.0..5" {
		t.Errorf("collectives %+v", c)
	}
	if want := (Run{Stack: "blocks", Count: 6, Launches: 1, Sends: 1, From: 1, Task: "forward", Ticks: 10}); len(d.Runs) != 1 || d.Runs[0] != want {
		t.Errorf("runs %+v", d.Runs)
	}
	if want := (Task{Name: "forward", Ticks: 10, Launches: 6, Sends: 6, From: 1}); len(d.Tasks) != 3 || d.Tasks[1] != want {
		t.Errorf("tasks %+v", d.Tasks)
	}
	text := Text(staged(10, nil), "summary")
	for _, want := range []string{"before: 1 launch; forward ×10: 6 launches; backward ×10: 1 launch", "for blocks ×6: 10 launches"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestPatterns: ticks are as few patterns as there are stretches that are alike, and
// patterns written out are the ticks.
func TestPatterns(t *testing.T) {
	f1b := []program.Tick{{Task: 0}}
	for m := range 4 {
		f1b = append(f1b, program.Tick{Task: 1, Micro: m})
	}
	for m := 4; m < 10; m++ {
		f1b = append(f1b, program.Tick{Task: 2, Micro: m - 4}, program.Tick{Task: 1, Micro: m})
	}
	for m := 6; m < 10; m++ {
		f1b = append(f1b, program.Tick{Task: 2, Micro: m})
	}
	pairs := []program.Tick{}
	for m := 0; m < 8; m += 2 {
		pairs = append(pairs, program.Tick{Task: 1, Micro: m}, program.Tick{Task: 1, Micro: m + 1}, program.Tick{Task: 2, Micro: m}, program.Tick{Task: 2, Micro: m + 1})
	}
	for want, ticks := range map[string][]program.Tick{
		"before forward:0…3 (backward:0…5 forward:4…9) backward:6…9":  f1b,
		"(forward:0,2…6 forward:1,3…7 backward:0,2…6 backward:1,3…7)": pairs,
		"": nil,
	} {
		p := staged(10, ticks)
		var text []string
		var again []program.Tick
		number := map[string]int{"before": 0, "forward": 1, "backward": 2}
		for _, x := range ticksOf(&p.Devices[0]) {
			text = append(text, x.text())
			for n := range x.Times {
				for _, tick := range x.Ticks {
					again = append(again, program.Tick{Task: number[tick.Task], Micro: tick.Micro + n*x.Step})
				}
			}
		}
		if got := strings.Join(text, " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if len(again) != len(ticks) {
			t.Fatalf("%d ticks, want %d", len(again), len(ticks))
		}
		for i := range again {
			if again[i] != ticks[i] {
				t.Errorf("%s: tick %d is %+v", want, i, again[i])
			}
		}
	}
	if text := Text(staged(10, f1b), "turns"); !strings.Contains(text, "Ticks of tasks, for 10 microbatches") || !strings.Contains(text, "backward:6…9") {
		t.Error(text)
	}
}
