package program

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.bin")
	old := sample()
	old.Name = "Old"
	for _, p := range []*Plan{old, sample()} { // the second replaces the first
		if err := WriteFile(path, p); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(p, got); d != "" {
			t.Error(d)
		}
	}
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("left beside the plan: %v", names)
	}
}

// TestWriteKeeps: what cannot be written leaves what there was.
func TestWriteKeeps(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.bin")
	if err := WriteFile(path, sample()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := sample()
	bad.Kernels[0].Code = 9
	var fe *FileError
	if err := WriteFile(path, bad); !errors.As(err, &fe) || fe.Path != path {
		t.Errorf("an invalid plan: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the old plan is gone")
	}
	folder := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(folder, "full"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(folder, sample()); !errors.As(err, &fe) {
		t.Errorf("onto a folder: %v", err)
	}
	if err := WriteFile(filepath.Join(dir, "none", "plan.bin"), sample()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("into no folder: %v", err)
	}
	names, _ := os.ReadDir(dir)
	for _, n := range names {
		if strings.Contains(n.Name(), ".tmp-") {
			t.Errorf("left behind: %s", n.Name())
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := encode(t, sample())
	for _, c := range []struct {
		path string
		want error
	}{
		{filepath.Join(dir, "none"), fs.ErrNotExist},
		{put("empty", nil), ErrNotPlan},
		{put("text", []byte("# a title, and then some text\n")), ErrNotPlan},
		{put("short", good[:7]), ErrTruncated},
		{put("cut", good[:len(good)/2]), ErrTruncated},
	} {
		_, err := ReadFile(c.path)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
	}
	if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
}
