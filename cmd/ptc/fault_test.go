package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// TestFaultOfAPlan: a plan whose code is damaged, and sealed again, ends with what
// to report.
func TestFaultOfAPlan(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	plan, err := program.ReadFile("a.bin")
	if err != nil {
		t.Fatal(err)
	}
	if plan.Code[0].Kind != "elf" {
		t.Skip("without libLLVM there is no native code to damage")
	}
	k := plan.Devices[0].Progs[0].Instrs[0].Kernel
	for i, c := range plan.Code {
		f, err := elf.NewFile(bytes.NewReader(c.Data))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range symbols {
			if s.Name == plan.Kernels[k].Symbol {
				at := f.Sections[s.Section].Offset + s.Value
				copy(plan.Code[i].Data[at:], bytes.Repeat([]byte{0x0f, 0x0b, 0, 0}, 4)) // no instruction of x86-64, nor of arm64 as a whole
				clear(plan.Code[i].Data[at+2 : at+4])
			}
		}
	}
	data, err := program.Encode(plan)
	if err != nil {
		t.Fatal(err)
	}
	write(t, "damaged.bin", string(data))
	cmd, lines := start(t, "run", "damaged.bin", "--steps", "2")
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitBug {
		t.Errorf("the run ended with %v, expected exit code %d", err, exitBug)
	}
	for _, want := range []string{"internal error: the code of the plan faulted in program step, step 1, on rank 0: illegal instruction, at instruction " + plan.Kernels[k].Symbol + "+0x0",
		"Please report it", "command  ptc run damaged.bin"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the run says\n%s\nwithout %q", said.String(), want)
		}
	}
	if raw.MatchString(said.String()) {
		t.Errorf("a dump reached the user:\n%s", said.String())
	}
}

// TestTooLittleMemoryToStart: where Go itself cannot start, the binary that make
// builds says why.
func TestTooLittleMemoryToStart(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skip("the entry point is one of linux/amd64")
	}
	binary := filepath.Join(t.TempDir(), "ptc")
	build := exec.Command("go", "build", "-ldflags", "-E main.entryPoint", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	for limit, want := range map[string]int{"100000": exitFile, "400000": exitFile, "1500000": exitFile, "unlimited": exitOK} {
		cmd := exec.Command("sh", "-c", "ulimit -v "+limit+" && exec "+binary+" version")
		text, _ := cmd.CombinedOutput() // the exit code says it
		said := strings.HasPrefix(string(text), "error: the limit of this process's memory (ulimit -v) is below ") && strings.HasSuffix(string(text), "raise the limit\n")
		if code := cmd.ProcessState.ExitCode(); code != want || said != (want == exitFile) {
			t.Errorf("with %s KiB: exit code %d:\n%.400s", limit, code, text)
		}
	}
}

// TestLimitedMemory: what does not fit into a limited address space is an error
// that says so.
func TestLimitedMemory(t *testing.T) {
	small := project(t)
	must(t, with(append(small, "--set", "hidden=200000"), "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]string{"1900000": "ptc needs 2.00 GiB", "2200000": "(ulimit -v)"} {
		cmd := exec.Command("sh", "-c", "ulimit -v "+limit+" && exec "+self+" run a.bin --steps 1")
		cmd.Env = append(os.Environ(), asMain+"=1")
		text, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitFile || !strings.Contains(string(text), want) {
			t.Errorf("with %s KiB: exit code %d:\n%s", limit, code, text)
		}
	}
}
