package forecast

import (
	"math"
	"strings"
	"testing"

	"ptc/foresight/machine"
	"ptc/foresight/sim"
	"ptc/runtime/profile"
	"ptc/runtime/program"
	"ptc/runtime/report"
)

// TestCompare: the median counts, and with a profile the median of its plain steps. A launch of several instances is predicted
// as such.
func TestCompare(t *testing.T) {
	f := &Forecast{Machine: "m", StepS: 0.004}
	p := &program.Plan{Kernels: []program.Kernel{{Name: "gemm_0", Flops: 100, Bytes: 10}, {Name: "map_0", Bytes: 40}, {Name: "none"}}}
	job := &sim.Job{Kernels: []sim.Kernel{{Time: 2e9, Launch: 1e9}, {Time: 5e8}, {Time: 1e9}}}
	if c := f.Compare(p, job, nil, nil); c != nil {
		t.Errorf("nothing was measured: %+v", c)
	}
	if c := f.Compare(p, job, []float64{9, 5, 7, 100}, nil); c == nil || c.Measured != 8 || c.Predicted != 4 || c.Ratio != 2 || c.Kernels != nil {
		t.Errorf("without a profile: %+v", c)
	}
	r := &profile.Report{StepMs: 6, Ranks: []profile.Rank{{Rank: 0, KernelMs: 1}, {Rank: 3, KernelMs: 2, Kernels: []profile.Kernel{
		{Name: "gemm_0", Class: "gemm", Launches: 2, Ms: 21, Flops: 300, Bytes: 30}, // of three instances
		{Name: "all_reduce dp", Class: "comm", Launches: 1, Ms: 9, Bytes: 40},
		{Name: "map_0", Class: "map", Launches: 4, Ms: 1, Bytes: 40},
	}}}}
	c := f.Compare(p, job, []float64{9, 5, 7}, r)
	if c == nil || c.Measured != 6 || c.Rank != 3 || len(c.Kernels) != 2 {
		t.Fatalf("with a profile: %+v", c)
	}
	for i, want := range []KernelTimes{{"gemm_0", "gemm", 2, 14, 21, 1.5}, {"map_0", "map", 4, 2, 1, 0.5}} {
		if x := c.Kernels[i]; x.Kernel != want.Kernel || math.Abs(x.Predicted-want.Predicted) > 1e-9 || math.Abs(x.Ratio-want.Ratio) > 1e-9 || x.Measured != want.Measured {
			t.Errorf("%+v, expected %+v", x, want)
		}
	}
	for _, want := range []string{"6 ms (median); 4 ms were predicted: it takes 1.50 times as long", "Kernels of rank 3", "21 ms", "14 ms"} {
		if text := c.Text(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestWaterfall: work comes first, then communication, then waits, and of one kind the longest; nothing that takes no time.
func TestWaterfall(t *testing.T) {
	f := &Forecast{StepS: 10, Causes: map[string]float64{"bubble": 2, "comm.tp": 1, "compute.map": 1, "compute.gemm": 5, "comm.dp": 1, "host": 0}}
	var names []string
	for _, c := range f.waterfall() {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "compute.gemm compute.map comm.dp comm.tp bubble" {
		t.Errorf("the waterfall is %s", got)
	}
}

// TestTimer: a turn begins when the device begins to work, has the communication that nothing hides, and keeps the waits that
// can be seen.
func TestTimer(t *testing.T) {
	p := &program.Plan{By: []string{"pp"}, Devices: []program.Device{{At: []int{1}, Progs: []program.Program{{Name: "step", Tasks: []program.Task{{Name: "forward"}, {Name: "after"}}}}}}}
	x := &timer{out: &report.Timing{}, plan: p, job: &sim.Job{Classes: []sim.Class{{Rank: 4}}}, number: map[string]int64{}, least: 5 * nano, rows: make([]timed, 1)}
	wait := func(cause string, begin, end machine.PS) {
		x.add(sim.Span{Task: -1, Cause: cause, Waits: true, Begin: begin * nano, End: end * nano})
	}
	turn := func(task, micro int, begin, end machine.PS) {
		x.add(sim.Span{Task: task, Micro: micro, Begin: begin * nano, End: end * nano})
	}
	wait("bubble", 0, 30)
	wait("comm.tp", 40, 45)
	x.add(sim.Span{Task: -1, Cause: "comm.dp", Begin: 41 * nano, End: 90 * nano}) // which work hides
	wait("wait", 60, 63)
	wait("comm.dp", 63, 70)
	turn(0, 7, 0, 100)
	wait("copy", 100, 110)
	wait("bubble", 120, 140)
	turn(1, 0, 100, 160)
	r := x.timing(200 * nano).Rows[0]
	want := []report.TimingSlot{{0, 7, 30, 100, 12}, {1, 0, 100, 160, 0}}
	if r.Device != "pp=1" || len(r.Slots) != 2 || r.Slots[0] != want[0] || r.Slots[1] != want[1] || len(r.Idle) != 1 || r.Idle[0] != [2]int64{120, 140} {
		t.Errorf("%+v, expected the slots %v", r, want)
	}
	if math.Abs(r.Idles-93./200) > 1e-12 || math.Abs(r.Exposed-12./200) > 1e-12 {
		t.Errorf("idle for %g, exposed for %g", r.Idles, r.Exposed)
	}
}
