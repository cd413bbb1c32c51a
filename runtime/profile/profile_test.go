package profile

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"ptc/internal/collective"
	"ptc/runtime/exec"
	"ptc/runtime/program"
)

// TestRates: a share is that of min(peak, bandwidth · intensity).
func TestRates(t *testing.T) {
	c := Ceilings{Flops: 100, Dot: 400, Read: 8, Copy: 10, Update: 9}
	for _, x := range []struct {
		what string
		w    Work
		ns   float64
		want Rates
	}{
		{"compute", Work{Flops: 1000, Bytes: 10}, 20, Rates{50, 0.5, 0.5, "compute"}},
		{"memory", Work{Flops: 10, Bytes: 100}, 20, Rates{0.5, 5, 0.5, "memory"}}, // 0.5 of min(100, 10·0.1) = 1
		{"no FLOP", Work{Bytes: 100}, 10, Rates{0, 10, 1, "memory"}},
		{"bf16", Work{Flops: 1000, Bytes: 10, Dot: true}, 5, Rates{200, 2, 0.5, "compute"}},
		{"communication", Work{Bytes: 100, Comm: true}, 10, Rates{0, 10, 0, ""}},
		{"nothing", Work{}, 10, Rates{}},
		{"no time", Work{Flops: 1, Bytes: 1}, 0, Rates{}},
	} {
		if got := c.Rates(x.w, x.ns); got != x.want {
			t.Errorf("%s: %+v, want %+v", x.what, got, x.want)
		}
	}
	none := Ceilings{Why: "no libLLVM"}
	if got := none.Rates(Work{Flops: 100, Bytes: 10}, 10); got != (Rates{10, 1, 0, ""}) {
		t.Errorf("without ceilings %+v", got)
	}
}

