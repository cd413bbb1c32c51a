package calibrate

import (
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/compiler/ceilings"
	"ptc/foresight/cost"
	"ptc/foresight/machine"
	"ptc/ir/fusion"
	"ptc/runtime/program"
)

// measurement is one without launches, of a processor of round numbers.
func measurement() *Measurement {
	figure := func(name, unit string, v float64) ceilings.Figure {
		return ceilings.Figure{Name: name, Unit: unit, Threads: 2, Median: v}
	}
	return &Measurement{
		o: Options{Name: "here", Threads: 2, Seconds: 1, Note: `a "note"`}, memory: 8 << 30, exchanges: &exchanges{start: 1e-6, rate: 30e9},
		ceilings: &ceilings.Report{CPU: "a processor", Target: "cpu:x86-64-v4", Threads: 2, Figures: []ceilings.Figure{
			figure("fma_f32", "GFLOP/s", 300), figure("dot_bf16", "GFLOP/s", 3000), figure("read", "GB/s", 20), figure("copy", "GB/s", 18),
			figure("update", "GB/s", 25), figure("launch", "µs", 0.2),
		}},
	}
}

// launchesOn are launches of random kernels, with the times that they take on a machine.
func launchesOn(m *machine.Machine, seed uint64, n int) []launched {
	r := rand.New(rand.NewPCG(seed, seed))
	var out []launched
	for i := range n {
		p := cost.Part{Class: fusion.Map, Key: strings.Repeat(string(rune('a'+i%26)), 8) + string(rune('a'+i/26)), Bytes: 1 << (10 + r.IntN(14)), Flops: 1 << (10 + r.IntN(14))}
		switch dtype := []string{"f32", "bf16"}[r.IntN(2)]; r.IntN(3) {
		case 0:
			p.Class, p.DType, p.Product, p.Multiplies = fusion.Gemm, dtype, &cost.Product{}, 1<<(20+r.IntN(8))
			p.Flops += p.Multiplies
		case 1:
			p.Class, p.DType, p.Flops = fusion.Attend, dtype, 1<<(20+r.IntN(6))
			p.Multiplies = p.Flops
		}
		l := launched{parts: []cost.Part{p}, instances: 1 + r.Int64N(4), share: 1 / float64(n)}
		l.seconds = l.predicted(modelOf(m))
		out = append(out, l)
	}
	return out
}

// truth is a machine whose rates a fit is to find.
func truth() *machine.Machine {
	m := measurement().base()
	set := func(of map[string]machine.Sourced, key string, v float64) {
		of[key] = machine.Sourced{Value: v, Source: "test"}
	}
	set(m.Device.Share, "f32", 0.62)
	set(m.Device.Share, "bf16", 0.35)
	set(m.Device.Vector, "f32", 41e9)
	set(m.Device.Attention, "f32", 0.44)
	set(m.Device.Attention, "bf16", 0.2)
	m.Device.Bandwidth.Value, m.Device.CacheRate.Value = 13e9, 70e9
	return m
}

// TestFit: rates are found from the times of kernels, and predict other kernels, also if a tenth of the times are three times as long.
func TestFit(t *testing.T) {
	want := truth()
	for _, x := range []struct {
		spoiled int
		most    float64
	}{{0, 0.02}, {10, 0.06}} {
		m, all := measurement().base(), launchesOn(want, 1, 200)
		for i := range all {
			if x.spoiled > 0 && i%x.spoiled == 0 {
				all[i].seconds *= 3
			}
		}
		if err := fit(m, all); err != nil {
			t.Fatal(err)
		}
		for _, l := range launchesOn(want, 2, 100) {
			if off := math.Abs(l.predicted(modelOf(m))/l.seconds - 1); off > x.most {
				t.Errorf("1 of %d spoiled: %s of %s takes %.3g s, predicted %.3g", x.spoiled, l.parts[0].Class, l.parts[0].DType, l.seconds, l.predicted(modelOf(m)))
			}
		}
	}
}

// TestKeptRates: a rate that no kernel depends on stays where it was.
func TestKeptRates(t *testing.T) {
	m := measurement().base()
	start := m.Device.Share["bf16"].Value
	all := launchesOn(truth(), 3, 100)
	var some []launched
	for _, l := range all {
		if l.parts[0].DType != "bf16" {
			some = append(some, l)
		}
	}
	if err := fit(m, some); err != nil {
		t.Fatal(err)
	}
	if got := m.Device.Share["bf16"].Value; math.Abs(got/start-1) > 1e-9 {
		t.Errorf("without kernels of bf16, its share went from %g to %g", start, got)
	}
}

// TestTable: launches of several parts are divided as the model divides them, and the table's times add up to the launch.
func TestTable(t *testing.T) {
	m := truth()
	a, b := cost.Part{Class: fusion.Map, Key: "a", Bytes: 1 << 20}, cost.Part{Class: fusion.Map, Key: "b", Bytes: 3 << 20}
	one, three := cost.Part{Class: fusion.Map, Key: "c", Bytes: 1 << 10}, []launched{}
	for _, s := range []float64{3e-3, 1e-3, 2e-3} {
		three = append(three, launched{parts: []cost.Part{one}, instances: 2, seconds: s})
	}
	got := table(m, append(three, launched{parts: []cost.Part{a, b}, instances: 4, seconds: 4e-3}))
	launch := m.Device.Launch.Value
	if want := (2e-3 - launch) / 2; math.Abs(got["c"]/want-1) > 1e-6 {
		t.Errorf("the median of three launches of two instances is %g, expected %g", got["c"], want)
	}
	if sum := 4*(got["a"]+got["b"]) + launch; math.Abs(sum/4e-3-1) > 1e-6 || got["b"] < 2*got["a"] {
		t.Errorf("parts of a launch of 4 ms take %g and %g", got["a"], got["b"])
	}
}

