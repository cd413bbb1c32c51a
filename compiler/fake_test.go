package compiler_test

import (
	"flag"
	"math"
	"os"
	"slices"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/bench/matrix"
	"ptc/runtime/device"
	"ptc/runtime/device/fake"
	"ptc/runtime/program"
)

// everyLayout puts all layouts of the matrix onto fake engines; `make fake` does.
var everyLayout = flag.Bool("fake-all", false, "TestFakeEngines takes every layout of the matrix")

// delayed are layouts of each kind whose plans start something and wait for it
// later.
var delayed = map[string][]string{
	"gpt":   {"interleaved:2:4:2 (layers=5)", "zb_h1:2:4 (layers=3)", "fsdp2 tp2 cp2", "dp2 z1 interleaved:2:2:2 tp2 + offload optimizer to host { piece = 1 KiB } offload activations of Block to disk (layers=5)"},
	"llama": {"dp2 z3 1f1b:2:2 (layers=3)", "zz2 + recompute Block"},
	"moe":   {"node2 ep2 + two_level = 0", "dp2 1f1b:2:2 ep2"},
}

// TestFakeEngines: on devices whose memory is not the host's, and which run
// everything as late as it may be, or at random times, every layout computes the
// bits that it computes on the processor.
func TestFakeEngines(t *testing.T) {
	names := delayed
	if *everyLayout {
		names = nil
	}
	onFake(t, "ref", names)
	if _, err := llvm.Load(); err == nil || os.Getenv(llvm.EnvLLVM) != "none" {
		onFake(t, "cpu", matrix.Native)
	}
}

func onFake(t *testing.T, target string, names map[string][]string) {
	seed := uint64(0)
	for _, m := range matrix.Models {
		for _, l := range matrix.Layouts {
			if !l.For(m) || names != nil && !slices.Contains(names[m.Name], l.Name()) {
				continue
			}
			seed++
			t.Run(target+" "+m.Name+" "+l.Name(), func(t *testing.T) {
				p, err := matrix.Compile("..", m, l, target)
				if err != nil {
					t.Fatal(err)
				}
				want := trainOn(t, p, nil)
				for _, seed := range []uint64{fake.Latest, seed} {
					same(t, seed, want, trainOn(t, p, fake.Wrap(seed)))
				}
			})
		}
	}
}

func trainOn(t *testing.T, p *program.Plan, wrap func(device.Opener) device.Opener) *matrix.Run {
	t.Helper()
	device.Wrap(wrap)
	defer device.Wrap(nil)
	r, err := matrix.Train(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same compares two runs by their bits.
func same(t *testing.T, seed uint64, want, got *matrix.Run) {
	t.Helper()
	equal := func(a, b []float64) bool {
		return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
	}
	if !equal(want.Losses, got.Losses) {
		t.Errorf("seed %d: losses %v, want %v", seed, got.Losses, want.Losses)
	}
	for what, pair := range map[string][2]map[string][]float64{"gradient": {want.Grads, got.Grads}, "parameter": {want.Params, got.Params}} {
		for path, x := range pair[0] {
			if !equal(x, pair[1][path]) {
				t.Errorf("seed %d: the %s %s differs", seed, what, path)
			}
		}
	}
}