// TestFigures: of a device whose figures the plan has, the rate is that of the dtype that is multiplied, and
// devices do not share it.
func TestFigures(t *testing.T) {
	c := Of(&program.Roof{Device: "a GPU", Bytes: 8e9, Rates: []program.Rate{{DType: "f32", Flops: 100e9}, {DType: "bf16", Flops: 400e9}}})
	for _, x := range []struct {
		w    Work
		ns   float64
		want Rates
	}{
		{Work{Flops: 1000, Bytes: 10, Factors: "f32"}, 20, Rates{50, 0.5, 0.5, "compute"}},
		{Work{Flops: 1000, Bytes: 10, Factors: "bf16"}, 5, Rates{200, 2, 0.5, "compute"}},
		{Work{Flops: 1000, Bytes: 10}, 20, Rates{50, 0.5, 0.5, "compute"}},
		{Work{Flops: 10, Bytes: 80, Factors: "bf16"}, 20, Rates{0.5, 4, 0.5, "memory"}},
	} {
		if got := c.Rates(x.w, x.ns); got != x.want {
			t.Errorf("%+v: %+v, want %+v", x.w, got, x.want)
		}
	}
	p := toy()
	p.Kernels = []program.Kernel{{Factors: "bf16"}}
	r := New(p, 2, c)
	r.On(0, "GPU 0 (one like it)")
	r.Step(spansOf(0, time.Unix(0, 0), time.Microsecond), time.Microsecond)
	x := r.Report()
	// 4 MFLOP in 10 µs are 400 GFLOP/s; 1 MB at 8 GB/s is longer.
	if got := x.Ranks[0].Kernels[0].Calls[0].Rates; got.GFlops != 400 || got.Bound != "memory" || !near(got.Roofline, 12.5) {
		t.Errorf("%+v", got)
	}
	want := "Ceilings, GPU 0 (one like it), by the figures of a GPU: 100.0 GFLOP/s of f32, 400.0 GFLOP/s of bf16; memory 8.0 GB/s"
	if text := x.Text(); !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// plan of two devices: two launches of a product, one of a map, an exchange with its end.
func toy() *program.Plan {
	return &program.Plan{Name: "Toy", Layout: "halves", Target: "ref", Mesh: []program.MeshAxis{{Name: "dp", Size: 2}}, Devices: []program.Device{{
		Buffers: []program.Buffer{{DType: "bf16"}, {DType: "f32"}},
	}}}
}

func spansOf(rank int, at time.Time, scale time.Duration) []exec.Span {
	var out []exec.Span
	add := func(s exec.Span, from, to time.Duration) {
		s.Rank, s.Instr, s.Start, s.End = rank, len(out), at.Add(from*scale), at.Add(to*scale)
		out = append(out, s)
	}
	product := func(scope, pos string) exec.Span {
		return exec.Span{Kernel: "gemm_0", Class: "gemm", Flops: 4e6, Bytes: 1e6, In: &program.Instr{Scope: scope, Pos: pos, Bufs: []int{0, 1}}}
	}
	add(product("blocks.0", "a.ptl:1:1"), 0, 10)
	add(product("blocks.1", "a.ptl:1:1"), 12, 32)
	add(exec.Span{Kernel: "all_reduce dp", Class: "comm", Bytes: 1e6, In: &program.Instr{Comm: &program.Comm{Kind: "all_reduce"}, Pos: "a.ptl:2:1"}}, 32, 40)
	add(exec.Span{Kernel: "map_0", Class: "map", Bytes: 2e6, In: &program.Instr{Scope: "loss", Pos: "a.ptl:3:1", Bufs: []int{1}}}, 41, 46)
	add(exec.Span{Kernel: "done", Class: "comm", In: &program.Instr{Comm: &program.Comm{Kind: collective.Done}}}, 46, 50)
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// TestReport: times are medians over steps, of calls, of kernels and of a step's
// parts, and devices share the ceilings.
func TestReport(t *testing.T) {
	r := New(toy(), 2, Ceilings{Threads: 4, Flops: 2000, Dot: 4000, Read: 400, Copy: 400, Update: 400})
	if r.Report() != nil {
		t.Error("a report of no step")
	}
	start := time.Unix(0, 0)
	r.WarmUp()
	for i, scale := range []time.Duration{1, 5, 2} { // the median is 2
		r.Step(append(spansOf(0, start, scale*time.Microsecond), spansOf(1, start, scale*time.Microsecond)...), scale*60*time.Microsecond)
		r.Plain(time.Duration(40+i) * time.Microsecond)
	}
	p := r.Report()
	if p.Steps != 3 || p.WarmUp != 1 || !near(p.StepMs, 0.041) || !near(p.ProfiledMs, 0.12) || len(p.Ranks) != 2 {
		t.Fatalf("%+v", p)
	}
	x := p.Ranks[1]
	for what, v := range map[string][2]float64{
		"step": {x.StepMs, 0.1}, "kernels": {x.KernelMs, 0.07}, "communication": {x.CommMs, 0.016}, "waits": {x.WaitMs, 0.008}, "gaps": {x.GapMs, 0.006},
		"peak": {x.Ceilings.Flops, 1000}, "bandwidth": {x.Ceilings.Bandwidth(), 200},
	} {
		if !near(v[0], v[1]) {
			t.Errorf("%s: %g, want %g", what, v[0], v[1])
		}
	}
	if x.Launches != 3 || x.Communications != 2 || x.Flops != 8e6 || x.Bytes != 4e6 || x.Ceilings.Threads != 2 {
		t.Errorf("%+v", x)
	}
	k := x.Kernels[0]
	// 8 MFLOP in 60 µs are 133 GFLOP/s, of 2000 of a device's dot products.
	if k.Name != "gemm_0" || k.Launches != 2 || !near(k.Ms, 0.06) || !near(k.Share, 0.6) || !near(k.GFlops, 8e6/60e3) ||
		!near(k.Roofline, (2e6/200)/60e3) || k.Bound != "memory" || k.Module != "blocks.0" || len(k.Calls) != 2 || !near(k.Calls[1].Ms, 0.04) || k.Calls[1].Module != "blocks.1" {
		t.Errorf("%+v", k)
	}
	for _, want := range []string{"Profile of 3 steps, medians (1 step before left out)", "a step takes 0.041 ms, and 0.120 ms instruction by instruction",
		"Ceilings of rank 0, 2 threads: 1000.0 GFLOP/s, 2000.0 of dot products of bf16; read 200.0", "Kernels of rank 0", "blocks.0 a.ptl:1:1 and 1 more"} {
		if text := p.Text(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	var back Report
	if text, err := json.Marshal(p); err != nil || json.Unmarshal(text, &back) != nil || back.Text() != p.Text() {
		t.Errorf("%v: what is read back is another report", err)
	}
}

// TestRestIsSummed: the table is short for every plan.
func TestRestIsSummed(t *testing.T) {
	p := &Report{Steps: 1, Ranks: []Rank{{StepMs: 100, KernelMs: 100, Ceilings: Ceilings{Why: "no libLLVM"}}}}
	for range rows + 5 {
		p.Ranks[0].Kernels = append(p.Ranks[0].Kernels, Kernel{Name: "map_0", Class: "map", Launches: 2, Ms: 1})
	}
	text := p.Text()
	for _, want := range []string{"       5.00    5.0%        10  of 5 others\n", "No ceilings, and so no shares of a roofline: no libLLVM", "without a profile none was run"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "map_0"); n != rows {
		t.Errorf("%d rows", n)
	}
}
