package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/comm/mpi"
	"ptc/runtime/explain"
)

// layouts of examples/gpt, except single.
var layouts = []struct {
	name    string
	devices int
	rules   string
}{
	{"single", 1, ""},
	{"dp4", 4, "mesh dp = 4\nshard batch over dp"},
	{"zero1", 4, "mesh dp = 4\nshard batch over dp\nzero 1 over dp"},
	{"offload", 4, "mesh dp = 4\nshard batch over dp\nzero 1 over dp\noffload optimizer to host { piece = 2 KiB }\noffload activations of Block to disk"},
	{"zero2", 4, "mesh dp = 4\nshard batch over dp\nzero 2 over dp"},
	{"zero3", 4, "mesh dp = 4\nshard batch over dp\nzero 3 over dp"},
	{"tp2", 2, "mesh tp = 2\nshard heads, ffn, vocab over tp"},
	{"tpsp", 4, "mesh tp = 4\nshard heads, ffn, vocab over tp\nshard seq over tp between Block"},
	{"cp2", 2, "mesh cp = 2\nshard seq over cp"},
	{"zigzag", 4, "mesh cp = 4\nshard seq over cp { order = zigzag }"},
	{"dptp", 4, "mesh dp = 2, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp"},
	{"pp2", 2, "mesh pp = 2\npipeline blocks over pp { schedule = 1f1b\nmicrobatches = 4 }"},
	{"three", 8, "mesh dp = 2, pp = 2, tp = 2\nshard batch over dp\nshard heads, ffn, vocab over tp\nshard seq over tp between Block\n" +
		"pipeline blocks over pp { schedule = 1f1b\nmicrobatches = 2 }\nzero 1 over dp\nrecompute Block"},
}

// sizes of the model in the tests: small, and every axis can be cut in four.
var sizes = []string{"layers=2", "embed=32", "heads=4", "head=8", "ffn=64", "seq=16", "batch=8", "vocab=256"}

// gpt writes examples/gpt with the layouts to gpt.ptl, in a new folder that is the
// current one, and gives the settings that make it small.
func gpt(t *testing.T) (small []string) {
	t.Helper()
	source := read(t, "../../examples/gpt/gpt.ptl")
	small = project(t)
	var b strings.Builder
	b.WriteString(source)
	for _, l := range layouts {
		fmt.Fprintf(&b, "\nlayout test_%s {\n%s\n}\n", l.name, l.rules)
	}
	write(t, "gpt.ptl", b.String())
	small = small[len(small)-2:] // the corpus
	for _, s := range sizes {
		small = append(small, "--set", s)
	}
	return small
}

// compiled makes a plan for a layout, for a target or the default.
func compiled(t *testing.T, small []string, layout, target string) string {
	t.Helper()
	plan := layout + strings.ReplaceAll(target, ":", "-") + ".bin"
	args := []string{"compile", "gpt.ptl", "-q", "--layout", "test_" + layout, "-o", plan}
	if target != "" {
		args = append(args, "--target", target)
	}
	must(t, append(args, small...)...)
	return plan
}

// near compares the tensors of two files, relative to their norms.
func near(t *testing.T, what, want, got string, tolerance float64) {
	t.Helper()
	a, b := safetensorstest.Floats(t, want), safetensorstest.Floats(t, got)
	if len(a) == 0 || len(a) != len(b) {
		t.Errorf("%s: %d tensors, %d expected", what, len(b), len(a))
	}
	for name, x := range a {
		if len(x) != len(b[name]) {
			t.Errorf("%s: %s has %d elements, not %d", what, name, len(b[name]), len(x))
			continue
		}
		norm, diff := 0.0, 0.0
		for i := range x {
			norm += x[i] * x[i]
			diff += (x[i] - b[name][i]) * (x[i] - b[name][i])
		}
		if !(math.Sqrt(diff) <= tolerance*math.Sqrt(norm)) {
			t.Errorf("%s: %s differs by %.2g of its norm", what, name, math.Sqrt(diff/norm))
		}
	}
}

