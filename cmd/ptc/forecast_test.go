package main

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/foresight/forecast"
	"ptc/runtime/report"
)

// pipelined compiles a.bin, a plan of eight devices with a pipeline.
func pipelined(t *testing.T) {
	t.Helper()
	gpt, err := filepath.Abs("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	must(t, "compile", gpt, "--layout", "three_d", "--set", "layers=4", "--set", "embed=64", "--set", "heads=2", "--set", "seq=32", "--set", "batch=8", "--target", "ref", "-o", "a.bin", "-q")
}

// foretold is a document with a forecast.
type foretold struct {
	Report   report.Report
	Forecast *forecast.Forecast
}

func nearly(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1e-3) }

// TestForecastOfAPlan: explain has the forecast that simulate prints, and the report the same document, whose bars and times
// are those of the forecast.
func TestForecastOfAPlan(t *testing.T) {
	pipelined(t)
	f := simulated(t, "a.bin", "--machine", "h100:2x4")
	var d foretold
	text := must(t, "explain", "a.bin", "--json", "--machine", "h100:2x4").out
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if x := d.Forecast; x == nil || x.StepPS != f.StepPS || !maps.Equal(x.Causes, f.Causes) || x.Bound != f.Bound {
		t.Errorf("explain has %+v", d.Forecast)
	}
	shown := d.Report.Forecast
	if shown == nil || shown.Timing == nil || shown.StepS != f.StepS || len(shown.Places) != len(f.Where) {
		t.Fatalf("the report has %+v", shown)
	}
	end := 0.0
	for _, c := range shown.Causes {
		if !nearly(c.Begin, end) || !nearly(c.Share*f.StepS, f.Causes[c.Name]) || !strings.HasPrefix(c.Name, c.Kind) {
			t.Errorf("%+v begins where the one before ends, at %g, and takes %g s", c, end, f.Causes[c.Name])
		}
		end = c.Begin + c.Share
	}
	if !nearly(end, 1) {
		t.Errorf("the causes end at %g of the step", end)
	}
	checkTiming(t, shown.Timing, f)

	must(t, "report", "a.bin", "--machine", "h100:2x4", "-o", "a.html")
	page := read(t, "a.html")
	_, in, _ := strings.Cut(page, `<script type="application/json" id="document">`)
	in, _, _ = strings.Cut(in, "</script>")
	var onPage foretold
	if err := json.Unmarshal([]byte(in), &onPage); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(d.Report)
	if b, _ := json.Marshal(onPage.Report); string(a) != string(b) {
		t.Error("the page has another report than explain")
	}
	for _, want := range []string{`id="waterfall"`, "NVIDIA H100 SXM, 80 GB", "comm.tp", `href="#forecast"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	must(t, "report", "a.bin", "--machine", "h100:2x4", "-o", "b.html")
	if read(t, "b.html") != page {
		t.Error("two pages of one forecast differ")
	}
}

// checkTiming: slots of a device follow one another and end with the step, and shares are those of the forecast.
func checkTiming(t *testing.T, x *report.Timing, f *forecast.Forecast) {
	t.Helper()
	last := int64(0)
	for _, r := range x.Rows {
		at := int64(0)
		for _, s := range r.Slots {
			if s[2] < at || s[3] < s[2] || s[4] < 0 || s[4] > s[3]-s[2] || int(s[0]) >= len(x.Tasks) {
				t.Errorf("%s: slot %v after %d", r.Device, s, at)
			}
			at = s[3]
		}
		for _, w := range r.Idle {
			if !slices.ContainsFunc(r.Slots, func(s report.TimingSlot) bool { return s[2] <= w[0] && w[0] < w[1] && w[1] <= s[3] }) {
				t.Errorf("%s waits at %v, in no slot", r.Device, w)
			}
		}
		last = max(last, at)
		if r.Idles <= 0 || r.Idles >= 1 || r.Exposed <= 0 || r.Idles+r.Exposed >= 1 {
			t.Errorf("%s is idle for %g and exposed for %g of a step", r.Device, r.Idles, r.Exposed)
		}
	}
	if len(x.Rows) != 2 || x.Rows[0].Device != "pp=0" || last != x.End || x.End != f.StepPS/1000 {
		t.Errorf("%d rows, the last ends at %d of %d ns of a step of %d ps", len(x.Rows), last, x.End, f.StepPS)
	}
	if !slices.ContainsFunc(x.Rows, func(r report.TimingRow) bool { return nearly(r.Idles*f.StepS, f.Causes["bubble"]+f.Causes["wait"]) }) {
		t.Errorf("no device is idle for %g s", f.Causes["bubble"]+f.Causes["wait"])
	}
}

// TestForecastInTheSummary: the summary says how long a step takes, whether it fits, and what bounds it.
func TestForecastInTheSummary(t *testing.T) {
	pipelined(t)
	plain, with := must(t, "explain", "a.bin").out, must(t, "explain", "a.bin", "--machine", "h100:2x4").out
	rest, ok := strings.CutPrefix(with, plain)
	if !ok {
		t.Fatalf("the summary of the plan is not in\n%s", with)
	}
	for _, want := range []string{"Forecast on h100:2x4\n", "step  ", "(MFU)", "per device: fits", "bound by     comm.tp", "gpt.ptl:", "Time by cause", "bubble"} {
		if !strings.Contains(rest, want) {
			t.Errorf("the forecast lacks %q:\n%s", want, rest)
		}
	}
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "--section kernels", []string{"explain", "a.bin", "--machine", "h100:2x4", "--section", "kernels"}},
		{exitUsage, "kernel machine", []string{"explain", "a.bin", "--machine", "h100:2x4", "--kernel", "gemm_0"}},
		{exitInput, "h1000", []string{"explain", "a.bin", "--machine", "h1000:2x4"}},
		{exitInput, "8 devices", []string{"explain", "a.bin", "--machine", "h100:2x2", "--json"}},
		{exitInput, "8 devices", []string{"report", "a.bin", "--machine", "h100", "-o", "none.html"}},
		{exitInput, "none.ptm", []string{"report", "a.bin", "--machine", "none.ptm:2x4", "-o", "none.html"}},
		{exitInput, "8 devices", []string{"run", "a.bin", "--machine", "h100", "--steps", "1", "--save", "none.html"}},
	} {
		if r := ptc(t, c.args...); r.code != c.code || !strings.Contains(r.err, c.say) || r.out != "" {
			t.Errorf("%v: exit code %d, expected %d, and %q in\n%s%s", c.args, r.code, c.code, c.say, r.out, r.err)
		}
	}
	if _, err := os.Stat("none.html"); err == nil {
		t.Error("a file was written")
	}
}
