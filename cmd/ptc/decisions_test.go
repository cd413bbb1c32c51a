package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ptc/runtime/explain"
)

// described compiles a layout of examples/gpt and gives what explain says of it.
func described(t *testing.T, small []string, rules string) (d explain.Description) {
	t.Helper()
	write(t, "decided.ptl", read(t, "gpt.ptl")+"\nlayout decided {\n"+rules+"\n}\n")
	must(t, append([]string{"compile", "decided.ptl", "-q", "--layout", "decided", "--target", "ref", "-o", "decided.bin"}, small...)...)
	if err := json.Unmarshal([]byte(must(t, "explain", "decided.bin", "--json").out), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// remarksOf are the remarks of a pass, a line for each.
func remarksOf(d explain.Description, pass string) string {
	var b strings.Builder
	for _, r := range d.Remarks {
		if r.Pass == pass {
			b.WriteString(r.Text + "\n")
		}
	}
	return b.String()
}

// TestBucketsWithoutOverlap: what is put together does not depend on what runs
// concurrently with computation, and neither changes the bytes.
func TestBucketsWithoutOverlap(t *testing.T) {
	small := gpt(t)
	const dp = "mesh dp = 4\nshard batch over dp\n"
	sums := func(rules string) (count int, bytes int64) {
		for _, c := range described(t, small, dp+rules).Collectives {
			if c.Kind == "all_reduce" && strings.HasPrefix(c.Scope, "optimizer") {
				count += c.Count
				bytes += int64(c.Count) * c.Bytes
			}
		}
		return count, bytes
	}
	single, bytes := sums("bucket = 0")
	large, _ := sums("bucket = 1 GiB") // one of each block, and of what is outside
	for rules, want := range map[string]int{
		"bucket = 0\noverlap none":             single,
		"bucket = 1 GiB":                       large,
		"bucket = 1 GiB\noverlap none":         large,
		"bucket = 1 GiB\noverlap all_gather":   large,
		"bucket = 1 GiB\noverlap all_reduce\n": large,
	} {
		if n, b := sums(rules); n != want || b != bytes || bytes == 0 {
			t.Errorf("%q: %d all_reduces of %d bytes of gradients, expected %d of %d", rules, n, b, want, bytes)
		}
	}
	if single < 10 || large > 6 {
		t.Errorf("%d gradients, in %d buckets", single, large)
	}
}

// TestExplainDrawsThePipeline: the timeline, the published bubble (p−1)/(m+p−1)
// and the activations of 1F1B (Narayanan et al., 2021, section 2.2).
func TestExplainDrawsThePipeline(t *testing.T) {
	got := remarksOf(described(t, gpt(t), "mesh pp = 2\npipeline blocks over pp { schedule = 1f1b\nmicrobatches = 4 }"), "schedule")
	for _, want := range []string{
		"a bubble of 20.0% ",
		"by device: [2 1]\n",
		"device 0  F0 F1 .. .. B0 -- F2 B1 -- F3 B2 -- .. B3 --\n",
		"device 1  .. F0 B0 -- F1 B1 -- F2 B2 -- F3 B3 -- .. ..\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// TestExplainSaysWhatZeroLeavesWhole: three devices divide no axis of the norms.
func TestExplainSaysWhatZeroLeavesWhole(t *testing.T) {
	small := append(gpt(t), "--set", "batch=6")
	got := remarksOf(described(t, small, "mesh dp = 3\nshard batch over dp\nzero 3 over dp"), "propagate")
	if !strings.Contains(got, "zero over dp leaves 28 of 28 parameters, ") {
		t.Errorf("remarks:\n%s", got)
	}
	if got := remarksOf(described(t, small, "mesh dp = 2\nshard batch over dp\nzero 3 over dp"), "propagate"); strings.Contains(got, "leaves") {
		t.Errorf("remarks:\n%s", got)
	}
}
