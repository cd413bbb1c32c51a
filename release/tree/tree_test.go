package tree

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var sample = Tree{
	{Path: "b/c/d.txt", Mode: 0o644, Data: []byte("text")},
	{Path: "a", Mode: 0o755, Data: []byte("program")},
	{Path: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777, Owner: 7},
}

func TestTar(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	data, err := sample.Gzip(at)
	if err != nil {
		t.Fatal(err)
	}
	turned := slices.Clone(sample)
	slices.Reverse(turned)
	if again, err := turned.Gzip(at); err != nil || !bytes.Equal(again, data) {
		t.Errorf("in another order, the bytes differ (%v)", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		Name, User, Text string
		Mode             int64
		Uid              int
		Time             int64
	}
	var got []entry
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, entry{h.Name, h.Uname, string(text), h.Mode, h.Uid, h.ModTime.Unix()})
	}
	want := []entry{
		{"a", "root", "program", 0o755, 0, at.Unix()},
		{"b/", "root", "", 0o755, 0, at.Unix()},
		{"b/c/", "root", "", 0o755, 0, at.Unix()},
		{"b/c/d.txt", "root", "text", 0o644, 0, at.Unix()},
		{"tmp/", "", "", 0o1777, 7, at.Unix()},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestPathsThatAreNone(t *testing.T) {
	for _, p := range []string{"", ".", "/etc/passwd", "../x", "a/../../x", "a//b"} {
		if _, err := (Tree{{Path: p}}).Tar(time.Time{}); err == nil {
			t.Errorf("%q is in an archive", p)
		}
	}
	if _, err := append(sample, sample[0]).Tar(time.Unix(0, 0)); err == nil {
		t.Error("a path is there twice")
	}
}

func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	for range 2 { // the second replaces the first
		if err := sample[:2].WriteFolder(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stale"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := sample[:2].WriteFolder(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stale")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was there before is left: %v", err)
	}
	sums, err := Sums(dir)
	if err != nil || string(sums) != "1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8  a\n" {
		t.Errorf("%s (%v)", sums, err)
	}
	read, err := Read(dir, "b/c/*.txt")
	if d := cmp.Diff(Tree{sample[0]}, read); d != "" || err != nil {
		t.Errorf("%v -want +got:\n%s", err, d)
	}
	if _, err := Read(dir, "*.none"); err == nil {
		t.Error("a pattern that no file matches is none that was meant")
	}
}
