package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/foresight/forecast"
)

// simulated is the forecast that `ptc simulate --json` prints.
func simulated(t *testing.T, args ...string) *forecast.Forecast {
	t.Helper()
	f := &forecast.Forecast{}
	if err := json.Unmarshal([]byte(must(t, append([]string{"simulate", "--json"}, args...)...).out), f); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSimulate: a plan's step has a time whose causes add up, the memory that explain reports, and the same bytes each
// time; a source is compiled for the machine first.
func TestSimulate(t *testing.T) {
	gpt, err := filepath.Abs("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	small := []string{"--layout", "three_d", "--set", "layers=4", "--set", "embed=64", "--set", "heads=2", "--set", "seq=32", "--set", "batch=8"}
	must(t, with(small, "compile", gpt, "--target", "ref", "-o", "a.bin", "-q")...)
	f := simulated(t, "a.bin", "--machine", "h100:2x4")
	sum := 0.0
	for _, s := range f.Causes {
		sum += s
	}
	if f.StepS <= 0 || math.Abs(sum-f.StepS) > 1e-9*f.StepS {
		t.Errorf("the causes add up to %g of %g s", sum, f.StepS)
	}
	var d struct {
		Memory struct {
			Peak []int64 `json:"peak_bytes_per_device"`
		}
	}
	if err := json.Unmarshal([]byte(must(t, "explain", "a.bin", "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	if f.Memory.Bytes != max(d.Memory.Peak[0], d.Memory.Peak[1]) || !f.Fits {
		t.Errorf("%d bytes (fits: %v), in the plan %v", f.Memory.Bytes, f.Fits, d.Memory.Peak)
	}
	if f.HFU <= 0 || f.HFU > 1 || f.Tokens <= 0 || f.Per == nil || f.Bound.Source == "" || f.Devices != 8 {
		t.Errorf("the forecast is %+v", f)
	}
	text := must(t, "simulate", "a.bin", "--machine", "h100:2x4", "--sensitivity").out
	if again := must(t, "simulate", "a.bin", "--machine", "h100:2x4", "--sensitivity").out; again != text {
		t.Error("two simulations print different texts")
	}
	for _, want := range []string{"fits", "bound by", "compute.gemm", "bubble", "node link", "one device"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if source := simulated(t, with(small, gpt, "--machine", "h100:2x4")...); source.Devices != 8 || source.StepS <= 0 {
		t.Errorf("of the source: %+v", source)
	}
	if slow := simulated(t, "a.bin", "--machine", "h100:2x4", "--slow", "3", "--slow-rank", "5"); slow.StepS <= f.StepS {
		t.Errorf("a slow device: %g s, without %g s", slow.StepS, f.StepS)
	}
}

// TestSimulateStack: under other software the same source has other kernels.
func TestSimulateStack(t *testing.T) {
	small := project(t)
	own := simulated(t, with(small, "p/model.ptl", "--machine", "a100_80")...)
	other := simulated(t, with(small, "p/model.ptl", "--machine", "a100_80", "--stack", "megatron_2021")...)
	if other.Stack != "megatron_2021" || other.StepS <= own.StepS {
		t.Errorf("%g s under %q, %g s by ptc", other.StepS, other.Stack, own.StepS)
	}
	if text := must(t, with(small, "simulate", "p/model.ptl", "--machine", "a100_80", "--stack", "megatron_2021", "--sensitivity")...).out; !strings.Contains(text, "stack sweeps") {
		t.Errorf("no word of what the stack's numbers change:\n%s", text)
	}
	write(t, "s.json", `{"name": "s", "kernels": [], "scalar": {"value": 2, "from": "a test"}}`)
	if s := simulated(t, with(small, "p/model.ptl", "--machine", "a100_80", "--stack", "s.json")...); math.Abs(s.StepS-2*s.Unscaled) > 1e-12 {
		t.Errorf("%g s, without the scalar %g", s.StepS, s.Unscaled)
	}
}

// TestSimulateTrace: the trace is JSON whose spans lie in the step.
func TestSimulateTrace(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	f := simulated(t, "a.bin", "--machine", "h100", "--trace", "step.json")
	var trace struct {
		TraceEvents []struct {
			Name    string
			Ph      string
			Ts, Dur float64
		}
	}
	if err := json.Unmarshal([]byte(read(t, "step.json")), &trace); err != nil {
		t.Fatal(err)
	}
	spans := 0
	for _, e := range trace.TraceEvents {
		if e.Ph == "X" {
			spans++
			if e.Ts < 0 || e.Dur < 0 || e.Ts+e.Dur > f.StepS*1e6+0.01 {
				t.Errorf("span %+v of a step of %g us", e, f.StepS*1e6)
			}
		}
	}
	if spans == 0 {
		t.Error("the trace has no spans")
	}
}

// TestSimulateMistakes: each mistake is an error that says what to do, and writes nothing.
func TestSimulateMistakes(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "--sample", "-o", "sample.bin", "-q")...)
	write(t, "bad.json", `{"name": "s", "scalar": {"value": 2}}`)
	write(t, "unknown.json", `{"name": "s", "speed": 2}`)
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "machine", []string{"a.bin"}},
		{exitInput, "h1000", []string{"a.bin", "--machine", "h1000:1x1"}},
		{exitInput, "sizes", []string{"a.bin", "--machine", "h100:axb"}},
		{exitInput, "none.ptm", []string{"a.bin", "--machine", "none.ptm:1x1"}},
		{exitInput, "no training step", []string{"sample.bin", "--machine", "h100"}},
		{exitFile, "none.bin", []string{"none.bin", "--machine", "h100"}},
		{exitUsage, "--slow-rank is 1", []string{"a.bin", "--machine", "h100", "--slow", "2", "--slow-rank", "1"}},
		{exitUsage, "--stack predicts what a source takes", []string{"a.bin", "--machine", "h100", "--stack", "megatron_2021"}},
		{exitInput, "megatron_2021", []string{"p/model.ptl", "--machine", "h100", "--stack", "megatron"}},
		{exitInput, "has no source", []string{"p/model.ptl", "--machine", "h100", "--stack", "bad.json"}},
		{exitInput, "speed", []string{"p/model.ptl", "--machine", "h100", "--stack", "unknown.json"}},
		{exitFile, "", []string{"a.bin", "--machine", "h100", "--trace", "no/folder.json"}},
	} {
		if r := ptc(t, append([]string{"simulate"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d, expected %d, and %q in\n%s", c.args, r.code, c.code, c.say, r.err)
		}
	}
	if _, err := os.Stat("no"); err == nil {
		t.Error("a trace was written")
	}
}
