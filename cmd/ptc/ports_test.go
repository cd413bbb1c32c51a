package main

import (
	"strings"
	"testing"
)

// TestPorts is what a user does with ports: compile, look, run with other values, go on, and
// make mistakes.
func TestPorts(t *testing.T) {
	small := project(t)
	text := read(t, "p/model.ptl")
	write(t, "p/model.ptl", strings.NewReplacer("config {", "config {\n  clip = 1.0", "clip = 1.0)", "clip = clip)").Replace(text))
	r := must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "--target", "ref", "--port", "lr,hidden", "--port", "clip")...)
	if !strings.Contains(r.err, "warning: no port: `hidden` changes shapes model.ptl:") {
		t.Errorf("compile says\n%s", r.err)
	}
	if out := must(t, "explain", "a.bin").out; !strings.Contains(out, "clip, lr: of these `ptc run --set` takes other values") {
		t.Errorf("explain says\n%s", out)
	}
	if out := must(t, "explain", "a.bin", "--section", "config").out; !strings.Contains(out, "clip = 1.0  (a port)") || !strings.Contains(out, "for values of which clip > 0 is true") {
		t.Errorf("explain says\n%s", out)
	}
	for _, command := range []string{"run", "eval"} {
		if out := ptc(t, "__complete", command, "a.bin", "--set", "").out; !strings.HasPrefix(out, "clip=\nlr=\n") {
			t.Errorf("completion of ptc %s --set offers\n%s", command, out)
		}
	}
	must(t, "verify", "a.bin")
	must(t, with(small, "check", "p/model.ptl", "--port", "lr,clip", "--set", "embed=4")...)

	must(t, "run", "a.bin", "--set", "lr=1e-2/2", "--set", "clip=0.5", "--steps", "3", "--checkpoint", "ck", "--log", "json:log")
	if log := read(t, "log"); !strings.Contains(log, `"settings":{"clip":0.5,"lr":0.005}`) {
		t.Errorf("the log is\n%s", log)
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", "b.bin", "-q", "--target", "ref", "--set", "lr=5e-3", "--set", "clip=0.5")...)
	must(t, "run", "b.bin", "--steps", "3", "--save", "constants")
	must(t, "run", "a.bin", "--set", "lr=5e-3", "--set", "clip=0.5", "--steps", "3", "--rebuild", "--save", "ports")
	must(t, "run", "a.bin", "--steps", "3", "--save", "default")
	if a, b := read(t, "constants"), read(t, "ports"); a != b || a == read(t, "default") {
		t.Error("parameters are not those of a plan with these constants")
	}
	r = must(t, "run", "a.bin", "--steps", "4", "--checkpoint", "ck", "--resume", "--set", "clip=0.5")
	if !strings.Contains(r.out+r.err, "comes from a run with lr=0.005, and this one has lr=0.003") {
		t.Errorf("the run that goes on says\n%s%s", r.out, r.err)
	}

	write(t, "p/smooth.ptl", strings.NewReplacer("config {", "config {\n  smooth = 0.0", "over = vocab)", "over = vocab, smoothing = smooth)").Replace(text))
	must(t, with(small, "compile", "p/smooth.ptl", "-o", "smooth.bin", "-q", "--target", "ref", "--port", "smooth", "--set", "smooth=0.1")...)
	if a, b := must(t, "eval", "smooth.bin", "--init", "ports").out, must(t, "eval", "smooth.bin", "--init", "ports", "--set", "smooth=0.5").out; a == b {
		t.Errorf("the loss with other smoothing is the same: %s", a)
	}
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "`smooth == 0` is not true", []string{"eval", "smooth.bin", "--init", "ports", "--set", "smooth=0"}},
		{exitUsage, "hidden is no port of the plan; its ports are clip, lr", []string{"run", "a.bin", "--set", "hidden=8"}},
		{exitUsage, "it has no ports: compile it with --port NAME", []string{"run", "b.bin", "--set", "lr=1"}},
		{exitUsage, "`clip > 0` is true, which does not hold of clip=0", []string{"run", "a.bin", "--set", "clip=0"}},
		{exitUsage, "`lr` is not name=value", []string{"run", "a.bin", "--set", "lr"}},
		{exitUsage, "not arithmetic of numbers", []string{"run", "a.bin", "--set", "lr=1e-3,2e-3"}},
		{exitUsage, "the value of a port must be a number", []string{"run", "a.bin", "--set", "lr=clip"}},
		{exitUsage, "lr is not finite", []string{"run", "a.bin", "--set", "lr=1/0"}},
		{exitInput, "the config has no entry `lrr`", []string{"compile", "p/model.ptl", "-o", "c.bin", "--port", "lrr"}},
		{exitUsage, "none of the others can be", []string{"compile", "p/model.ptl", "-o", "c.bin", "--port", "lr", "--sample"}},
	} {
		if r := ptc(t, c.args...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}

// TestPortsOverProcesses: processes with a device each take the values that one process does.
func TestPortsOverProcesses(t *testing.T) {
	small := gpt(t)
	must(t, append([]string{"compile", "gpt.ptl", "-o", "a.bin", "-q", "--layout", "test_pp2", "--port", "lr,decay"}, small...)...)
	args := []string{"run", "a.bin", "--steps", "2", "--set", "lr=5e-3", "--set", "decay=0.2", "--save"}
	must(t, append(args, "one")...)
	if out, code := mpirun(t, 2, append(args, "many")...); code != 0 || read(t, "one") != read(t, "many") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}
