package report

import (
	"encoding/json"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// forecastOf is a forecast as a simulation might fill it in, with this text in each place that has one.
func forecastOf(text string) *Forecast {
	return &Forecast{
		Machine: "h100:1x8" + text, StepS: 0.002, Step: "2 ms", Memory: "90 GiB of 78 GiB" + text, Advice: []string{"12 GiB are missing" + text},
		Figures: []Figure{{"MFU", "41.2%" + text}, {"goodput", "99.0%"}},
		Causes:  []ForecastCause{{"compute.gemm" + text, "compute", "1.5 ms", 0, 0.75}, {"comm.tp", "comm", "500 µs", 0.75, 0.25}},
		Bound:   ForecastPlace{Cause: "compute.gemm", What: "gemm_7" + text, Source: "gpt.ptl:45:9" + text, Limit: "memory"},
		Places:  []ForecastPlace{{"comm.tp", "all_reduce" + text, "gpt.ptl:58:3 (std/nn.ptl:62:9)" + text, "", "500 µs", 0.25}},
		Timing: &Timing{Tasks: []string{"forward", "after" + text}, End: 2000000, Rows: []TimingRow{
			{Device: "pp=0" + text, Slots: []TimingSlot{{0, 0, 0, 900000, 100000}, {1, 0, 1000000, 2000000, 0}}, Idle: [][2]int64{{1200000, 1300000}}, Idles: 0.125, Exposed: 0.0625},
			{Device: "pp=1", Slots: []TimingSlot{{0, 0, 900000, 1900000, 0}}, Idle: [][2]int64{}, Idles: 0.5},
		}},
		Roof: &program.Roof{Device: "a described device", Bytes: 3e12, Rates: []program.Rate{{DType: "f32", Flops: 60e12}}},
	}
}

// TestForecast: the page has a section with the forecast, whose bars follow one another, and the timeline is in true time.
func TestForecast(t *testing.T) {
	p, f := planOf(t, "pipe"), forecastOf("")
	page, err := Page(p, Extra{Forecast: f})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`href="#forecast"`, `Predicted: <b>2 ms</b> a step on h100:1x8.`, `<dt>MFU</dt><dd>41.2%</dd>`,
		`<span class="bad">Does not fit on h100:1x8: <b>90 GiB of 78 GiB</b>`, `<dd>90 GiB of 78 GiB</dd>`, `<li>12 GiB are missing</li>`,
		`bound by <b>compute.gemm</b> gemm_7, <a href="#s0-45" data-line="gpt.ptl:45">gpt.ptl:45:9</a>, limited by memory`,
		`<rect class="compute" x="0.0%" width="75.0%" height="10"/>`, `<rect class="comm" x="75.0%" width="25.0%" height="10"/>`,
		`data-line="gpt.ptl:58">gpt.ptl:58:3</a> (<a`, `a step of 2 ms on h100:1x8`, `id="timing"`, `<td class="n">12.5%</td><td class="n">6.2%</td>`,
		"Under the roofline of a described device",
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "If all stages take the same time, and") || strings.Count(string(page), `id="gantt"`) != 1 {
		t.Error("the page has a timeline of uniform stages besides")
	}
	var d Document
	if err := json.Unmarshal([]byte(documentIn(t, string(page))), &d); err != nil {
		t.Fatal(err)
	}
	if x := d.Report.Forecast; x == nil || len(x.Timing.Rows) != 2 || x.Timing.Rows[0].Slots[1] != f.Timing.Rows[0].Slots[1] || d.Roofline == nil || d.Report.Timeline == nil {
		t.Errorf("the document has the forecast %+v", d.Report.Forecast)
	}
	want, err := OfForecast(p, f).JSON()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.JSON(); err != nil || string(got) != string(want) {
		t.Errorf("the page has another document than a program gets (%v)", err)
	}
	if p.Roof != nil {
		t.Error("the plan was changed")
	}
}

// TestForecastOfOneStage: a forecast without a timeline leaves that of uniform stages.
func TestForecastOfOneStage(t *testing.T) {
	f := forecastOf("")
	f.Timing, f.Fits, f.Advice = nil, true, nil
	page, err := Page(planOf(t, "pipe"), Extra{Forecast: f})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "If all stages take the same time, and") || strings.Contains(string(page), `id="timing"`) || strings.Contains(string(page), "Does not fit") {
		t.Error("the page has no timeline of uniform stages, or says that a plan that fits does not")
	}
}

// TestRoofOfAForecast: the machine's roof counts only if neither the plan nor a run knows another, and for both plans that are
// compared.
func TestRoofOfAForecast(t *testing.T) {
	own := *planOf(t, "pipe")
	own.Roof = &program.Roof{Device: "its own device", Bytes: 1e12, Rates: []program.Rate{{DType: "f32", Flops: 1e13}}}
	for _, c := range []struct {
		plan *program.Plan
		x    Extra
		want string
	}{
		{planOf(t, "pipe"), Extra{}, "a described device"},
		{&own, Extra{}, "its own device"},
		{planOf(t, "pipe"), Extra{Measured: profileOf(planOf(t, "pipe"), 2)}, "the machine of the run, measured"},
		{planOf(t, "pipe"), Extra{Other: planOf(t, "single")}, "a step takes at least"},
	} {
		c.x.Forecast = forecastOf("")
		page, err := Page(c.plan, c.x)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), c.want) || strings.Contains(string(page), "Under the roofline of a described device") != (c.plan != &own && c.x.Measured == nil) {
			t.Errorf("the page lacks %q, or has another roof", c.want)
		}
	}
}

// TestHostileForecast: texts of a forecast are shown as text.
func TestHostileForecast(t *testing.T) {
	page, err := Page(planOf(t, "pipe"), Extra{Forecast: forecastOf(`</script><script>alert(1)</script><img src=x onerror=alert(2)>"'&`)})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(page), "<script>alert") || strings.Contains(string(page), "<img") || strings.Count(string(page), "<script") != 2 || strings.Count(string(page), "</script") != 2 {
		t.Error("a text is markup")
	}
}
