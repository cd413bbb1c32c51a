package main

import (
	"strings"
	"testing"
)

// launchFlags are those of a small model of Llama's kind, for Megatron-LM.
const launchFlags = "--num-layers 8 --hidden-size 64 --num-attention-heads 8 --group-query-attention --num-query-groups 4 --seq-length 128 --max-position-embeddings 128 --vocab-size 512 " +
	"--normalization RMSNorm --swiglu --disable-bias-linear --position-embedding-type rope --untie-embeddings-and-output-weights --micro-batch-size 1 --global-batch-size 32 --bf16 " +
	"--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 2 --sequence-parallel --use-distributed-optimizer --log-interval 10"

// TestLayoutThereAndBack: a configuration becomes a source that compiles, and comes back.
func TestLayoutThereAndBack(t *testing.T) {
	t.Chdir(t.TempDir())
	args := append([]string{"layout", "from", "megatron", "--devices", "16", "-o", "run.ptl", "--"}, strings.Fields(launchFlags)...)
	if r := must(t, args...); !strings.Contains(r.err, "--log-interval 10: logging") {
		t.Errorf("no word about what has no effect: %s", r.err)
	}
	must(t, "compile", "run.ptl", "--target", "ref", "-q", "-o", "run.bin")
	flags := must(t, "layout", "to", "megatron", "run.ptl").out
	words := strings.ReplaceAll(flags, " \\\n", " ")
	for _, f := range strings.Split(launchFlags, " --") {
		if f = "--" + strings.TrimPrefix(f, "--"); !strings.Contains(words+" ", f+" ") && !strings.Contains(words, f+"\n") {
			t.Errorf("%s is not in %s", f, words)
		}
	}
	write(t, "flags.sh", "torchrun pretrain_gpt.py "+flags)
	must(t, "layout", "from", "megatron", "--devices", "16", "flags.sh", "-o", "again.ptl")
	if a, b := must(t, "layout", "to", "torchtitan", "run.ptl").out, must(t, "layout", "to", "torchtitan", "again.ptl").out; a != b || !strings.Contains(a, "tensor_parallel_degree = 2") {
		t.Errorf("first\n%s\nthen\n%s", a, b)
	}
}

func TestLayoutMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	flags := strings.Fields(launchFlags)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{append([]string{"from", "megatron", "--devices", "16", "-o", "x.ptl", "--"}, append(flags, "--context-parallel-size", "5")...), exitInput, "--context-parallel-size 5"},
		{append([]string{"from", "megatron", "-o", "x.ptl", "--"}, flags...), exitUsage, "--devices"},
		{[]string{"from", "megaton", "--devices", "1"}, exitUsage, "did you mean"},
		{[]string{"from", "torchtitan", "--devices", "1", "none.toml"}, exitInput, "none.toml"},
		{[]string{"to", "megatron", "none.ptl"}, exitInput, "none.ptl"},
	} {
		if r := ptc(t, append([]string{"layout"}, c.args...)...); r.code != c.code || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: exit code %d: %s; expected %d and %q", c.args, r.code, r.err, c.code, c.want)
		}
	}
	if listing(t) != "" {
		t.Errorf("a file is left: %s", listing(t))
	}
}
