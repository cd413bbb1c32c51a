package main

import (
	"strings"
	"testing"
)

// TestCalibrate measures this host with a plan, and predicts the plan on the machine that comes of it, for several devices too.
func TestCalibrate(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	must(t, "compile", "p/model.ptl", "-q", "-o", "m.bin")
	if !hasLLVM() { // the plan is for ref
		if r := ptc(t, "machine", "calibrate", "--plan", "m.bin"); r.code != exitInput || !strings.Contains(r.err, "use a plan with native code") {
			t.Errorf("without libLLVM: exit code %d, %s", r.code, r.err)
		}
		return
	}
	r := must(t, "machine", "calibrate", "--plan", "m.bin", "--seconds", "0.01", "--threads", "1", "--note", "in a test", "-o", "here.ptm")
	if !strings.Contains(r.err, "kernels in the table") {
		t.Errorf("found\n%s", r.err)
	}
	must(t, "fmt", "--check", "here.ptm")
	if text := read(t, "here.ptm"); !strings.Contains(text, "1 thread") || !strings.Contains(text, "in a test") || !strings.Contains(text, "kernels {") {
		t.Errorf("found\n%s", text)
	}
	must(t, "machine", "check", "here.ptm")
	for _, levels := range []string{"", ":8"} {
		if r := must(t, "simulate", "m.bin", "--machine", "here.ptm"+levels); !strings.Contains(r.out, "step") {
			t.Errorf("found\n%s", r.out)
		}
	}
	must(t, "run", "m.bin", "--steps", "3", "--machine", "here.ptm")
}

// TestCalibrateRefused: a mistake is said before anything is measured.
func TestCalibrateRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--seconds", "0"}, exitUsage, "--seconds"},
		{[]string{"--threads", "-1"}, exitUsage, "--threads"},
		{[]string{"--name", "my host"}, exitUsage, "letters, digits"},
		{[]string{"--note", "two\nlines"}, exitUsage, "--note"},
		{[]string{"-o", "here.txt"}, exitUsage, ".ptm"},
		{[]string{"--plan", "p/model.ptl"}, exitFile, "ptc compile"},
		{[]string{"--plan", "none.bin"}, exitFile, "none.bin"},
		{[]string{"more"}, exitUsage, "more"},
	} {
		if r := ptc(t, append([]string{"machine", "calibrate"}, x.args...)...); r.code != x.code || !strings.Contains(r.err, x.want) {
			t.Errorf("%q: exit code %d, expected %d with %q\n%s", x.args, r.code, x.code, x.want, r.err)
		}
	}
}
