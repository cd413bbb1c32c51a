package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"ptc/runtime/cuda"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/explain"
)

// TestGPU: a plan for a GPU is made without one, says what a step takes at least, is the same bytes
// each time, and runs where there is a driver; where there is none, that is what the error says.
func TestGPU(t *testing.T) {
	small := gpt(t)
	compile := func(target, plan string) []string {
		return append([]string{"compile", "gpt.ptl", "-q", "--target", target, "-o", plan}, small...)
	}
	plans := [2]string{"a.bin", "b.bin"}
	for _, p := range plans {
		must(t, compile("cuda:sm_90a", p)...)
	}
	a, _ := os.ReadFile(plans[0])
	b, _ := os.ReadFile(plans[1])
	if len(a) == 0 || string(a) != string(b) {
		t.Error("two compilations give different plans")
	}
	var d explain.Description
	if err := json.Unmarshal([]byte(must(t, "explain", plans[0], "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	if r := d.Roofline; r == nil || r.Device != "NVIDIA H200" || r.StepMs <= 0 || d.Kernels[0].Threads == 0 {
		t.Errorf("the roofline is %+v", r)
	}
	if out := must(t, "explain", plans[0]).out; !strings.Contains(out, "a step takes at least") {
		t.Errorf("the summary does not say what a step takes at least:\n%s", out)
	}
	none := fakecuda.New(fakecuda.Options{NoGPU: true})
	cuda.Use(none.Lookup)
	defer cuda.Use(nil)
	if r := ptc(t, "run", plans[0], "--steps", "1"); r.code != exitFile || !strings.Contains(r.err, "GPU") {
		t.Errorf("without a GPU: exit code %d: %s", r.code, r.err)
	}
	fake := fakecuda.New(fakecuda.Options{Seed: 1})
	cuda.Use(fake.Lookup)
	must(t, "run", plans[0], "--steps", "1", "--eval-every", "0")
	for _, p := range append(fake.Problems(), append(fake.Faults(), fake.Leaks()...)...) {
		t.Error(p)
	}
	if r := ptc(t, compile("cuda:sm_100a", "c.bin")...); r.code != exitInput && r.code != exitUsage || !strings.Contains(r.err, "sm_80") {
		t.Errorf("a target that there is not: exit code %d: %s", r.code, r.err)
	}
}
