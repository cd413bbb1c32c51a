package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInside: what lies between a source and its code can be looked at, and passes be left out.
func TestInside(t *testing.T) {
	small := project(t)
	compile := func(args ...string) result {
		return ptc(t, with(small, append([]string{"compile", "p/model.ptl", "--target", "ref", "-q"}, args...)...)...)
	}
	if r := compile("-o", "a.bin", "--dump-kernels", "k", "--cpuprofile", "cpu.prof", "--memprofile", "mem.prof"); r.code != exitOK {
		t.Fatal(r.err)
	}
	files, err := filepath.Glob("k/*.ptir")
	if err != nil || len(files) == 0 {
		t.Fatalf("no kernels are dumped (%v)", err)
	}
	for _, name := range []string{"cpu.prof", "mem.prof"} {
		if s, err := os.Stat(name); err != nil || s.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	kernel := strings.TrimSuffix(filepath.Base(files[0]), ".ptir")
	if r := ptc(t, "explain", "a.bin", "--kernel", kernel); r.code != exitOK || !strings.Contains(r.out, read(t, files[0])) || !strings.HasPrefix(r.out, kernel+"\n") {
		t.Errorf("explain --kernel: exit code %d\n%s%s", r.code, r.out, r.err)
	}
	if r := ptc(t, "explain", "a.bin", "--kernel", kernel+"x"); r.code != exitUsage || !strings.Contains(r.err, "`"+kernel+"`") {
		t.Errorf("a kernel that there is not: exit code %d: %s", r.code, r.err)
	}
	after := compile("--stop-after", "overlap", "--print-after", "fuse").out
	if before := compile("--stop-after", "overlap", "--print-before", "offload-activations").out; after == "" || before != after {
		t.Error("the IR before offload-activations is not that after fuse")
	}
	without := compile("--disable-pass", "cleanup", "--stop-after", "precision", "--print-before", "precision").out
	if diff := compile("--stop-after", "autodiff", "--print-after", "autodiff").out; diff == "" || without != diff {
		t.Error("without cleanup, the IR before precision is not that after autodiff")
	}
	if r := compile("-o", "b.bin", "--why", "fuse"); !strings.Contains(r.out, "is not fused with") {
		t.Errorf("--why fuse: %s", r.out)
	}
	if read(t, "a.bin") != read(t, "b.bin") {
		t.Error("--why changes the plan")
	}
	for _, args := range [][]string{{"--disable-pass", "nothing"}, {"--why", "nothing"}, {"--print-before", "nothing"}, {"--stop-after", "nothing"}, {"--stop-after", "fuse", "-o", "c.bin"}} {
		if r := compile(args...); r.code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, r.code, r.err)
		}
	}
	if r := compile("--disable-pass", "propagate", "-o", "c.bin"); r.code != exitInput || !strings.Contains(r.err, "is required") {
		t.Errorf("without propagate: exit code %d: %s", r.code, r.err)
	}
}