// losses are those of the steps in a log, then the validation loss.
func losses(t *testing.T, log string) (out []float64) {
	t.Helper()
	for _, e := range events(t, log) {
		switch e["event"] {
		case "step":
			out = append(out, e["loss"].(float64))
		case "end":
			out = append(out, e["val_loss"].(float64))
		}
	}
	return out
}

// TestLayoutsChangeNothing: loss, gradients and parameters of a few steps are
// those of one device, under every layout.
func TestLayoutsChangeNothing(t *testing.T) {
	small := gpt(t)
	for _, x := range []struct {
		target    string
		tolerance float64
	}{{"", 1e-5}, {"ref:f64", 1e-10}} {
		var want []float64
		for i, l := range layouts {
			if x.target != "" && i%2 == 1 { // half of them, for time: single, zero1, zero3, tpsp, dptp, three
				continue
			}
			what := l.name + " " + x.target
			plan := compiled(t, small, l.name, x.target)
			r := must(t, "run", plan, "--steps", "5", "--seed", "7", "--log", "json",
				"--save", plan+".save", "--dump-grads", plan+".grads")
			got := losses(t, r.out)
			if want == nil {
				want = got
			}
			if len(got) != 6 || len(got) != len(want) {
				t.Fatalf("%s: losses %v", what, got)
			}
			for i := range got {
				if !(math.Abs(got[i]-want[i]) <= x.tolerance*math.Abs(want[i])) {
					t.Errorf("%s: losses %v, not %v", what, got, want)
					break
				}
			}
			first := strings.Replace(plan, l.name, "single", 1)
			near(t, what+", gradients", first+".grads", plan+".grads", x.tolerance)
			near(t, what+", parameters", first+".save", plan+".save", x.tolerance)
		}
	}
}

// TestResumeUnderAnotherLayout: a checkpoint is of the model, not of a layout.
func TestResumeUnderAnotherLayout(t *testing.T) {
	small := gpt(t)
	single, dp4, tp2 := compiled(t, small, "single", ""), compiled(t, small, "dp4", ""), compiled(t, small, "tp2", "")
	must(t, "run", single, "--steps", "5", "--save", "straight")
	must(t, "run", dp4, "--steps", "3", "--checkpoint", "ck")
	must(t, "run", tp2, "--steps", "5", "--checkpoint", "ck", "--resume", "--save", "resumed")
	near(t, "dp4, then tp2", "straight", "resumed", 1e-5)
}

