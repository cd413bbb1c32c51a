package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.bin")
	if err := os.WriteFile(path, encode(t, sample()), 0o666); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), got); d != "" {
		t.Error(d)
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