// TestFile: the file is valid, says where each number is from, has the fitted rates and the table of kept plans alone, and is the
// same each time.
func TestFile(t *testing.T) {
	m, want := measurement(), truth()
	m.own, m.plans = launchesOn(want, 1, 60), [][]launched{launchesOn(want, 2, 30), launchesOn(want, 3, 26)}
	var text [2]string
	for i := range text {
		r, err := m.Machine(func(plan int) bool { return plan == 1 })
		if err != nil {
			t.Fatal(err)
		}
		text[i] = r.Text
		if r.Kernels != 26 || len(r.Machine.Kernels) != 26 || r.Deviation > 0.02 {
			t.Errorf("%d kernels, a deviation of %g", r.Kernels, r.Deviation)
		}
		d, h := &r.Machine.Device, &r.Machine.Host
		if !d.Serial || !h.Shared || !r.Machine.Levels[0].Memory || d.Processors != 2 || d.Target != "cpu:x86-64-v4" {
			t.Errorf("read back %+v, %+v", d, h)
		}
		if got := d.Bandwidth.Value; math.Abs(got/13e9-1) > 0.03 {
			t.Errorf("the bandwidth is %g", got)
		}
		for _, s := range r.Machine.Sources {
			if !strings.HasPrefix(s, "estimate") && !strings.Contains(s, `a "note"`) && !strings.Contains(s, "devices are threads") && !strings.Contains(s, "`bandwidth`") && !strings.Contains(s, "themselves") {
				t.Errorf("a number is from %q", s)
			}
		}
		if l, err := machine.Load("here.ptm", []byte(r.Text)); len(err) > 0 || l.Hash != r.Machine.Hash {
			t.Errorf("the file does not read back: %v", err)
		}
	}
	if text[0] != text[1] {
		t.Error("two files of one measurement differ")
	}
}

// TestPeaks: a dtype whose products are faster than the measured peak has the peak that they reach.
func TestPeaks(t *testing.T) {
	m := measurement().base()
	m.Device.Share["f32"] = machine.Sourced{Value: 1.5, Source: "test"}
	bounded(m)
	if m.Device.Share["f32"].Value != 1 || m.Device.Peak["f32"].Value != 450e9 {
		t.Errorf("the peak is %g, the share %g", m.Device.Peak["f32"].Value, m.Device.Share["f32"].Value)
	}
}

// TestRefused: what cannot be measured is an error that says why.
func TestRefused(t *testing.T) {
	model := modelOf(measurement().base())
	for _, x := range []struct {
		plan *program.Plan
		want string
	}{
		{&program.Plan{Target: "cpu:x86-64-v4", Mesh: program.Mesh{{Name: "dp", Size: 2}}}, "has 2 devices"},
		{&program.Plan{Target: "cuda:sm_90a"}, "for the target cuda:sm_90a"},
		{&program.Plan{Target: "ref:f32"}, "for the target ref:f32"},
	} {
		if _, err := run(t.Context(), x.plan, 1, 0.01, model); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("error %v, expected one with %q", err, x.want)
		}
	}
	if _, err := Host(t.Context(), Options{Threads: 0, Seconds: 1}); err == nil {
		t.Error("no thread is measured")
	}
}

// TestHost measures this host for an instant, with the kernels of an example, and predicts from it.
func TestHost(t *testing.T) {
	if os.Getenv("PTC_LLVM") == "none" {
		t.Skip("PTC_LLVM=none")
	}
	text, err := os.ReadFile("../../examples/mlp/mlp.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Options{File: "mlp.ptl", Source: text, Target: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	r, err := Host(t.Context(), Options{Name: "here", Threads: 1, Seconds: 0.01, Bytes: 1 << 20, Plans: []*program.Plan{p}, Done: func(name string, n int) {
		if names = append(names, name); n == 0 {
			t.Errorf("no launch of %s", name)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != 3 || r.Kernels < 8 {
		t.Errorf("measured %q, %d kernels", names, r.Kernels)
	}
	model := modelOf(r.Machine)
	for i := range p.Kernels {
		k := &p.Kernels[i]
		parts, err := model.PartsOf(k.Name, k.IR, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			if _, ok := r.Machine.Kernels[part.Key]; !ok && runs(p, i) {
				t.Errorf("kernel %s of the plan is not in the table", k.Name)
			}
		}
	}
	if m := r.Machine.Device; m.Peak["f32"].Value < 1e8 || m.Bandwidth.Value < 1e7 {
		t.Errorf("measured %+v", m)
	}
}

// runs reports whether the step of a plan has a kernel.
func runs(p *program.Plan, kernel int) bool {
	for _, g := range p.Devices[0].Progs {
		for _, in := range g.Instrs {
			if g.Name == "step" && in.Comm == nil && in.Kernel == kernel {
				return true
			}
		}
	}
	return false
}

// TestExchanges: more bytes take longer, and all devices are done.
func TestExchanges(t *testing.T) {
	x, err := measureExchanges(3)
	if err != nil || x.start <= 0 || x.rate < 1e6 {
		t.Errorf("measured %+v, %v", x, err)
	}
}