// TestTensorParallelTraffic: of a block's activations, two all-reduces forward
// and two backward, and nothing else (Shoeybi et al., "Megatron-LM", 2019,
// section 3, figure 4).
func TestTensorParallelTraffic(t *testing.T) {
	plan := compiled(t, gpt(t), "tp2", "ref")
	var d explain.Description
	if err := json.Unmarshal([]byte(must(t, "explain", plan, "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	const blocks, activation = 2, 8 * 16 * 32 * 4 // batch·seq·embed elements of f32
	count := 0
	for _, c := range d.Collectives {
		if !strings.HasPrefix(c.Scope, "blocks.") {
			continue
		}
		if c.Kind != "all_reduce" || c.Axis != "tp" || c.Bytes != activation || c.Why == "" {
			t.Errorf("a block communicates %+v", c)
		}
		count += c.Count
	}
	if count != 4*blocks {
		t.Errorf("%d all-reduces in %d blocks", count, blocks)
	}
	if text := must(t, "explain", plan).out; !strings.Contains(text, "Communication in a step; a device has at most ") {
		t.Errorf("explain says\n%s", text)
	}
	if strings.Contains(must(t, "explain", compiled(t, nil, "single", "ref")).out, "Communication") {
		t.Error("one device communicates")
	}
}

// mpirun runs ptc as so many processes.
func mpirun(t *testing.T, processes int, args ...string) (out string, code int) {
	t.Helper()
	if os.Getenv("PTC_MPI") == "none" {
		t.Skip("PTC_MPI=none: without MPI, by choice")
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Fatalf("mpirun is not installed: %s (or set PTC_MPI=none)", mpi.Install)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mpirun", append([]string{"--allow-run-as-root", "--oversubscribe", "-n", fmt.Sprint(processes), self}, args...)...)
	cmd.Env = append(os.Environ(), asMain+"=1", "OMPI_MCA_orte_tmpdir_base="+t.TempDir()) // jobs that start at the same time would race for one folder
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Fatalf("the job did not end; it printed\n%s", text)
	}
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// TestMPI: processes with a device each write the very files of one process, and checkpoints in parts with the same bits.
func TestMPI(t *testing.T) {
	small := gpt(t)
	zero3, pp2 := compiled(t, small, "zero3", ""), compiled(t, small, "pp2", "")
	for plan, processes := range map[string]int{zero3: 4, pp2: 2} {
		args := []string{"run", plan, "--steps", "4", "--seed", "7", "--checkpoint"}
		must(t, append(args, plan+".ck", "--save", plan+".one", "--dump-grads", plan+".one.grads")...)
		if out, code := mpirun(t, processes, append(args, plan+".mpick", "--save", plan+".mpi", "--dump-grads", plan+".mpi.grads")...); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, out)
		}
		for _, name := range []string{"", ".grads"} {
			if read(t, plan+".one"+name) != read(t, plan+".mpi"+name) {
				t.Errorf("%s: the files %s differ", plan, name)
			}
		}
		// Several processes write parts; one process that goes on from either writes a file of it.
		for _, place := range []string{plan + ".ck", plan + ".mpick"} {
			must(t, "run", plan, "--steps", "5", "--checkpoint", place, "--resume")
		}
		const state = "/step-00000005/optimizer.safetensors"
		if read(t, plan+".ck"+state) != read(t, plan+".mpick"+state) {
			t.Errorf("%s: the optimizer's state differs", plan)
		}
	}
	if out, code := mpirun(t, 4, "run", zero3, "--steps", "6", "--checkpoint", pp2+".mpick", "--resume"); code != 0 {
		t.Errorf("resumed: exit code %d:\n%s", code, out)
	}
	out, code := mpirun(t, 4, "run", zero3, "--steps", "6", "--checkpoint", pp2+".mpick")
	if code != exitFile || strings.Count(out, "already has checkpoints, the latest of step 6") != 1 {
		t.Errorf("a new run in a folder with checkpoints: exit code %d:\n%s", code, out)
	}
	if out, code := mpirun(t, 3, "run", zero3, "--steps", "1"); code != exitFile || strings.Count(out, "the plan is for 4 devices, but MPI started 3 processes") != 1 {
		t.Errorf("3 processes: exit code %d:\n%s", code, out)
	}
}

func TestShareOfAHost(t *testing.T) {
	for list, want := range map[string]int{"0\n": 1, "0-3": 4, "0-3,8,10-11\n": 7, "": 0, "x": 0} {
		if got := countRange(list); got != want {
			t.Errorf("countRange(%q) = %d", list, got)
		}
	}
	for _, c := range [][4]int{{2, 2, 8, 1}, {16, 128, 8, 16}, {1, 128, 8, 1}, {128, 128, 8, 16}, {64, 64, 0, 64}, {4, 0, 0, 4}} {
		if got := share(c[0], c[1], c[2]); got != c[3] {
			t.Errorf("share%v = %d", c[:3], got)
		}
	}
	env := map[string]string{"MPI_LOCALNRANKS": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": ""}
	if n := localProcesses(func(k string) string { return env[k] }); n != 4 {
		t.Errorf("%d processes", n)
	}
}
