package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ended is the exit code of a process that has ended.
func ended(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// TestPreemptionAndTheSameCommand: a run that a scheduler stops twice, and starts
// again by the same command line, is the run that never stopped, bit for bit. Only
// what a scheduler sends gives the code by which it starts a run again.
func TestPreemptionAndTheSameCommand(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	must(t, "run", "a.bin", "--steps", "3000", "--save", "straight", "--checkpoint", "whole")
	line := []string{"run", "a.bin", "--steps", "3000", "--save", "parts", "--checkpoint", "ck", "--every", "40", "--resume=auto",
		"--requeue-exit-code", "75", "--grace", "1h", "--log", "json"}
	codes := []int{}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGINT, 0} {
		cmd, lines := start(t, line...)
		steps := 0
		for lines.Scan() {
			if !strings.Contains(lines.Text(), `"event":"step"`) {
				continue
			}
			if steps++; steps == 50 && sig != 0 {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
				if sig == syscall.SIGTERM { // a scheduler says it once more
					_ = cmd.Process.Signal(syscall.SIGUSR1)
				}
			}
		}
		codes = append(codes, ended(t, cmd))
		if sig != 0 && steps >= 3000 {
			t.Fatalf("%s came too late", sig)
		}
	}
	if codes[0] != 75 || codes[1] != 75 || codes[2] != exitOK || codes[3] != exitOK {
		t.Errorf("the exit codes are %d", codes)
	}
	if read(t, "straight") != read(t, "parts") {
		t.Error("the run that was preempted ends with other parameters")
	}
	for _, name := range []string{"model.safetensors", "optimizer.safetensors"} {
		if read(t, filepath.Join("whole/step-00003000", name)) != read(t, filepath.Join("ck/step-00003000", name)) {
			t.Errorf("%s of the last checkpoint differs", name)
		}
	}
}

// TestPreemptedBeforeTheFirstStep: what has not begun is started again as well.
func TestPreemptedBeforeTheFirstStep(t *testing.T) {
	s := &signals{}
	s.preemptible(75, time.Hour)
	if s.code(syscall.SIGTERM) != 75 || s.code(os.Interrupt) != exitInterrupt {
		t.Errorf("codes %d and %d", s.code(syscall.SIGTERM), s.code(os.Interrupt))
	}
	if s.known(syscall.SIGTERM) {
		t.Error("the first signal is taken for a second one")
	}
	s.finish(func(os.Signal) {})
	if s.take(syscall.SIGTERM) == nil || !s.known(syscall.SIGUSR1) || s.known(os.Interrupt) {
		t.Error("within the time to end, a scheduler's signals are one, and a person's ends")
	}
	if (&signals{}).code(syscall.SIGTERM) != exitInterrupt {
		t.Error("without a code, a signal ends as an interrupt does")
	}
}

// TestForeseen: what the command line says of signals is known before flags are read, and what is no such code is
// left to them.
func TestForeseen(t *testing.T) {
	for line, want := range map[string]int{
		"run a.bin --requeue-exit-code 75": 75, "run a.bin --requeue-exit-code=75 --grace 1h": 75, "run --requeue-exit-code": exitInterrupt,
		"run a.bin --requeue-exit-code 3": exitInterrupt, "run -- --requeue-exit-code=75": exitInterrupt, "run --requeue-exit-code x": exitInterrupt,
	} {
		s := &signals{}
		s.foresee(strings.Fields(line))
		if got := s.code(syscall.SIGTERM); got != want {
			t.Errorf("%s: %d, not %d", line, got, want)
		}
		s.begin(syscall.SIGTERM)
		if s.known(syscall.SIGTERM) != strings.Contains(line, "grace") {
			t.Errorf("%s: a second signal", line)
		}
	}
}

// TestPreemptedWhileAPlanIsRead: what a signal means is known before a plan is read, or compiled.
func TestPreemptedWhileAPlanIsRead(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, args := range [][]string{
		{"run", "none.bin", "--checkpoint", "ck", "--requeue-exit-code", "75"},
		{"sweep", "none.ptl", "--over", "lr=1", "-o", "out", "--requeue-exit-code", "75"},
	} {
		a := &app{in: strings.NewReader(""), out: io.Discard, err: io.Discard, signals: &signals{}}
		if code := a.execute(context.Background(), args); code != exitFile && code != exitInput || a.signals.code(syscall.SIGTERM) != 75 {
			t.Errorf("%s: exit code %d, and of a signal %d", args[0], code, a.signals.code(syscall.SIGTERM))
		}
	}
}

func TestPreemptionFlags(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	for _, c := range []struct {
		say  string
		args []string
	}{
		{"--resume=auto", []string{"--resume", "auto"}},
		{"expected nothing, =auto", []string{"--resume=maybe"}},
		{"pass --checkpoint DIR", []string{"--resume=auto"}},
		{"add --checkpoint DIR", []string{"--requeue-exit-code", "75"}},
		{"would restart failing runs", []string{"--requeue-exit-code", "3", "--checkpoint", "ck"}},
		{"from 1 to 255", []string{"--requeue-exit-code", "256", "--checkpoint", "ck"}},
		{"must be more than 0", []string{"--grace", "0s", "--checkpoint", "ck"}},
		{"pass --checkpoint DIR", []string{"--grace", "1m"}},
		{"replaces them", []string{"--resume=auto", "--overwrite", "--checkpoint", "ck"}},
	} {
		if r := ptc(t, append([]string{"run", "a.bin", "--steps", "1"}, c.args...)...); r.code != exitUsage || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}

// TestAPreemptedJob: of a job of MPI every process ends with the code, whichever
// was told.
func TestAPreemptedJob(t *testing.T) {
	self := twoProcesses(t)
	// Rank 1 alone is told, by its own shell.
	script := `if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then (while [ ! -e go ]; do sleep 0.05; done; kill -TERM $$) & fi; exec ` + self +
		` run a.bin --steps 100000000 --checkpoint ck --every 100 --resume=auto --requeue-exit-code 75`
	cmd := exec.Command("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "sh", "-c", script)
	cmd.Env = append(os.Environ(), asMain+"=1", "OMPI_MCA_orte_tmpdir_base="+t.TempDir())
	var out watched
	out.word, out.seen = "saved ck", make(chan struct{})
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() // it has ended, unless the test failed
	select {
	case <-out.seen:
	case <-time.After(2 * time.Minute):
		t.Fatalf("no checkpoint in two minutes:\n%s", out.text.String())
	}
	write(t, "go", "")
	if code := ended(t, cmd); code != 75 {
		t.Errorf("mpirun ended with %d:\n%s", code, out.text.String())
	}
	if left, _ := filepath.Glob("ck/.tmp*"); left != nil {
		t.Errorf("%v is left", left)
	}
}
