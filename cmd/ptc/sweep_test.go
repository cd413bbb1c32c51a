package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
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
	if r := ptc(t, other...); r.code != exitFile || !strings.Contains(r.err, "it is of lr=1e-3 seed=7, and point 1 of this sweep is lr=2e-3") {
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

func TestSweepFlags(t *testing.T) {
	small := project(t)
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "there is nothing to go through", nil},
		{exitUsage, "no axis", []string{"--over", "lr"}},
		{exitUsage, "-o is missing", []string{"--over", "lr=1"}},
		{exitUsage, "--set and --over", []string{"--over", "hidden=1"}},
		{exitUsage, "points 1 to 2", []string{"--over", "lr=1,2", "-o", "x", "--point", "3"}},
		{exitUsage, "none of the others can be", []string{"--over", "lr=1,2", "-o", "x", "--point", "1", "--list"}},
		{exitUsage, "would fail again", []string{"--over", "lr=1,2", "-o", "x", "--requeue-exit-code", "2"}},
		{exitUsage, "the seed 1.5", []string{"--over", "seed=1.5", "-o", "x"}},
		{exitInput, "did you mean `hidden`?", []string{"--over", "hiden=8", "-o", "x"}},
		{exitFile, "", []string{"--over", "lr=1e-3", "-o", "text.txt"}},
	} {
		if r := ptc(t, append(with(small, "sweep", "p/model.ptl", "--target", "ref"), c.args...)...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}
