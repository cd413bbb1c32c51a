package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// instructions are the lines of a disassembly: names of functions, and offsets with instructions.
var instructions = regexp.MustCompile(`^([a-z_0-9.]+:\n( *[0-9a-f]+\t[^\n]+\n)+)+$`)

// section is the part of what explain says of a kernel that has a form.
func section(text, kind string) string {
	_, s, _ := strings.Cut(text, "\n-- "+kind+" --\n")
	s, _, _ = strings.Cut(s, "\n-- ")
	return s
}

// without runs ptc in a process that has no libLLVM.
func without(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1", "PTC_LLVM=none")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("ptc %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestDisassembly: the code of a plan is shown instruction by instruction, the same whenever it is asked for, and
// where the library that does it is missing, a sentence says so.
func TestDisassembly(t *testing.T) {
	if os.Getenv("PTC_LLVM") == "none" {
		t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
	}
	small := project(t)
	for _, x := range []struct{ target, product, end string }{
		{"cpu:x86-64-v3", "vfmadd", "\tretq\n"},
		{"cpu:arm64", "\tfmla\t", "\tret\n"},
	} {
		dir := "k" + x.target[4:]
		must(t, with(small, "compile", "p/model.ptl", "--target", x.target, "-q", "-o", "a.bin", "--dump-kernels", dir)...)
		files, _ := filepath.Glob(dir + "/*.dis")
		if ir, _ := filepath.Glob(dir + "/*.ptir"); len(files) == 0 || len(files) != len(ir) {
			t.Fatalf("%s: %d disassemblies of %d kernels", x.target, len(files), len(ir))
		}
		for _, name := range files {
			text, kernel := read(t, name), strings.TrimSuffix(filepath.Base(name), ".dis")
			if !instructions.MatchString(text) || !strings.HasSuffix(text, x.end) || !strings.Contains("\n"+text, "\n"+kernel+":\n     0\t") {
				t.Errorf("%s of %s:\n%s", kernel, x.target, text)
			}
			if strings.HasPrefix(kernel, "gemm") && !strings.Contains(text, x.product) {
				t.Errorf("%s of %s has no %q:\n%s", kernel, x.target, x.product, text)
			}
			if shown := section(must(t, "explain", "a.bin", "--kernel", kernel).out, "dis"); shown != text {
				t.Errorf("%s of %s: explain shows\n%s, and compile wrote\n%s", kernel, x.target, shown, text)
			}
		}
		kernel := strings.TrimSuffix(filepath.Base(files[0]), ".dis")
		out := without(t, "explain", "a.bin", "--kernel", kernel)
		if got := section(out, "dis"); !strings.HasPrefix(got, "left out: the disassembly needs libLLVM: ") || section(out, "ll") == "" {
			t.Errorf("without libLLVM: %s", out)
		}
	}
}

// TestDisassemblyOfPTX: NVIDIA's tools assemble the plan's own PTX, one kernel of it, and print that; where they
// are missing, a sentence says so.
func TestDisassemblyOfPTX(t *testing.T) {
	small := project(t)
	t.Setenv("PATH", t.TempDir())
	compile := with(small, "compile", "p/model.ptl", "--target", "cuda:sm_90a", "-q", "-o", "a.bin", "--dump-kernels", "k")
	const want = "the disassembly needs ptxas, and nvdisasm or cuobjdump: put these tools of NVIDIA's on PATH"
	if r := must(t, compile...); !strings.Contains(r.err, "note: k/*.sass are left out: "+want) {
		t.Errorf("compile says: %s", r.err)
	}
	files, _ := filepath.Glob("k/*.ptx")
	if sass, _ := filepath.Glob("k/*.sass"); len(files) == 0 || len(sass) > 0 {
		t.Fatalf("%d files of PTX, and %v", len(files), sass)
	}
	kernel := strings.TrimSuffix(filepath.Base(files[0]), ".ptx")
	if got := section(must(t, "explain", "a.bin", "--kernel", kernel).out, "sass"); got != "left out: "+want+"\n" {
		t.Errorf("explain says: %q", got)
	}
	for name, script := range map[string]string{"ptxas": `echo "$@" > "$6"; while read -r line; do case "$line" in ".visible .entry $4"*) echo "$line" >> "$6";; esac; done < "$7"`, "cuobjdump": `while read -r line; do echo "$line"; done < "$2"`} {
		if err := os.WriteFile(filepath.Join(os.Getenv("PATH"), name), []byte("#!/bin/sh\n"+script+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	got := section(must(t, "explain", "a.bin", "--kernel", kernel).out, "sass")
	if !strings.HasPrefix(got, "-arch sm_90a --entry "+kernel+" -o ") || !strings.Contains(got, "\n.visible .entry "+kernel) {
		t.Errorf("explain shows: %s", got)
	}
}
