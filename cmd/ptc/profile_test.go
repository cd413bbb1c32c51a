package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"ptc/compiler/ceilings"
	"ptc/runtime/profile"
)

// lossesOf are the losses of a run that told its steps as JSON.
func lossesOf(t *testing.T, text string) (losses []any) {
	for _, e := range events(t, text) {
		if e["event"] == "step" {
			losses = append(losses, e["loss"], e["grad_norm"])
		}
	}
	return losses
}

// TestProfile: a profile changes no result, has every launch of the step, and says
// of each what it is.
func TestProfile(t *testing.T) {
	small := project(t)
	text := read(t, "p/model.ptl")
	write(t, "p/model.ptl", text+"\nlayout halves {\n  mesh dp = 2\n  shard batch over dp\n}\n")
	for _, c := range []struct {
		layout, target string
		ranks          int
	}{{"single", "", 1}, {"halves", "", 2}, {"halves", "ref", 2}} {
		args := with(small, "compile", "p/model.ptl", "--layout", c.layout, "-o", "a.bin", "-q")
		if c.target != "" {
			args = append(args, "--target", c.target)
		}
		must(t, args...)
		plain := must(t, "run", "a.bin", "--log", "json", "--save", "plain")
		r := must(t, "run", "a.bin", "--log", "json", "--save", "profiled", "--profile=p.json", "--trace", "trace.json")
		if got, want := fmt.Sprint(lossesOf(t, r.out)), fmt.Sprint(lossesOf(t, plain.out)); got != want {
			t.Errorf("%v: losses\n%s, without a profile\n%s", c, got, want)
		}
		if read(t, "profiled") != read(t, "plain") {
			t.Errorf("%v: the parameters differ", c)
		}
		e := events(t, r.out)
		if last := e[len(e)-1]; last["event"] != "profile" || last["steps"] != 2.0 {
			t.Errorf("%v: the last event is %v", c, last["event"])
		}
		checkProfile(t, read(t, "p.json"), c.ranks, explained(t))
		must(t, "report", "a.bin", "--profile", "p.json", "-o", "p.html")
		if page := read(t, "p.html"); strings.Count(page, `<th scope="row">0</th>`) != 1 || !strings.Contains(page, "Measured: <b>") {
			t.Errorf("%v: the page has no measured times", c)
		}
		if trace := read(t, "trace.json"); !strings.Contains(trace, `"gb_per_s":`) || c.target == "" && hasLLVM() && !strings.Contains(trace, `"roofline_share":`) {
			t.Errorf("%v: the trace has no rates", c)
		}
	}
	for _, c := range []struct {
		file, say string
		code      int
	}{{"trace.json", "trace.json is no profile of a run: it is a trace", exitFile}, {"none.json", "none.json", exitFile}, {"a.bin", "no JSON", exitFile}} {
		if r := ptc(t, "report", "a.bin", "--profile", c.file, "-o", "none.html"); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%s: exit code %d\n%s", c.file, r.code, r.err)
		}
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", "b.bin", "-q")...)
	if r := ptc(t, "report", "b.bin", "--profile", "p.json"); r.code != exitFile || !strings.Contains(r.err, "the profile is of another plan") {
		t.Errorf("a profile of another plan: exit code %d\n%s", r.code, r.err)
	}
	table := must(t, "run", "a.bin", "--steps", "5", "--profile").out
	for _, want := range []string{"Profile of 2 steps, medians (2 steps before left out)", "instruction by instruction", "Kernels of rank ", "model.ptl:", " comm ", "all_reduce dp"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if out, code := mpirun(t, 2, "run", "a.bin", "--steps", "5", "--profile=mpi.json", "--machine", "host:2"); code != 0 || strings.Count(out, "Profile of 2 steps") != 1 || strings.Count(out, "Forecast on host") != 1 {
		t.Errorf("as a job: exit code %d\n%s", code, out)
	} else if out != "" {
		checkProfile(t, read(t, "mpi.json"), 2, explained(t))
	}
}

func hasLLVM() bool {
	_, found := lookLLVM()
	return found
}

// explained is the number of launches of a.bin, as explain counts them.
func explained(t *testing.T) int {
	var e struct {
		Launches int `json:"launches_per_step"`
	}
	if err := json.Unmarshal([]byte(must(t, "explain", "a.bin", "--json").out), &e); err != nil {
		t.Fatal(err)
	}
	return e.Launches
}

func checkProfile(t *testing.T, text string, ranks, launches int) {
	t.Helper()
	var p profile.Report
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	if p.Version != profile.Version || p.Steps != 2 || p.WarmUp != 2 || p.StepMs <= 0 || p.ProfiledMs <= 0 || len(p.Ranks) != ranks {
		t.Fatalf("%d ranks, %d steps after %d, of %g and %g ms", len(p.Ranks), p.Steps, p.WarmUp, p.StepMs, p.ProfiledMs)
	}
	for i, r := range p.Ranks {
		if r.Rank != i || r.Launches != launches {
			t.Errorf("rank %d: %d launches, want %d", r.Rank, r.Launches, launches)
		}
		if (r.Communications > 0) != (ranks > 1) || (r.CommMs > 0) != (ranks > 1) || r.KernelMs <= 0 {
			t.Errorf("rank %d: %d communications, %g ms; kernels %g ms", i, r.Communications, r.CommMs, r.KernelMs)
		}
		calls, seen := 0, map[int]bool{}
		for _, k := range r.Kernels {
			calls += len(k.Calls)
			if k.Launches != len(k.Calls) || k.Source == "" && k.Class != "comm" && k.Module == "" || k.Ms < 0 {
				t.Errorf("rank %d: %+v", i, k)
			}
			for _, c := range k.Calls {
				if seen[c.Instruction] {
					t.Errorf("rank %d: instruction %d is twice there", i, c.Instruction)
				}
				seen[c.Instruction] = true
			}
			if hasLLVM() && k.Class != "comm" && k.Flops+k.Bytes > 0 && (k.Roofline <= 0 || k.Bound == "") {
				t.Errorf("rank %d: kernel %s has no share of the roofline", i, k.Name)
			}
		}
		if calls != r.Launches+r.Communications {
			t.Errorf("rank %d: %d calls, %d launches, %d communications", i, calls, r.Launches, r.Communications)
		}
	}
}

func TestBench(t *testing.T) {
	if !hasLLVM() {
		if r := ptc(t, "bench"); r.code != exitFile || !strings.Contains(r.err, "libLLVM") {
			t.Errorf("without libLLVM: exit code %d, %s", r.code, r.err)
		}
		return
	}
	var r ceilings.Report
	if err := json.Unmarshal([]byte(must(t, "bench", "--threads", "2", "--json").out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Version != ceilings.Version || r.Threads != 2 || len(r.Figures) < 8 {
		t.Errorf("bench says %+v", r)
	}
	for _, want := range []string{"multiply-adds of f32", "read memory", "copy memory", "update memory", "Medians of 9 runs"} {
		if text := must(t, "bench", "--threads", "1").out; !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
