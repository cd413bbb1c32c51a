package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSignalsFromTheFirstMoment: once a process takes signals, those of a scheduler end it with the code of the
// command line, however many come and however far it is.
func TestSignalsFromTheFirstMoment(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	codes := map[string]int{}
	for i := range 24 {
		cmd, _ := start(t, "run", "a.bin", "--checkpoint", fmt.Sprint("ck", i), "--steps", "100000000", "--requeue-exit-code", "75")
		for !takesSignals(cmd.Process.Pid) {
			time.Sleep(50 * time.Microsecond)
		}
		time.Sleep(time.Duration(i/2) * 500 * time.Microsecond)
		for range 1 + i%2 {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			time.Sleep(time.Duration(i%5) * time.Millisecond)
		}
		_ = cmd.Wait()
		codes[cmd.ProcessState.String()]++
	}
	if len(codes) != 1 || codes["exit status 75"] == 0 {
		t.Errorf("processes end so: %v", codes)
	}
}

// takesSignals says whether a thread of a process waits for signals: it holds back those that nobody asked for,
// as SIGUSR2, and not those that were, the last of which is SIGUSR1.
func takesSignals(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, name := range threads {
		text, _ := os.ReadFile(name) // the thread may have ended
		_, after, _ := strings.Cut(string(text), "SigBlk:")
		line, _, _ := strings.Cut(after, "\n")
		held, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
		if err == nil && held&(1<<(syscall.SIGUSR2-1)) != 0 && held&(1<<(syscall.SIGUSR1-1)) == 0 {
			return true
		}
	}
	return false
}

// TestEarlyIsEarly: what takes signals is initialized before the packages that take time.
func TestEarlyIsEarly(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "version")
	cmd.Env = append(os.Environ(), asMain+"=1", "GODEBUG=inittrace=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	at, of := -1, 0
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "init" {
			if f[1] == "ptc/cmd/ptc/early" {
				at = of
			}
			of++
		}
	}
	if at < 0 || at > of/3 {
		t.Errorf("it is number %d of %d packages", at, of)
	}
}
