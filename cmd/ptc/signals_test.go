package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ptc/runtime/comm/mpi"
)

// TestSignalsEndCommands: a signal ends a command that is no run at once, and
// leaves no file behind.
func TestSignalsEndCommands(t *testing.T) {
	project(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"compile", "-", "-o", "out.bin"}, {"check", "-"}, {"fmt", "-"}} {
		cmd := exec.Command(self, args...)
		cmd.Env = append(os.Environ(), asMain+"=1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More than a pipe holds: when it is written, the command is reading.
		if _, err := io.WriteString(stdin, strings.Repeat("// more\n", 1<<15)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupt {
			t.Errorf("ptc %s ends with %v", strings.Join(args, " "), err)
		}
	}
	if left, _ := filepath.Glob("*out.bin*"); left != nil {
		t.Errorf("%v is left", left)
	}
}

// TestASignalBeforeTheFirstStep: a run that is still getting ready ends at once.
func TestASignalBeforeTheFirstStep(t *testing.T) {
	project(t)
	must(t, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")
	// Asking the go command for GOROOT takes for ever.
	if err := os.Mkdir("bin", 0o777); err != nil {
		t.Fatal(err)
	}
	write(t, "bin/go", "#!/bin/sh\ntouch asked\nexec sleep 60\n")
	if err := os.Chmod("bin/go", 0o755); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOROOT", "")
	t.Setenv("PATH", filepath.Join(here, "bin")+":"+os.Getenv("PATH"))
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1} {
		_ = os.Remove("asked")
		cmd, _ := start(t, "run", "a.bin", "--steps", "2", "--checkpoint", "ck", "--dump-batches", "batches", "--trace", "trace")
		for i := 0; ; i++ {
			if _, err := os.Stat("asked"); err == nil {
				break
			}
			if i > 12000 {
				t.Fatal("the run never looked for its data")
			}
			time.Sleep(10 * time.Millisecond)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupt {
			t.Errorf("%s: the run ended with %v, expected exit code %d", sig, err, exitInterrupt)
		}
	}
	for _, name := range []string{"batches*", ".batches*", "trace*", ".trace*"} {
		if left, _ := filepath.Glob(name); left != nil {
			t.Errorf("%v is left", left)
		}
	}
}

// twoProcesses makes a.bin, a plan for two processes of MPI, which run the binary that it
// gives.
func twoProcesses(t *testing.T) (self string) {
	t.Helper()
	if os.Getenv("PTC_MPI") == "none" {
		t.Skip("PTC_MPI=none")
	}
	if _, err := exec.LookPath("mpirun"); err != nil {
		t.Fatalf("mpirun is not installed: %s (or set PTC_MPI=none)", mpi.Install)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	small := project(t)
	write(t, "p/model.ptl", read(t, "p/model.ptl")+"\nlayout data {\n  mesh dp = 2\n  shard batch over dp\n}\n")
	must(t, with(small, "compile", "p/model.ptl", "--layout", "data", "-o", "a.bin", "-q")...)
	return self
}

// TestASignalEndsAJobCleanly: what mpirun passes on ends all processes after one
// step, saved, with exit code 0 of mpirun as well.
func TestASignalEndsAJobCleanly(t *testing.T) {
	self := twoProcesses(t)
	cmd := exec.Command("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", self, "run", "a.bin", "--steps", "100000000", "--checkpoint", "ck")
	cmd.Env = append(os.Environ(), asMain+"=1", "OMPI_MCA_orte_tmpdir_base="+t.TempDir())
	var out watched
	out.word, out.seen = "step ", make(chan struct{})
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // it has ended, unless the test failed
	select {
	case <-out.seen:
	case <-time.After(2 * time.Minute):
		t.Fatalf("no step in two minutes:\n%s", out.text.String())
	}
	if err := cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("mpirun ended with %v:\n%s", err, out.text.String())
	}
	if left, _ := filepath.Glob("ck/step-*"); len(left) != 1 || strings.Contains(out.text.String(), "told to end") {
		t.Errorf("checkpoints %v; the job said\n%s", left, out.text.String())
	}
}

// watched is a buffer that says when a word is first written to it.
type watched struct {
	text bytes.Buffer
	word string
	seen chan struct{}
	done bool
}

func (w *watched) Write(p []byte) (int, error) {
	n, err := w.text.Write(p)
	if !w.done && strings.Contains(w.text.String(), w.word) {
		w.done = true
		close(w.seen)
	}
	return n, err
}
