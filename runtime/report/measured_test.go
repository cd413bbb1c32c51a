package report

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/profile"
	"ptc/runtime/program"
)

// profileOf is what a run of a plan might have measured: each kernel takes a fifth of the
// speed that the ceilings allow, and on rank 1 half of that.
func profileOf(p *program.Plan, ranks int) *profile.Report {
	c := profile.Ceilings{Threads: 2, Flops: 100, Read: 20, Copy: 16, Update: 18}
	out := &profile.Report{Version: profile.Version, Model: p.Name, Layout: p.Layout, Target: p.Target, Steps: 7, StepMs: 12.5, ProfiledMs: 25}
	for rank := range ranks {
		r := profile.Rank{Rank: rank, On: "a device", Ceilings: c, StepMs: 20, KernelMs: 5, CommMs: 8, WaitMs: 4, GapMs: 3}
		r.Kernels = append(r.Kernels, profile.Kernel{Name: "all_reduce dp", Class: "comm", Launches: 3, Ms: 8, Share: 0.4, Bytes: 100})
		for i := range p.Kernels {
			k := &p.Kernels[i]
			w := profile.Work{Flops: k.Flops, Bytes: k.Bytes}
			ns := 5 * float64(1+rank) * max(float64(k.Flops)/100, float64(k.Bytes)/20)
			r.Kernels = append(r.Kernels, profile.Kernel{Name: k.Name, Class: k.Class, Launches: 2, Ms: 2 * ns / 1e6, Share: 0.01, Flops: k.Flops, Bytes: k.Bytes, Rates: c.Rates(w, ns)})
		}
		out.Ranks = append(out.Ranks, r)
	}
	return out
}

// TestMeasured: the document has each kernel on the rank on which it took longest, by its
// number in the plan, and the page shows it next to the roofline's prediction.
func TestMeasured(t *testing.T) {
	p := planOf(t, "pipe")
	page, err := Page(p, Extra{Measured: profileOf(p, 2)})
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Report Report }
	if err := json.Unmarshal([]byte(documentIn(t, string(page))), &d); err != nil {
		t.Fatal(err)
	}
	m := d.Report.Measured
	if m == nil || len(m.Kernels) != len(p.Kernels) || len(m.Ranks) != 2 || len(m.Communications) != 1 || m.Roofline == nil || m.Roofline.Flops != 100e9 || m.Roofline.Bandwidth != 20e9 {
		t.Fatalf("measured is %+v", m)
	}
	for i, x := range m.Kernels {
		k := &p.Kernels[x.Kernel]
		if k.Name != x.Name || x.Rank != 1 || x.LaunchMs != x.Ms/2 || i > 0 && x.Ms > m.Kernels[i-1].Ms {
			t.Errorf("kernel %d is %+v", i, x)
		}
		if k.Flops+k.Bytes > 0 && math.Abs(x.Roofline-0.1) > 1e-9 {
			t.Errorf("%s reaches %g of the roofline, want a tenth", x.Name, x.Roofline)
		}
	}
	for _, want := range []string{`Measured: <b>12.5 ms</b> a step.`, `id="measured-ranks"`, `<th scope="row">1 a device</th><td class="n">20 ms</td>`, "all_reduce dp", "measured µs", `<td class="n">10.0%</td>`, `href="#measured"`} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if plain := pageOf(t, p, nil); strings.Contains(plain, `id="measured-ranks"`) || strings.Contains(plain, `"measured":`) {
		t.Error("without a profile the page has measured times")
	}
}

// TestMeasuredAndRoofline: of a plan that knows its device, the roofline is its own,
// and what it predicts of the measured time is said.
func TestMeasuredAndRoofline(t *testing.T) {
	p := *planOf(t, "pipe")
	p.Roof = &program.Roof{Device: "a GPU", Bytes: 8e9, Rates: []program.Rate{{DType: "f32", Flops: 100e9}}}
	r := profileOf(&p, 2)
	least := Of(&p).Roofline.StepMs
	r.StepMs = 4 * least
	page, err := Page(&p, Extra{Measured: r})
	if err != nil {
		t.Fatal(err)
	}
	if want := "a step, of which the roofline predicts 25.0%."; !strings.Contains(string(page), want) || strings.Contains(string(page), "the machine of the run") {
		t.Errorf("the page lacks %q, or has another roofline", want)
	}
}

// TestMeasuredRoof: of a device's rates, those of dtypes that no product of the plan has do not count.
func TestMeasuredRoof(t *testing.T) {
	p := *planOf(t, "pipe")
	r := profileOf(&p, 1)
	r.Ranks[0].Ceilings = profile.Ceilings{Device: "a GPU", Memory: 1000, Arithmetic: []profile.Rate{{DType: "f32", GFlops: 100}, {DType: "bf16", GFlops: 900}}}
	for _, factors := range []string{"f32", "bf16"} {
		p.Kernels = slices.Clone(p.Kernels)
		for i := range p.Kernels {
			if p.Kernels[i].Factors != "" {
				p.Kernels[i].Factors = factors
			}
		}
		if got, want := roofOf(&p, &r.Ranks[0]).Flops, map[string]float64{"f32": 100e9, "bf16": 900e9}[factors]; got != want {
			t.Errorf("products of %s: %v FLOP a second; expected %v", factors, got, want)
		}
	}
}

// TestProfileOfAnotherPlan is refused, and what a profile names is text.
func TestProfileOfAnotherPlan(t *testing.T) {
	p := planOf(t, "pipe")
	for what, change := range map[string]func(*profile.Report){
		"its model is":           func(r *profile.Report) { r.Model = "Other" },
		"its layout is":          func(r *profile.Report) { r.Layout = "single" },
		"its target is":          func(r *profile.Report) { r.Target = "cuda" },
		"it has rank 8":          func(r *profile.Report) { r.Ranks[1].Rank = 8 },
		"has no kernel other of": func(r *profile.Report) { r.Ranks[0].Kernels[2].Name = "other" },
		"FLOP and":               func(r *profile.Report) { r.Ranks[0].Kernels[2].Bytes++ },
	} {
		r := profileOf(p, 2)
		change(r)
		if _, err := Page(p, Extra{Measured: r}); err == nil || !strings.Contains(err.Error(), "the profile is of another plan: ") || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	const bad = `</script><script>alert(1)</script><img src=x onerror=alert(2)>`
	r := profileOf(p, 1)
	r.Ranks[0].On, r.Ranks[0].Kernels[0].Name, r.Ranks[0].Ceilings.Device = bad, bad, bad
	page, err := Page(p, Extra{Measured: r})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(page); strings.Contains(text, "<script>alert") || strings.Contains(text, "<img") || strings.Count(text, "</script") != 2 {
		t.Error("a name is markup")
	}
}
