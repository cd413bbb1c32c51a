//go:build unix

package weights

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinksOut: no file of a folder is read through a link that leads out of it, and none is copied; links within the
// folder, and those of the cache of Hugging Face, are as good as files.
func TestLinksOut(t *testing.T) {
	top := t.TempDir()
	secret := filepath.Join(top, "secret")
	snapshot := filepath.Join(top, "models--a", "snapshots", "0123")
	blobs := filepath.Join(top, "models--a", "blobs")
	plain := filepath.Join(top, "plain")
	for _, dir := range []string{snapshot, blobs, plain} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{secret, filepath.Join(blobs, "b"), filepath.Join(plain, "b")} {
		if err := os.WriteFile(path, []byte("{}"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	readers := map[string]func(dir string) error{
		configFile: func(dir string) error { _, err := ReadConfig(dir); return err },
		indexFile:  func(dir string) error { _, err := Open(dir); return err },
		wholeFile:  func(dir string) error { _, err := Open(dir); return err },
	}
	for _, name := range tokenizers {
		readers[name] = func(dir string) error {
			to := t.TempDir()
			err := CopyTokenizer(dir, to)
			if _, e := os.Stat(filepath.Join(to, name)); err != nil && e == nil {
				t.Errorf("%s is copied", name)
			}
			return err
		}
	}
	for name, read := range readers {
		for _, c := range []struct {
			dir, to string
			out     bool
		}{
			{plain, secret, true}, {plain, "../secret", true}, {plain, "../plain/../secret", true}, {plain, "../models--a/blobs/b", true}, {plain, "b", false},
			{snapshot, "../../blobs/b", false}, {snapshot, secret, true}, {snapshot, "../../../secret", true},
		} {
			link := filepath.Join(c.dir, name)
			if err := os.Symlink(c.to, link); err != nil {
				t.Fatal(err)
			}
			err := read(c.dir)
			if out := err != nil && strings.Contains(err.Error(), "is a link out of its folder"); out != c.out {
				t.Errorf("%s -> %s: %v", link, c.to, err)
			}
			if err := os.Remove(link); err != nil {
				t.Fatal(err)
			}
		}
	}
	alias := filepath.Join(top, "alias") // the folder itself may be named through a link
	if err := os.Symlink(plain, alias); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("b", filepath.Join(plain, configFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(alias); err != nil {
		t.Error(err)
	}
}
