package matrix

import (
	"flag"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
)

// fast are layouts for every change: each kind, and some of all that is in the
// matrix together. `make matrix` runs them all.
var fast = map[string][]string{
	"mlp":   {"dp2 z3 tp2", "dp4 hidden/2 vocab/2"},
	"gpt":   {"dp2 z2", "dp8 z3", "dp2 z3 tp2 sp + accumulate = 4 recompute Block", "tp4 sp", "cp3", "zz2 1f1b:2:2 (layers=3)", "dp2 z3 zz4 tp2 (seq=16)", "interleaved:2:4:2 (layers=5)", "zb_h1:2:4 (layers=3)", "zb_v:2:4 (layers=5)", "dualpipe_v:2:8 (layers=5)", "dp2 z1 1f1b:2:2 tp2 sp (layers=3)", "fsdp2 tp2 cp2", "dp2 fsdp4 + two_level = 0", "dp2 z1 interleaved:2:2:2 tp2 + offload optimizer to host { piece = 1 KiB } offload activations of Block to disk (layers=5)"},
	"llama": {"tp4", "kvtp2 sp", "cp8 (seq=16)", "kvtp2 zz2", "zz2 + recompute Block", "dp2 z3 1f1b:2:2 (layers=3)"},
	"moe":   {"ep4", "node2 ep2", "node2 ep2 + two_level = 0", "dp2 + shard experts over dp", "dp2 ep2 tp2", "dp2 1f1b:2:2 ep2", "ep2 cp2", "zz3", "gather2"},
}

var (
	everyRow   = flag.Bool("all", false, "run every row of the table, not those for every change alone")
	oneModel   = flag.String("model", "", "run this model alone")
	rowPattern = flag.String("layout", "", "with -all: run the rows whose names match the regular expression")
	ownSpec    = flag.String("spec", "", "run these layouts instead of the table's: words as in the table, separated by semicolons")
	ownSizes   = flag.String("set", "", "with -spec: sizes that differ from the model's, separated by spaces")
	ownRules   = flag.String("extra", "", "with -spec: more directives, in the language")
	printRules = flag.Bool("rules", false, "with -v: print the layouts in the language, and run nothing")
)

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
	layouts(t, "cpu", Native)
}

func layouts(t *testing.T, target string, names map[string][]string) {
	i := slices.IndexFunc(Targets, func(x Target) bool { return x.Name == target })
	if i < 0 {
		t.Fatalf("no target %s in the matrix", target)
	}
	x := &Matrix{Root: "../.."}
	for _, m := range Models {
		for _, l := range chosen(t, m, names[m.Name]) {
			t.Run(m.Name+" "+l.Name(), func(t *testing.T) {
				if *printRules {
					rules, err := l.Rules(m)
					t.Log(rules, err)
					return
				}
				r := x.Case(m, l, Targets[i])
				t.Log(r)
				if !r.OK() {
					t.Fail()
				}
			})
		}
	}
}

// chosen are the layouts that flags, or else names, ask for of a model.
func chosen(t *testing.T, m Model, names []string) (out []Layout) {
	re, err := regexp.Compile(*rowPattern)
	if err != nil {
		t.Fatal(err)
	}
	if *oneModel != "" && *oneModel != m.Name {
		return nil
	}
	if *ownSpec != "" {
		for _, spec := range strings.Split(*ownSpec, ";") {
			out = append(out, Layout{Spec: strings.TrimSpace(spec), Set: *ownSizes, Extra: *ownRules})
		}
		return out
	}
	for _, l := range Layouts {
		if l.For(m) && (*everyRow && re.MatchString(l.Name()) || slices.Contains(names, l.Name())) {
			out = append(out, l)
		}
	}
	return out
}

// TestMatrixIsWhole: the table has what it must, each fast layout is of it, and
// every row has its own name and 1 to 16 devices.
func TestMatrixIsWhole(t *testing.T) {
	for _, m := range Models {
		names, rows := map[string]bool{}, 0
		for _, l := range Layouts {
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
		for _, n := range append(Native[m.Name], fast[m.Name]...) {
			if !names[n] {
				t.Errorf("%s has no layout %q", m.Name, n)
			}
		}
	}
}

// TestMatrixSeesADifference: dropout acts, and a run of other numbers is not
// taken for the same.
func TestMatrixSeesADifference(t *testing.T) {
	m, err := Find("gpt")
	if err != nil {
		t.Fatal(err)
	}
	train := func(m Model) *Run {
		p, err := Compile("../..", m, Layout{Spec: "single"}, "ref:f64")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Train(p)
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
	if r := Compare(with, without, Target{Tolerance: 1e-10}); r.OK() || r.Worst < 1e-3 {
		t.Errorf("runs with and without dropout are the same to %g", r.Worst)
	}
	if r := Compare(with, train(mustFind(t, "gpt")), Target{Tolerance: 0}); !r.OK() {
		t.Errorf("two runs differ: %s", r)
	}
}

func mustFind(t *testing.T, name string) Model {
	t.Helper()
	m, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
