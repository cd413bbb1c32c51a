package main

import (
	"strings"
	"testing"
)

// TestDeploy: the file is of the plan, and a mistake is one of the command line.
func TestDeploy(t *testing.T) {
	small := project(t)
	write(t, "p/model.ptl", read(t, "p/model.ptl")+"\nlayout data {\n  mesh dp = 2\n  shard batch over dp\n}\n")
	must(t, with(small, "compile", "p/model.ptl", "--layout", "data", "-o", "a.bin", "-q", "--target", "ref")...)
	if text := must(t, "deploy", "a.bin", "--for", "slurm").out; !strings.Contains(text, "#SBATCH --ntasks=2\n") || !strings.Contains(text, " ptc run a.bin ") {
		t.Errorf("for Slurm:\n%s", text)
	}
	must(t, "deploy", "a.bin", "--for", "mpijob", "--image", "x:1", "--plan", "/plan.bin", "-o", "job.yaml")
	if text := read(t, "job.yaml"); !strings.Contains(text, "replicas: 2\n") {
		t.Errorf("for the MPI operator:\n%s", text)
	}
	if text := must(t, "deploy", "a.bin", "--for", "mpijob", "--image", "x:1", "--plan", "/plan.bin", "--restarts", "0").out; !strings.Contains(text, "backoffLimit: 0\n") {
		t.Errorf("without restarts:\n%s", text)
	}
	for _, c := range []struct {
		code int
		say  string
		args []string
	}{
		{exitUsage, "--for is missing: one of kueue, mpijob, slurm", nil},
		{exitUsage, "did you mean `slurm`?", []string{"--for", "slurn"}},
		{exitUsage, "--image", []string{"--for", "mpijob"}},
		{exitUsage, "absolute paths", []string{"--for", "mpijob", "--image", "x"}},
		{exitUsage, "--queue", []string{"--for", "kueue", "--image", "x", "--plan", "/p"}},
		{exitUsage, "not 3 on each node", []string{"--for", "slurm", "--per-node", "3"}},
		{exitUsage, "in a container plans have", []string{"--for", "mpijob", "--image", "x", "--checkpoint", "s3://b/k"}},
		{exitUsage, "--every is -1, but must be above 0", []string{"--for", "slurm", "--every", "-1"}},
		{exitUsage, "--cpus is 0", []string{"--for", "slurm", "--cpus", "0"}},
		{exitUsage, "--grace is 0s", []string{"--for", "slurm", "--grace", "0s"}},
		{exitUsage, "--restarts is -1", []string{"--for", "slurm", "--restarts", "-1"}},
		{exitUsage, "name of the job", []string{"--for", "slurm", "--name", "a b"}},
		{exitFile, "cannot write", []string{"--for", "slurm", "-o", "no/such/x"}},
	} {
		if r := ptc(t, append([]string{"deploy", "a.bin"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.say) {
			t.Errorf("%v: exit code %d\n%s", c.args, r.code, r.err)
		}
	}
}
