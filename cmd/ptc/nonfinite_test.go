package main

import (
	"os"
	"strings"
	"testing"
)

// TestTheFirstTensorThatIsNotFinite: a run names where NaN begins, in the forward
// and in the backward phase, on one device, on two, and on two of a job.
func TestTheFirstTensorThatIsNotFinite(t *testing.T) {
	small := project(t)
	source := read(t, "p/model.ptl")
	const line = "    return dot(h, out, over = hidden)\n"
	for name, c := range map[string]struct{ body, want string }{
		// h is 0 or less for half of the elements
		"forward": {"    g = log(h)\n    return dot(g, out, over = hidden)\n", "the loss is NaN"},
		// the derivative of the square root at 0 is infinite, and 0 times that is NaN
		"backward": {"    g = h + sqrt((h - h) * b)\n    return dot(g, out, over = hidden)\n", "and the norm of the gradients is NaN"},
	} {
		text := strings.Replace(source, line, c.body, 1)
		if text == source {
			t.Fatal("the starter has changed")
		}
		write(t, "p/model.ptl", text+"\nlayout data {\n  mesh dp = 2\n  shard batch over dp\n}\n")
		for _, layout := range []string{"single", "data"} {
			must(t, with(small, "compile", "p/model.ptl", "--layout", layout, "-o", "a.bin", "-q")...)
			r := ptc(t, "run", "a.bin", "--steps", "5", "--save", "out")
			for _, want := range []string{"error: step 1: the loss is", c.want, "; the first tensor that is not finite is f32[batch=", " of kernel ", ", around model.ptl:", " NaN of "} {
				if r.code != exitFile || !strings.Contains(r.err, want) {
					t.Errorf("%s, %s: exit code %d, without %q:\n%s", name, layout, r.code, want, r.err)
				}
			}
			if _, err := os.Stat("out"); err == nil {
				t.Errorf("%s: parameters were saved", name)
			}
		}
		if out, code := mpirun(t, 2, "run", "a.bin", "--steps", "5"); code != exitFile || strings.Count(out, "the first tensor that is not finite") != 1 {
			t.Errorf("%s, as a job: exit code %d:\n%s", name, code, out)
		}
	}
}

// TestOptionsOfAJob: processes that were started with different options end with
// what differs.
func TestOptionsOfAJob(t *testing.T) {
	small := project(t)
	write(t, "p/model.ptl", read(t, "p/model.ptl")+"\nlayout data {\n  mesh dp = 2\n  shard batch over dp\n}\n")
	must(t, with(small, "compile", "p/model.ptl", "--layout", "data", "-o", "a.bin", "-q")...)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"--steps is 4 on rank 0 and 8 on rank 1":                        {"--steps", "8"},
		"--checkpoint is not given on rank 0 and given on rank 1":       {"--steps", "4", "--checkpoint", "ck"},
		"--on-nan is stop on rank 0 and continue on rank 1":             {"--steps", "4", "--on-nan", "continue"},
		"--init is not given on rank 0 and given on rank 1; --save is ": {"--steps", "4", "--init", "x", "--save", "y"},
	} {
		// mpirun runs one process with what comes first and one with the rest.
		line := append([]string{"run", "a.bin", "--steps", "4", ":", "-n", "1", self, "run", "a.bin"}, args...)
		if out, code := mpirun(t, 1, line...); code != exitUsage || strings.Count(out, want) != 1 {
			t.Errorf("%q: exit code %d, expected %d:\n%s", want, code, exitUsage, out)
		}
	}
}
