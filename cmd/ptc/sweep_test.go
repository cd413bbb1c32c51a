package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ptc/runtime/train"
)

// sweepT is a command line of a sweep over two learning rates and two seeds.
func sweepT(small []string, more ...string) []string {
	return append(with(small, "sweep", "p/model.ptl", "--target", "ref", "-o", "out", "--over", "lr=1e-3,3e-3", "--over", "seed=7..8"), more...)
}

// TestSweep: every point is the run that its settings make, and is run once.
func TestSweep(t *testing.T) {
	small := project(t)
	if got, want := must(t, sweepT(small, "--list")...).out, "1  lr=1e-3 seed=7\n2  lr=1e-3 seed=8\n3  lr=3e-3 seed=7\n4  lr=3e-3 seed=8\n"; got != want {
		t.Errorf("the points are\n%s", got)
	}
	if _, err := os.Stat("out"); err == nil {
		t.Error("to list the points made a folder")
	}
	must(t, sweepT(small, "--point", "2")...)
	if _, err := os.Stat("out/results.csv"); err == nil {
		t.Error("a point alone wrote the table of all")
	}
	r := must(t, sweepT(small)...)
	if strings.Contains(r.err, "point 2 of 4") || strings.Count(r.err, " of 4: ") != 3 || strings.Count(r.out, "\n") != 5 || strings.Count(r.out, "best") != 1 {
		t.Errorf("the sweep says\n%s%s", r.err, r.out)
	}
	table, all := read(t, "out/results.csv"), read(t, "out/results.json")
	if !strings.HasPrefix(table, "point,lr,seed,steps,loss,val_loss,error\n1,1e-3,7,6,") || strings.Count(table, "\n") != 5 {
		t.Errorf("the table is\n%s", table)
	}
	if again := must(t, sweepT(small)...); strings.Contains(again.err, " of 4: ") || again.out != r.out || read(t, "out/results.json") != all {
		t.Errorf("a second time the sweep says\n%s%s", again.err, again.out)
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref", "--set", "lr=3e-3")...)
	must(t, "run", "a.bin", "--seed", "8", "--checkpoint", "ck")
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		if read(t, "ck/step-00000006/"+name) != read(t, "out/point-4/checkpoints/step-00000006/"+name) {
			t.Errorf("%s of point 4 is not that of the run", name)
		}
	}

	// What is there is of other settings, or of another model.
	other := append(with(small, "sweep", "p/model.ptl", "--target", "ref", "-o", "out"), "--over", "lr=2e-3")
	if r := ptc(t, other...); r.code != exitFile || !strings.Contains(r.err, "it is of lr=1e-3 seed=7, but point 1 of this sweep is lr=2e-3") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
	write(t, "p/model.ptl", strings.Replace(read(t, "p/model.ptl"), "std = 0.1)", "std = 0.2)", 1))
	if r := ptc(t, sweepT(small)...); r.code != exitFile || !strings.Contains(r.err, "it is of another model") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}

// TestSweepWithAPointThatFails: the others are run, and it is tried again.
func TestSweepWithAPointThatFails(t *testing.T) {
	small := project(t)
	line := append(with(small, "sweep", "p/model.ptl", "--target", "ref", "-o", "out"), "--over", "lr=1e30,1e-3")
	for i := range 2 {
		r := ptc(t, line...)
		if r.code != exitFile || !strings.Contains(r.err, "1 of 2 points failed") || !strings.Contains(r.err, "point 1 of 2") || strings.Contains(r.err, "point 2 of 2") != (i == 0) {
			t.Errorf("exit code %d\n%s", r.code, r.err)
		}
		if table := read(t, "out/results.csv"); !strings.Contains(table, "1,1e30,") || !strings.Contains(table, "not finite") && !strings.Contains(table, "NaN") && !strings.Contains(table, "Inf") || !strings.Contains(table, "\n2,1e-3,6,") {
			t.Errorf("the table is\n%s", table)
		}
	}
}

