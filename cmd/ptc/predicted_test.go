package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRunAndForecast: a run compares its median step with the predicted one, and with a profile its kernels too; its losses are
// those of a run without a forecast.
func TestRunAndForecast(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	predicted := 1e3 * simulated(t, "a.bin", "--machine", "host").StepS
	plain := must(t, "run", "a.bin", "--log", "json")
	for _, args := range [][]string{{"--steps", "6"}, {"--steps", "1"}, {"--steps", "6", "--profile"}} {
		r := must(t, with(args, "run", "a.bin", "--machine", "host", "--log", "json")...)
		all := events(t, r.out)
		e, profiled := all[len(all)-1], len(args) > 2
		if e["event"] != "forecast" || e["machine"] != "host" || !nearly(e["predicted_step_ms"].(float64), predicted) {
			t.Fatalf("%v: the last event is %v", args, e)
		}
		measured := e["measured_step_ms"].(float64)
		if !nearly(e["ratio"].(float64), measured/predicted) || (all[len(all)-2]["event"] == "profile") != profiled || (e["kernels"] != nil) != profiled {
			t.Errorf("%v: the last event is %v", args, e)
		}
		var ms []float64
		for _, x := range all {
			if x["event"] == "step" {
				ms = append(ms, x["ms"].(float64))
			}
		}
		if ms = ms[min(len(ms)-1, warmUpSteps):]; !profiled && (measured < slices.Min(ms) || measured > slices.Max(ms)) {
			t.Errorf("%v: the median of %v is %g ms", args, ms, measured)
		}
		if profiled {
			besideKernels(t, e["kernels"].([]any), predicted)
		}
		if got, want := fmt.Sprint(lossesOf(t, r.out)), fmt.Sprint(lossesOf(t, plain.out)); len(ms) > 1 && got != want {
			t.Errorf("%v: losses %v, without a forecast %v", args, got, want)
		}
	}
	text := must(t, "run", "a.bin", "--steps", "6", "--machine", "host", "--profile").out
	for _, want := range []string{"Forecast on host\n", "were predicted", "Kernels of rank 0", "gemm_0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the run lacks %q:\n%s", want, text)
		}
	}
}

// besideKernels: the predicted times of kernels are no longer than the predicted step, which has nothing else but the host.
func besideKernels(t *testing.T, kernels []any, step float64) {
	t.Helper()
	sum := 0.0
	for _, x := range kernels {
		k := x.(map[string]any)
		predicted, measured := k["predicted_ms"].(float64), k["measured_ms"].(float64)
		if predicted <= 0 || measured <= 0 || !nearly(k["ratio"].(float64), measured/predicted) {
			t.Errorf("kernel %v", k)
		}
		sum += predicted
	}
	if sum > step*(1+1e-9) || sum < step/2 {
		t.Errorf("kernels are predicted to take %g ms of a step of %g ms", sum, step)
	}
}
