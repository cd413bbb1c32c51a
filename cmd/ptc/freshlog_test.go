package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree lists all that is below the current folder.
func tree(t *testing.T) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, "\n")
}

// TestRunsThatFailAtOnceLeaveNothing: a run that fails before its first step leaves neither logs
// nor a folder of checkpoints that it made, and what was there before stays.
func TestRunsThatFailAtOnceLeaveNothing(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	write(t, "weights", "not safetensors at all")
	write(t, "old.jsonl", "")
	if err := os.Mkdir("old", 0o777); err != nil {
		t.Fatal(err)
	}
	before := tree(t)
	logs := []string{"--log", "json:a.jsonl", "--log", "csv:a.csv", "--log", "tb:deep/tb", "--log", "tb:old", "--log", "json:old.jsonl", "--checkpoint", "runs/a/ck"}
	for _, fails := range [][]string{{"--init", "weights"}, {"--log", "csv:no/such/folder/x"}, {"--resume"}} {
		if r := ptc(t, append(append([]string{"run", "a.bin"}, logs...), fails...)...); r.code != exitFile {
			t.Errorf("%v: exit code %d\n%s", fails, r.code, r.err)
		}
		if after := tree(t); after != before {
			t.Errorf("%v: before there was\n%s\nand after\n%s", fails, before, after)
		}
	}
	must(t, append([]string{"run", "a.bin", "--steps", "1"}, logs...)...)
	for _, path := range []string{"a.jsonl", "a.csv", "runs/a/ck/step-00000001"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// TestExportKeepsInputs: a file that is exported is none of those that it is made of.
func TestExportKeepsInputs(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q", "--target", "ref")...)
	must(t, "run", "a.bin", "--steps", "1", "--save", "m.st")
	if err := os.Link("a.bin", "link.bin"); err != nil {
		t.Fatal(err)
	}
	plan, params := read(t, "a.bin"), read(t, "m.st")
	for _, c := range [][]string{
		{"export", "m.st", "--plan", "a.bin", "--format", "gguf", "-o", "m.st"},
		{"export", "m.st", "--plan", "a.bin", "--format", "gguf", "-o", "link.bin"},
	} {
		if r := ptc(t, c...); r.code != exitUsage || !strings.Contains(r.err, "would be lost") {
			t.Errorf("%v: exit code %d\n%s", c, r.code, r.err)
		}
	}
	if read(t, "a.bin") != plan || read(t, "m.st") != params {
		t.Error("an input was written to")
	}
}
