package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPlansDoNotDependOnThePlace(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	abs, err := filepath.Abs("p/model.ptl")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	r := must(t, with(small, "compile", abs)...) // to model.bin
	if read(t, "model.bin") != read(t, filepath.Join(filepath.Dir(abs), "..", "a.bin")) {
		t.Error("the plan depends on the folder from which it was compiled")
	}
	for _, want := range []string{abs + " -> model.bin", "Next, layout single", "launches of", "compiled in"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("the summary lacks %q:\n%s", want, r.err)
		}
	}
}

func TestDumpsReadBack(t *testing.T) {
	small := project(t)
	r := must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--dump-ir", "new/ir", "--verify-each", "--print-after", "fuse")...)
	dumps, err := filepath.Glob("new/ir/*.ptir")
	if err != nil || len(dumps) != len(passNames())+1 {
		t.Fatalf("%d dumps for %d passes (%v)", len(dumps), len(passNames()), err)
	}
	for i, name := range append([]string{"lower"}, passNames()...) {
		if want := filepath.Join("new", "ir", fmt.Sprintf("%02d-%s.ptir", i, name)); dumps[i] != want {
			t.Errorf("dump %d is %s, expected %s", i, dumps[i], want)
		}
	}
	for _, d := range dumps {
		text := read(t, d)
		if got := must(t, "opt", d).out; got != text {
			t.Errorf("%s changes when read and printed", d)
		}
		if filepath.Base(d)[3:] == "fuse.ptir" && r.out != text {
			t.Errorf("--print-after fuse prints something else than %s", d)
		}
	}
	// One pass by itself, from one dump to the next.
	must(t, "opt", dumps[1], "--passes", "simplify", "-o", "out.ptir")
	if read(t, "out.ptir") != read(t, dumps[2]) {
		t.Errorf("simplify by itself is not simplify in its place")
	}
	if got := ptcIn(t, read(t, dumps[0]), "opt", "-"); got.out != read(t, dumps[0]) {
		t.Errorf("opt of the standard input: %s", got.err)
	}
}

func TestPrintAfterAll(t *testing.T) {
	small := project(t)
	r := must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--print-after", "all")...)
	at := -1
	for i, name := range append([]string{"lower"}, passNames()...) {
		next := strings.Index(r.out, fmt.Sprintf("// ---- %02d-%s\n", i, name))
		if next <= at {
			t.Fatalf("%s is not printed, or not in its place", name)
		}
		at = next
	}
}

// TestOutputKeepsWhatIsThere: a link stays a link, a device a device.
func TestOutputKeepsWhatIsThere(t *testing.T) {
	small := project(t)
	write(t, "real.bin", "old")
	if err := os.Chmod("real.bin", 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.bin", "link.bin"); err != nil {
		t.Fatal(err)
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", "link.bin")...)
	if st, err := os.Lstat("link.bin"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is one no more: %v, %v", st.Mode(), err)
	}
	if st, err := os.Stat("real.bin"); err != nil || st.Mode().Perm() != 0o640 || st.Size() < 1000 {
		t.Errorf("the file behind the link: %v, %d bytes, %v", st.Mode(), st.Size(), err)
	}
	must(t, with(small, "compile", "p/model.ptl", "-o", os.DevNull)...)
	if st, err := os.Stat(os.DevNull); err != nil || st.Mode().IsRegular() {
		t.Errorf("%s is a file now", os.DevNull)
	}
	if r := ptc(t, with(small, "compile", "p/model.ptl", "-o", "-", "-q")...); r.out != read(t, "real.bin") {
		t.Errorf("-o - gives %d bytes: %s", len(r.out), r.err)
	}
}

func TestExplain(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	var d struct {
		Model, Layout, Target string
		Launches              int              `json:"launches_per_step"`
		Ops                   int              `json:"ops_before_fusion"`
		Flops                 int64            `json:"flops_per_step"`
		Collectives           []map[string]any `json:"collectives"`
		Kernels               []struct {
			Launches int   `json:"launches_per_step"`
			Flops    int64 `json:"flops"`
		}
		Parameters struct{ Tensors, Elements int }
		Memory     struct {
			Peak  []int64          `json:"peak_bytes_per_device"`
			Arena map[string]int64 `json:"arena"`
		}
		Remarks []map[string]any
		Config  map[string]string
	}
	text := must(t, "explain", "a.bin", "--json").out
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	// 256·16 + 8·16·16 + 16 + 16·256
	if d.Model != "Next" || d.Layout != "single" || d.Target != "ref:f32" || d.Parameters.Tensors != 4 || d.Parameters.Elements != 10256 {
		t.Errorf("explain says %+v", d)
	}
	if d.Launches < 5 || d.Ops <= d.Launches || len(d.Memory.Peak) != 1 || d.Config["hidden"] != "16" || d.Collectives == nil || d.Remarks == nil {
		t.Errorf("explain says %+v", d)
	}
	sum, flops := 0, int64(0)
	for _, k := range d.Kernels {
		sum += k.Launches
		flops += int64(k.Launches) * k.Flops
	}
	if sum != d.Launches || flops != d.Flops {
		t.Errorf("kernels are launched %d times with %d FLOP, a step has %d with %d", sum, flops, d.Launches, d.Flops)
	}
	a := d.Memory.Arena
	if p := int64(d.Parameters.Elements) * 4; a["params"] < p || a["params"] > p+4*64 || a["optimizer"] < 2*p || a["activations"] == 0 {
		t.Errorf("the arena holds %v", a)
	}
	for kind, n := range a {
		if n > d.Memory.Peak[0] {
			t.Errorf("%s takes %d bytes of %d", kind, n, d.Memory.Peak[0])
		}
	}
	plain := must(t, "explain", "a.bin").out
	for _, want := range []string{"Next, layout single", "ref:f32 on 1 device", "10.3k in 4 tensors", "optimizer", "Kernels (", "hidden=16"} {
		if !strings.Contains(plain, want) {
			t.Errorf("explain lacks %q:\n%s", want, plain)
		}
	}
}

func TestCheck(t *testing.T) {
	small := project(t)
	r := must(t, with(small, "check", "p/model.ptl")...)
	for _, name := range passNames() {
		if !strings.Contains(r.out, "-"+name+" ") {
			t.Errorf("no row for %s:\n%s", name, r.out)
		}
	}
	var rows struct{ Rows []struct{ OK bool } }
	if err := json.Unmarshal([]byte(must(t, with(small, "check", "p/model.ptl", "--json")...).out), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows.Rows) < len(passNames()) || !rows.Rows[0].OK {
		t.Errorf("check --json says %+v", rows)
	}
	must(t, with(small, "check", "p/model.ptl", "--ignore-memory")...)
	if r := must(t, with(small, "check", "p/model.ptl", "--bisect")...); r.out != "no pass changes the result\n" {
		t.Errorf("check --bisect of what is right: %s", r.out)
	}
}

// TestCheckOfLargeSizes: sizes that no machine has memory for are refused at once, with how
// much they need and what to set.
func TestCheckOfLargeSizes(t *testing.T) {
	small := project(t)
	r := ptc(t, append(with(small, "check", "p/model.ptl"), "--set", "batch=2000000000")...)
	if r.code != exitInput {
		t.Errorf("exit code %d", r.code)
	}
	for _, want := range []string{"E0619", "checking these sizes needs about ", "TiB of memory", " are available", "--set name=size", "batch = 2000000000"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("no %q in\n%s", want, r.err)
		}
	}
}
