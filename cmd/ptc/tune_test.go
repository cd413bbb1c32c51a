package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestTune finds schedules for a plan, compiles with them, and goes on where a file has
// some already.
func TestTune(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	must(t, "compile", "p/model.ptl", "-q", "-o", "m.bin")
	if !hasLLVM() { // the plan is for ref
		if r := ptc(t, "tune", "m.bin"); r.code != exitInput || !strings.Contains(r.err, "have no schedules") {
			t.Errorf("without libLLVM: exit code %d, %s", r.code, r.err)
		}
		return
	}
	r := must(t, "tune", "m.bin", "--seconds", "0.001", "--threads", "1")
	if !strings.Contains(r.out, "GFLOP/s") || !strings.HasSuffix(r.out, "\nm.schedules\n") {
		t.Errorf("found output\n%s", r.out)
	}
	found := read(t, "m.schedules")
	must(t, "compile", "p/model.ptl", "-q", "-o", "n.bin", "--schedules", "m.schedules")
	must(t, "verify", "n.bin")
	if r := must(t, "compile", "p/model.ptl", "-o", "n.bin", "--schedules", "m.schedules"); !strings.Contains(r.err, "schedules") {
		t.Errorf("found no word of schedules in\n%s", r.err)
	}
	must(t, "run", "n.bin", "--steps", "1")

	r = must(t, "tune", "m.bin", "--seconds", "0.001", "--json")
	var report struct {
		Known   int
		Kernels []struct{ Own, Best string }
	}
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || report.Known == 0 || len(report.Kernels) != 0 {
		t.Errorf("%v: found\n%s", err, r.out)
	}
	if read(t, "m.schedules") != found {
		t.Error("a search that measured nothing changed the file")
	}
	r = must(t, "tune", "m.bin", "--seconds", "0.001", "--json", "--fresh", "-o", "m.schedules")
	if err := json.Unmarshal([]byte(r.out), &report); err != nil || report.Known != 0 || len(report.Kernels) == 0 || report.Kernels[0].Own == "" {
		t.Errorf("%v: found\n%s", err, r.out)
	}
}

func TestTuneRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, "new", "p")
	must(t, "compile", "p/model.ptl", "-q", "-o", "ref.bin", "--target", "ref")
	write(t, "bad.schedules", "ptc schedules 1\ntarget ref:f32\nxyz\n")
	write(t, "other.schedules", "ptc schedules 1\ntarget cpu:other\n")
	for want, args := range map[string][]string{
		"target ref:f32, whose kernels have no schedules":         {"tune", "ref.bin"},
		"--seconds is 0, but must be more than 0":                 {"tune", "ref.bin", "--seconds", "0"},
		"--threads is 0, but must be at least 1":                  {"tune", "ref.bin", "--threads", "0"},
		"bad.schedules (35 B) is not a file of schedules: line 3": {"compile", "p/model.ptl", "--schedules", "bad.schedules"},
		"cannot read none": {"compile", "p/model.ptl", "--schedules", "none"},
		"E0702":            {"compile", "p/model.ptl", "--target", "ref", "--schedules", "other.schedules"},
	} {
		if r := ptc(t, args...); r.code == exitOK || r.code == exitBug || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit code %d; expected %q in\n%s", args, r.code, want, r.err)
		}
	}
	if _, err := os.Stat("model.bin"); err == nil {
		t.Error("a plan was written")
	}
}
