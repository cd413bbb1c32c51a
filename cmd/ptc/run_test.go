package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// events reads JSON lines.
func events(t *testing.T, text string) (all []map[string]any) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, e)
	}
	return all
}

func TestRun(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	r := must(t, "run", "a.bin", "--steps", "4", "--log", "json", "--save", "straight", "--dump-grads", "grads",
		"--dump-batches", "batches", "--trace", "trace.json")
	e := events(t, r.out)
	if len(e) < 6 || e[0]["event"] != "start" || e[len(e)-1]["event"] != "end" {
		t.Fatalf("the events are\n%s", r.out)
	}
	steps := 0
	for _, x := range e {
		if x["event"] != "step" {
			continue
		}
		steps++
		for _, key := range []string{"step", "loss", "grad_norm", "lr", "ms", "tokens_per_s"} {
			if _, ok := x[key].(float64); !ok {
				t.Errorf("step %d: %s is %v", steps, key, x[key])
			}
		}
		if x["step"] != float64(steps) {
			t.Errorf("step %v in the place of %d", x["step"], steps)
		}
	}
	if steps != 4 || e[len(e)-1]["steps"] != 4.0 {
		t.Errorf("%d steps, %v at the end", steps, e[len(e)-1])
	}
	for _, name := range []string{"straight", "grads", "batches", "trace.json"} {
		if read(t, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}

	// Two runs, the second from the checkpoint of the first, are one run.
	must(t, "run", "a.bin", "--steps", "2", "--checkpoint", "ck")
	must(t, "run", "a.bin", "--steps", "4", "--checkpoint", "ck", "--resume", "--save", "resumed")
	if read(t, "resumed") != read(t, "straight") {
		t.Error("a resumed run is not the straight run")
	}
	must(t, "run", "a.bin", "--steps", "4", "--seed", "7", "--save", "seven")
	if read(t, "seven") == read(t, "straight") {
		t.Error("the seed makes no difference")
	}
	// Without --steps the plan's own 6; lines for people in a pipe.
	text := must(t, "run", "a.bin", "-v")
	if !strings.Contains(text.out, "step 6/6") || !strings.Contains(text.err, "Next, layout single") {
		t.Errorf("the run says\n%s\n%s", text.out, text.err)
	}
}

// start runs ptc in a process of its own and gives the lines of its output and
// its standard error together.
func start(t *testing.T, args ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	stream, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return cmd, bufio.NewScanner(stream)
}

func TestASignalEndsTheRunCleanly(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := "ck-" + sig.String()
		cmd, lines := start(t, "run", "a.bin", "--steps", "100000000", "--log", "json", "--checkpoint", dir)
		var last string
		for sent := false; lines.Scan(); {
			last = lines.Text()
			if !sent && strings.Contains(last, `"event":"step"`) {
				sent = true
				if err := cmd.Process.Signal(sig); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", sig, err)
		}
		if !strings.HasPrefix(last, `{"event":"end"`) {
			t.Errorf("%s: the last line is %s", sig, last)
		}
		must(t, "explain", "a.bin")
		if entries, err := os.ReadDir(dir); err != nil || len(entries) == 0 {
			t.Errorf("%s: no checkpoint was saved: %v", sig, err)
		}
	}
}

func TestASecondSignalEndsTheProcess(t *testing.T) {
	small := project(t)
	// The reference takes seconds for a step of this size: both signals come
	// during the first one, however busy the machine is.
	slow := append(small, "--set", "batch=16384", "--set", "hidden=512") // the last of two settings holds
	must(t, with(slow, "compile", "p/model.ptl", "-o", "slow.bin", "-q", "--target", "ref")...)
	cmd, lines := start(t, "run", "slow.bin", "--steps", "1000", "--log", "json")
	sent := 0
	for lines.Scan() {
		line := lines.Text()
		if sent == 0 && strings.Contains(line, `"event":"start"`) || sent == 1 && strings.Contains(line, "once more") {
			if sent == 0 { // the first step begins behind this line
				time.Sleep(500 * time.Millisecond)
			}
			sent++
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(line, `"event":"end"`) {
			t.Error("the run came to its end after two signals")
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupt {
		t.Errorf("the process ended with %v, expected exit code %d", err, exitInterrupt)
	}
}

// TestValuesOfVariablesAreNotShown: whatever becomes of a run, no output has the
// value of a variable of the environment.
func TestValuesOfVariablesAreNotShown(t *testing.T) {
	project(t)
	t.Setenv("SECRET_TOKEN", "hunter2")
	compile := []string{"compile", "p/model.ptl", "-o", "a.bin", "--set", "batch=4", "--set", "hidden=16", "--set", "corpus=${SECRET_TOKEN}/x/*"}
	check := func(code int, args ...string) {
		t.Helper()
		r := ptc(t, args...)
		if r.code != code || strings.Contains(r.out+r.err, "hunter2") {
			t.Errorf("%v: exit code %d, expected %d\n%s%s", args, r.code, code, r.out, r.err)
		}
	}
	run := []string{"run", "a.bin", "--steps", "2", "--log", "json", "--trace", "trace", "--checkpoint", "ck"}
	check(exitOK, compile...)
	check(exitFile, run...)
	if err := os.MkdirAll("hunter2/x", 0o777); err != nil {
		t.Fatal(err)
	}
	check(exitFile, run...)
	write(t, "hunter2/x/a", strings.Repeat("\x00", 1000))
	check(exitFile, run...)
	write(t, "hunter2/x/a", read(t, "text.txt"))
	check(exitOK, run...)
	check(exitOK, "explain", "a.bin")
	if strings.Contains(read(t, "trace")+read(t, "a.bin")+read(t, "ck/step-00000002/manifest.json"), "hunter2") {
		t.Error("a file has the value")
	}
}

// TestCaches: choices are looked for next to a plan only where all of the plan is believed.
func TestCaches(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the user's cache is named by another variable here")
	}
	t.Setenv("XDG_CACHE_HOME", "/cache")
	for _, c := range []struct {
		flags runFlags
		env   string
		want  string
	}{
		{runFlags{}, "", "[dir/plan.bin.blas /cache/ptc/blas]"},
		{runFlags{choices: "off"}, "", "[]"},
		{runFlags{choices: "here"}, "", "[here]"},
		{runFlags{choices: "here", trust: trustFlags{rebuild: true}}, "", "[here]"},
		{runFlags{trust: trustFlags{rebuild: true}}, "", "[/cache/ptc/blas]"},
		{runFlags{trust: trustFlags{noNative: true}}, "", "[/cache/ptc/blas]"},
		{runFlags{trust: trustFlags{keys: "keys"}}, "", "[/cache/ptc/blas]"},
		{runFlags{}, "keys", "[/cache/ptc/blas]"},
	} {
		t.Setenv(trustVar, c.env)
		if got := fmt.Sprint(c.flags.caches("dir/plan.bin")); got != c.want {
			t.Errorf("%+v: found %s; expected %s", c.flags, got, c.want)
		}
	}
}