// TestASweepThatIsStopped goes on within the point where it was.
func TestASweepThatIsStopped(t *testing.T) {
	small := project(t)
	line := sweepT(small, "--steps", "400", "--requeue-exit-code", "75", "--every", "50")
	cmd, lines := start(t, line...)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "point 2 of 4") {
			for { // the run has begun when it has a step
				if text, _ := os.ReadFile("out/point-2/log.jsonl"); strings.Contains(string(text), `"event":"step"`) {
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := ended(t, cmd); code != 75 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat("out/point-2/result.json"); err == nil {
		t.Error("a point that was stopped has a result")
	}
	r := must(t, line...)
	if strings.Contains(r.err, "point 1 of 4") || !strings.Contains(read(t, "out/point-2/log.jsonl"), `"resumed":`) {
		t.Errorf("it goes on with\n%s", r.err)
	}
	straight := sweepT(small, "--steps", "400")
	for i, w := range straight {
		if w == "out" {
			straight[i] = "whole"
		}
	}
	must(t, straight...)
	if read(t, "out/results.json") != read(t, "whole/results.json") {
		t.Error("the sweep that was stopped has other results")
	}
}

// TestASweepThatIsStoppedBesideSteps: a scheduler's signal means the same where no step is
// under way: while plans are made, and in the last validation of a point.
func TestASweepThatIsStoppedBesideSteps(t *testing.T) {
	small := project(t)
	line := sweepT(small, "--requeue-exit-code", "75")
	cmd, lines := start(t, append(line, "--jobs", "2")...)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "1 plan for 4 points") {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := ended(t, cmd); code != 75 {
		t.Errorf("exit code %d of what had no point under way", code)
	}
	must(t, line...)
	if err := os.Remove("out/point-2/result.json"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(train.ErrPreempted)
	a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard}
	if code := a.execute(ctx, line); code != 75 {
		t.Errorf("exit code %d of what had all its steps", code)
	}
	if _, err := os.Stat("out/point-2/result.json"); err == nil {
		t.Error("a point that was not validated has a result")
	}
}

// The block of a source is what --over takes the place of.
func TestSweepBlock(t *testing.T) {
	small := project(t)
	text, err := os.ReadFile("p/model.ptl")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "p/model.ptl", string(text)+"\nsweep {\n  lr   = [1e-3, 2 * 3e-3]\n  seed = 1..2\n}\n")
	args := with(small, "sweep", "p/model.ptl", "--list")
	if got, want := must(t, args...).out, "1  lr=1e-3 seed=1\n2  lr=1e-3 seed=2\n3  lr=2 * 3e-3 seed=1\n4  lr=2 * 3e-3 seed=2\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := must(t, append(args, "--over", "seed=7")...).out, "1  seed=7\n"; got != want {
		t.Errorf("with --over %q, want %q", got, want)
	}
	must(t, with(small, "sweep", "p/model.ptl", "--target", "ref", "-o", "s", "--point", "3", "--steps", "1")...)
	if _, err := os.Stat("s/point-3/result.json"); err != nil {
		t.Error(err)
	}
}

