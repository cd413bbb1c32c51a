package main

import (
	"os"
	"strings"
	"testing"
)

// TestRunsKeepTheirFiles: no file that a command writes replaces the plan that it reads, and no two outputs of a run
// are one file.
func TestRunsKeepTheirFiles(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "a.bin", "-q")...)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "-o", "b.bin", "-q", "--dump-ir", "ir")...)
	plan, dump := read(t, "a.bin"), read(t, "ir/00-lower.ptir")
	must(t, "run", "b.bin", "--steps", "1", "--save", "init")
	if err := os.Link("a.bin", "link.bin"); err != nil {
		t.Fatal(err)
	}
	init := read(t, "init")
	for _, c := range []struct {
		text string
		args []string
	}{
		{"a.bin is the input and would be lost", []string{"run", "a.bin", "--save", "a.bin"}},
		{"./a.bin is the input and would be lost", []string{"run", "a.bin", "--dump-grads", "./a.bin"}},
		{"link.bin is the input and would be lost", []string{"run", "a.bin", "--dump-batches", "link.bin"}},
		{"a.bin is the input and would be lost", []string{"run", "a.bin", "--trace", "a.bin"}},
		{"a.bin is the input and would be lost", []string{"run", "a.bin", "--profile=a.bin"}},
		{"a.bin is the input and would be lost", []string{"run", "a.bin", "--log", "json:a.bin"}},
		{"init is the input and would be lost", []string{"run", "a.bin", "--init", "init", "--trace", "init"}},
		{"--save and --dump-grads both write ./both", []string{"run", "a.bin", "--save", "both", "--dump-grads", "./both"}},
		{"--trace and --log csv both write", []string{"run", "a.bin", "--trace", "both", "--log", "csv:both"}},
		{"a.bin is the input and would be lost", []string{"deploy", "a.bin", "--for", "slurm", "-o", "a.bin"}},
		{"00-lower.ptir is the input and would be lost", []string{"opt", "ir/00-lower.ptir", "-o", "ir/00-lower.ptir"}},
	} {
		if c.args[0] == "run" {
			c.args = append(c.args, "--steps", "1")
		}
		line := "ptc " + strings.Join(c.args, " ")
		if r := ptc(t, c.args...); r.code != exitUsage || !strings.Contains(r.err, c.text) {
			t.Errorf("%s: code %d, %s; expected %q", line, r.code, r.err, c.text)
		}
		if read(t, "a.bin") != plan || read(t, "ir/00-lower.ptir") != dump || read(t, "init") != init {
			t.Fatalf("%s: the input was replaced", line)
		}
		if _, err := os.Stat("both"); err == nil {
			t.Errorf("%s: one output was written", line)
		}
	}
	// Parameters may replace those that they came from, and a device takes several.
	must(t, "run", "a.bin", "--steps", "1", "--init", "init", "--save", "init")
	must(t, "run", "a.bin", "--steps", "1", "--trace", os.DevNull, "--dump-batches", os.DevNull)
}

// TestASamplingPlanDoesNotTrain: no number of steps is asked for where none would help.
func TestASamplingPlanDoesNotTrain(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "--target", "ref", "--sample", "-o", "s.bin", "-q")...)
	for _, args := range [][]string{{"run", "s.bin"}, {"run", "s.bin", "--steps", "1"}} {
		if r := ptc(t, args...); r.code != exitFile || !strings.Contains(r.err, "it cannot train") {
			t.Errorf("%v: code %d, %s", args, r.code, r.err)
		}
	}
}

// TestThreadsAreBounded: what no team can have is a mistake in the command line, before anything is read.
func TestThreadsAreBounded(t *testing.T) {
	for _, args := range [][]string{
		{"run", "a.bin"}, {"eval", "a.bin", "--init", "x"}, {"sample", "a.bin", "--init", "x", "--prompt", "x"}, {"bench"},
		{"tune", "a.bin"}, {"sweep", "model.ptl", "--over", "lr=1,2", "-o", "s"}, {"data", "prepare", "x", "--tokenizer", "x", "-o", "y"},
	} {
		for n, want := range map[string]string{"4097": "at most 4096", "-1": "at least 1"} {
			if r := ptc(t, append(args, "--threads", n)...); r.code != exitUsage || !strings.Contains(r.err, "--threads is "+n+", but must be "+want) {
				t.Errorf("%s --threads %s: code %d, %s", strings.Join(args, " "), n, r.code, r.err)
			}
		}
	}
}
