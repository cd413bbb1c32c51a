//go:build unix

package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// TestTwoRunsInOneFolder: of two runs that start at once in one new folder, one
// has it and the other is refused before its first step; what is left is whole.
func TestTwoRunsInOneFolder(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	for round := range 8 {
		dir := fmt.Sprintf("two-%d", round)
		var outs [2]string
		var codes [2]int
		var wg sync.WaitGroup
		for i := range outs {
			wg.Add(1)
			go func() {
				defer wg.Done()
				outs[i], codes[i] = inTime(t, "run", "a.bin", "--steps", "3", "--every", "1", "--checkpoint", dir)
			}()
		}
		wg.Wait()
		won, lost := 0, 0
		for i, code := range codes {
			switch {
			case code == 0:
				won++
			case code == 3 && !strings.Contains(outs[i], "step 1/3") &&
				(strings.Contains(outs[i], "is using it") || strings.Contains(outs[i], "already has checkpoints")):
				lost++
			default:
				t.Errorf("round %d: exit code %d\n%s", round, code, outs[i])
			}
		}
		if won != 1 || lost != 1 {
			t.Errorf("round %d: %d runs ended well and %d were refused\n%s\n%s", round, won, lost, outs[0], outs[1])
		}
		out, code := inTime(t, "run", "a.bin", "--steps", "4", "--checkpoint", dir, "--resume")
		if code != 0 || !strings.Contains(out, "4 steps done") || regexp.MustCompile("damaged|SHA|warning").MatchString(out) {
			t.Errorf("round %d: the next run ends with %d\n%s", round, code, out)
		}
	}
}

// TestRefusedFolders: what ptc run says of a folder that has checkpoints.
func TestRefusedFolders(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	run := []string{"run", "a.bin", "--checkpoint", "ck"}
	must(t, append(run, "--steps", "4")...)
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{3, "--resume", []string{"--steps", "2"}},
		{3, "--overwrite", []string{"--steps", "2"}},
		{2, "drop --resume or --overwrite", []string{"--resume", "--overwrite"}},
		{0, "nothing is left to do: the checkpoint has 4 steps, and the run ends with step 2", []string{"--resume", "--steps", "2"}},
		{0, "4 steps done, loss ", []string{"--resume", "--steps", "4"}},
		{0, "3 steps done, loss ", []string{"--overwrite", "--steps", "3"}},
		{0, "resumed     ck/step-00000003", []string{"--resume", "--steps", "5"}},
	} {
		r := ptc(t, append(run, c.args...)...)
		if out := r.out + r.err; r.code != c.code || !strings.Contains(out, c.say) || strings.Contains(out, "NaN") {
			t.Errorf("%v: exit code %d, want %d and %q\n%s", c.args, r.code, c.code, c.say, out)
		}
	}
	if r := ptc(t, "run", "a.bin", "--overwrite"); r.code != 2 || !strings.Contains(r.err, "--checkpoint DIR") {
		t.Errorf("exit code %d\n%s", r.code, r.err)
	}
}
