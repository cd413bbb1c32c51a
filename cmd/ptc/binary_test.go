package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// built is the binary that `go build` makes with the tags.
func built(t *testing.T, tags string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("ELF is the format of Linux")
	}
	out := filepath.Join(t.TempDir(), "ptc")
	cmd := exec.Command("go", "build", "-tags", tags, "-o", out, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// needs lists the libraries that a binary cannot start without, with the dynamic
// linker.
func needs(t *testing.T, binary string) (libraries []string, linker bool) {
	t.Helper()
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		linker = linker || p.Type == elf.PT_INTERP
	}
	if libraries, err = f.ImportedLibraries(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(libraries)
	return libraries, linker
}

// TestBinaryNeedsWhatIsSaid: what docs/plans.md says of the two kinds of build.
func TestBinaryNeedsWhatIsSaid(t *testing.T) {
	page := read(t, "../../docs/plans.md")
	libraries, linker := needs(t, built(t, ""))
	if !linker || !slices.Equal(libraries, []string{"libc.so.6", "libdl.so.2", "libpthread.so.0"}) {
		t.Errorf("the usual build needs %v, the dynamic linker: %v", libraries, linker)
	}
	for _, l := range libraries {
		if !strings.Contains(page, l) {
			t.Errorf("docs/plans.md does not say that ptc needs %s", l)
		}
	}

	static := built(t, "static")
	if libraries, linker = needs(t, static); linker || len(libraries) > 0 {
		t.Errorf("the static build needs %v, the dynamic linker: %v", libraries, linker)
	}
	small := project(t) // which is the current folder from here on
	start := func(args ...string) (string, int) {
		cmd := exec.Command(static, args...)
		text, _ := cmd.CombinedOutput() // the exit code says it
		return string(text), cmd.ProcessState.ExitCode()
	}
	if text, code := start(with(small, "compile", "p/model.ptl", "-q", "-o", "ref.bin")...); code != exitOK {
		t.Fatalf("static: compile: exit code %d\n%s", code, text)
	}
	if text, code := start("run", "ref.bin", "--steps", "1"); code != exitOK {
		t.Errorf("static: run: exit code %d\n%s", code, text)
	}
	if text, code := start(with(small, "compile", "p/model.ptl", "--target", "cpu:x86-64-v3", "-o", "no.bin")...); code != exitInput || !strings.Contains(text, "static build") {
		t.Errorf("static: compile for cpu: exit code %d\n%s", code, text)
	}
	if text, code := start("doctor"); strings.Contains(text, "panic") {
		t.Errorf("static: doctor: exit code %d\n%s", code, text)
	}
}
