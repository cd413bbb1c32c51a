package arm

import (
	"context"
	"math"
	"os"
	"testing"

	"ptc/backend/cpu/llvm/target"
	"ptc/compiler"
	"ptc/runtime/native"
	"ptc/runtime/train"
)

// runnable are the targets of arm64 that this machine runs: all of them, if it is emulated.
func runnable(t *testing.T) []string {
	var out []string
	for _, name := range target.Names() {
		tgt, err := target.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if tgt.Arch != "arm64" {
			continue
		}
		switch err := native.Supported(tgt.Requires); {
		case err == nil:
			out = append(out, name)
		case os.Getenv("PTC_TEST_EXEC") != "":
			t.Errorf("%s: %v", name, err)
		}
	}
	return out
}

// losses are those of the third step of a small GPT, with one thread and with several.
func losses(t *testing.T, on, precision string) []float64 {
	t.Helper()
	src, err := os.ReadFile("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Target: on, Layout: "of_this_test",
		Source: []byte(string(src) + "\nlayout of_this_test { precision { compute = " + precision + " } }\n"),
		Set:    []string{"layers=1", "embed=64", "heads=2", "head=32", "seq=32", "batch=2", "ffn=128"}})
	if err != nil {
		t.Fatal(err)
	}
	var out []float64
	for _, threads := range []int{1, 3} {
		s, err := train.Run(context.Background(), p, train.Options{Steps: 3, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s.Loss)
	}
	return out
}

// TestTraining: each target trains as the reference does, in f32 and in bf16, with the
// same bits whatever the number of threads.
func TestTraining(t *testing.T) {
	for _, c := range []struct {
		precision string
		tolerance float64 // of a loss, relative
	}{{"f32", 1e-5}, {"bf16", 2e-3}} {
		want := losses(t, "ref", c.precision)
		for _, name := range runnable(t) {
			got := losses(t, name, c.precision)
			for i := range got {
				if !(math.Abs(got[i]-want[i]) <= c.tolerance*want[i]) {
					t.Errorf("%s, %s: loss %d is %.7f, that of the reference %.7f", name, c.precision, i, got[i], want[i])
				}
			}
			if got[0] != got[1] {
				t.Errorf("%s, %s: loss %.9f with one thread, %.9f with three", name, c.precision, got[0], got[1])
			}
			t.Logf("%s, %s: losses %v, of the reference %v", name, c.precision, got, want)
		}
	}
}
