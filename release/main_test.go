package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"ptc/release/build"
)

// TestTwoReleases makes everything twice, with other settings of Go, another time zone and
// another folder for temporary files, and compares the bytes.
func TestTwoReleases(t *testing.T) {
	manual := filepath.Join("..", "dist", "man")
	if _, err := os.Stat(manual); err != nil {
		t.Fatalf("%v: run make man", err)
	}
	first, second := t.TempDir(), t.TempDir()
	names := []string{"archives", "debs", "wheels", "vsix", "image", "site", "sums"}
	make := func(out string) {
		t.Helper()
		r := release{Source: build.Source{Root: "..", Version: "1.2.3-rc.1", Arches: []string{runtime.GOARCH}}, out: out}
		if err := r.run(names); err != nil {
			t.Fatal(err)
		}
	}
	make(first)
	t.Setenv("TZ", "Pacific/Auckland")
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GOFLAGS", "-buildvcs=true")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("USER", "somebody")
	make(second)
	found := 0
	err := filepath.WalkDir(first, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(first, name)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(second, rel))
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is another file the second time (%v)", rel, err)
		}
		found++
		return nil
	})
	if err != nil || found < 20 {
		t.Errorf("%d files (%v)", found, err)
	}
	sums, err := os.ReadFile(filepath.Join(first, "SHA256SUMS"))
	if err != nil || strings.Count(string(sums), "\n") != 6 {
		t.Errorf("checksums (%v)\n%s", err, sums)
	}
}

func TestUnknownArtifact(t *testing.T) {
	r := release{Source: build.Source{Root: "..", Version: "1.2.3"}, out: t.TempDir()}
	if err := r.run([]string{"floppies"}); err == nil {
		t.Error("floppies are made")
	}
}
