package compiler_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/backend/llvm"
	"ptc/bench/matrix"
)

// fast are layouts for every change: each kind, and some of all that is in the
// matrix together. `make matrix` runs them all.
var fast = map[string][]string{
	"mlp":   {"dp2 z3 tp2", "dp4 hidden/2 vocab/2"},
	"gpt":   {"dp2 z2", "dp8 z3", "tp4 sp", "cp3", "zz2 1f1b:2:2 (layers=3)", "dp2 z3 zz4 tp2 (seq=16)", "interleaved:2:4:2 (layers=5)", "zb_h1:2:4 (layers=3)", "zb_v:2:4 (layers=5)", "dualpipe_v:2:8 (layers=5)", "dp2 z1 1f1b:2:2 tp2 sp (layers=3)", "fsdp2 tp2 cp2", "dp2 fsdp4 + two_level = 0", "dp2 z1 interleaved:2:2:2 tp2 + offload optimizer to host { piece = 1 KiB } offload activations of Block to disk (layers=5)"},
	"llama": {"tp4", "kvtp2 sp", "cp8 (seq=16)", "kvtp2 zz2", "zz2 + recompute Block", "dp2 z3 1f1b:2:2 (layers=3)"},
	"moe":   {"ep4", "node2 ep2", "node2 ep2 + two_level = 0", "dp2 + shard experts over dp", "dp2 ep2 tp2", "dp2 1f1b:2:2 ep2", "ep2 cp2", "zz3", "gather2"},
}

// native are those of them that run as native code too, which takes longer to
// compile.
var native = map[string][]string{
	"mlp":   {"dp2 z3 tp2"},
	"gpt":   {"dp2 z1 1f1b:2:2 tp2 sp (layers=3)", "cp3", "dp2 z3 zz4 tp2 (seq=16)"},
	"llama": {"zz2 + recompute Block"},
	"moe":   {"dp2 ep2 tp2"},
}

// TestLayouts: losses, gradients and parameters are those of one device, for the
// reference in f64.
func TestLayouts(t *testing.T) { layouts(t, "ref:f64", fast) }

// TestLayoutsNatively is TestLayouts for native code in f32.
func TestLayoutsNatively(t *testing.T) {
	if _, err := llvm.Load(); err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
		}
		t.Fatal(err)
	}
	layouts(t, "cpu", native)
}

func layouts(t *testing.T, target string, names map[string][]string) {
	i := slices.IndexFunc(matrix.Targets, func(x matrix.Target) bool { return x.Name == target })
	if i < 0 {
		t.Fatalf("no target %s in the matrix", target)
	}
	x := &matrix.Matrix{Root: ".."}
	for _, m := range matrix.Models {
		for _, l := range matrix.Layouts {
			if !l.For(m) || !slices.Contains(names[m.Name], l.Name()) {
				continue
			}
			t.Run(m.Name+" "+l.Name(), func(t *testing.T) {
				if r := x.Case(m, l, matrix.Targets[i]); !r.OK() {
					t.Error(r)
				}
			})
		}
	}
}

// TestMatrixIsWhole: the table has what it must, each fast layout is of it, and
// every row has its own name and 1 to 16 devices.
func TestMatrixIsWhole(t *testing.T) {
	for _, m := range matrix.Models {
		names, rows := map[string]bool{}, 0
		for _, l := range matrix.Layouts {
			if !l.For(m) {
				continue
			}
			rules, err := l.Rules(m)
			if err != nil || l.Spec != "single" && !strings.HasPrefix(rules, "mesh ") {
				t.Errorf("%s %s: %v %q", m.Name, l.Name(), err, rules)
			}
			if names[l.Name()] {
				t.Errorf("%s %s is there twice", m.Name, l.Name())
			}
			names[l.Name()] = true
			rows++
		}
		if rows < 60 {
			t.Errorf("%s has %d layouts, fewer than 60", m.Name, rows)
		}
		for _, n := range append(native[m.Name], fast[m.Name]...) {
			if !names[n] {
				t.Errorf("%s has no layout %q", m.Name, n)
			}
		}
	}
}

// TestMatrixSeesADifference: dropout acts, and a run of other numbers is not
// taken for the same.
func TestMatrixSeesADifference(t *testing.T) {
	m, err := matrix.Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	train := func(m matrix.Model) *matrix.Run {
		p, err := matrix.Compile("..", m, matrix.Layout{Spec: "single"}, "ref:f64")
		if err != nil {
			t.Fatal(err)
		}
		r, err := matrix.Train(p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	with := train(m)
	m.Drop = nil
	without := train(m)
	if math.Abs(with.Losses[0]-without.Losses[0]) < 1e-6 {
		t.Error("dropout does not change the loss")
	}
	if r := matrix.Compare(with, without, matrix.Target{Tolerance: 1e-10}); r.OK() || r.Worst < 1e-3 {
		t.Errorf("runs with and without dropout are the same to %g", r.Worst)
	}
	if r := matrix.Compare(with, train(mustFind(t, "gpt")), matrix.Target{Tolerance: 0}); !r.OK() {
		t.Errorf("two runs differ: %s", r)
	}
}

func mustFind(t *testing.T, name string) matrix.Model {
	t.Helper()
	m, err := matrix.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