// TestSweepCompilesOnce: points that differ in numbers of arithmetic share a plan; a shape and
// whether there is decay divide them. Each has the numbers of a run of its own.
func TestSweepCompilesOnce(t *testing.T) {
	small := project(t)
	write(t, "p/model.ptl", strings.NewReplacer("config {", "config {\n  decay = 0.1\n  seed = 1", "weight_decay = 0.01", "weight_decay = decay").Replace(read(t, "p/model.ptl")))
	line := append(with(small, "sweep", "p/model.ptl", "--target", "ref", "--steps", "2"), "--over", "embed=4,8", "--over", "lr=1e-3,3e-3", "--over", "decay=0,0.1,10*lr", "--over", "seed=1..2")
	r := must(t, append(line, "-o", "out")...)
	if !strings.HasPrefix(r.err, "4 plans for 24 points\n  `embed` changes shapes model.ptl:") || strings.Count(r.err, "compiled for each value") != 1 {
		t.Errorf("the sweep says\n%s", r.err)
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref", "--set", "embed=8", "--set", "lr=3e-3", "--set", "decay=0.03", "--set", "seed=2")...)
	must(t, "run", "a.bin", "--steps", "2", "--checkpoint", "ck")
	if read(t, "ck/step-00000002/model.safetensors") != read(t, "out/point-24/checkpoints/step-00000002/model.safetensors") {
		t.Error("point 24 is not the run with its settings as constants")
	}

	// Several at once have the same results, of each of which the log has the values.
	if err := os.MkdirAll("jobs/plans", 0o777); err != nil { // somebody's, which stays
		t.Fatal(err)
	}
	cmd, lines := start(t, append(line, "-o", "jobs", "--jobs", "3", "--checkpoint", "cks")...)
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	if code := ended(t, cmd); code != 0 || read(t, "jobs/results.json") != read(t, "out/results.json") {
		t.Errorf("exit code %d\n%s", code, strings.Join(said, "\n"))
	}
	if log := read(t, "jobs/point-24/log.jsonl"); !strings.Contains(log, `"settings":{"decay":0.03,"seed":2,"lr":0.003}`) {
		t.Errorf("the log of point 24 is\n%s", log)
	}
	if read(t, "cks/point-24/step-00000002/model.safetensors") != read(t, "out/point-24/checkpoints/step-00000002/model.safetensors") {
		t.Error("the parameters of point 24 are others")
	}
	if left, _ := filepath.Glob("jobs/.plans*"); left != nil {
		t.Error("plans are left")
	}
	if _, err := os.Stat("jobs/plans"); err != nil {
		t.Error("a folder of somebody's is removed")
	}
}

// TestJobsThatAreStopped: a signal ends all points after their step, and the same command goes on.
func TestJobsThatAreStopped(t *testing.T) {
	small := project(t)
	line := append(with(small, "sweep", "p/model.ptl", "--target", "ref", "-o", "out", "--steps", "400", "--every", "50", "--requeue-exit-code", "75", "--jobs", "2"), "--over", "lr=1e-3,1e30,3e-3")
	cmd, lines := start(t, line...)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "point 3 of 3") {
			for { // the run has begun when it has a step
				if text, _ := os.ReadFile("out/point-3/log.jsonl"); strings.Contains(string(text), `"event":"step"`) {
					break
				}
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if code := ended(t, cmd); code != 75 {
		t.Errorf("exit code %d", code)
	}
	if left, _ := filepath.Glob("out/.plans*"); left != nil {
		t.Errorf("%v is left", left)
	}
	for _, name := range []string{"out/point-3/result.json", "out/results.json"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("there is %s", name)
		}
	}
	cmd, lines = start(t, line...)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	if code := ended(t, cmd); code != exitFile || !strings.Contains(said.String(), "1 of 3 points failed") || !strings.Contains(read(t, "out/point-3/log.jsonl"), `"resumed":`) {
		t.Errorf("exit code %d; it goes on with\n%s", code, said.String())
	}
	if table := read(t, "out/results.csv"); !strings.Contains(table, "\n1,1e-3,400,") || !strings.Contains(table, "\n3,3e-3,400,") {
		t.Errorf("the table is\n%s", table)
	}
}

func TestSweepFlags(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "other.bin", "-q", "--target", "ref", "--port", "lr", "--set", "embed=4")...)
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "nothing to sweep", nil},
		{exitUsage, "not an axis", []string{"--over", "lr"}},
		{exitUsage, "-o is missing", []string{"--over", "lr=1"}},
		{exitUsage, "--set and --over", []string{"--over", "hidden=1"}},
		{exitUsage, "points 1 to 2", []string{"--over", "lr=1,2", "-o", "x", "--point", "3"}},
		{exitUsage, "none of the others can be", []string{"--over", "lr=1,2", "-o", "x", "--point", "1", "--list"}},
		{exitUsage, "--steps is 0, but must be at least 1", []string{"--over", "lr=1,2", "-o", "x", "--steps", "0"}},
		{exitUsage, "--every is -3, but must be at least 1", []string{"--over", "lr=1,2", "-o", "x", "--every", "-3"}},
		{exitUsage, "--threads is 0, but must be at least 1", []string{"--over", "lr=1,2", "-o", "x", "--threads", "0"}},
		{exitUsage, "--jobs is 0", []string{"--over", "lr=1,2", "-o", "x", "--jobs", "0"}},
		{exitUsage, "none of the others can be", []string{"--over", "lr=1,2", "-o", "x", "--jobs", "2", "--point", "1"}},
		{exitFile, "the plan is of another model than point 1", []string{"--over", "lr=1,2", "-o", "x", "--point", "1", "--plan", "other.bin"}},
		{exitUsage, "would restart failing runs", []string{"--over", "lr=1,2", "-o", "x", "--requeue-exit-code", "2"}},
		{exitUsage, "the seed 1.5", []string{"--over", "seed=1.5", "-o", "x"}},
		{exitInput, "did you mean `hidden`?", []string{"--over", "hiden=8", "-o", "x"}},
		{exitInput, "did you mean `hidden`?", []string{"--over", "hiden=8", "--list"}},
		{exitInput, "lr=fast is not a number", []string{"--over", "lr=1e-3,fast", "--list"}},
		{exitFile, "", []string{"--over", "lr=1e-3", "-o", "text.txt"}},
	} {
		if r := ptc(t, append(with(small, "sweep", "p/model.ptl", "--target", "ref"), c.args...)...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}
