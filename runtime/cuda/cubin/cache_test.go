//go:build unix

package cubin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestKeys(t *testing.T) {
	seen := map[Key]string{}
	for _, x := range []struct {
		text, arch string
		driver     int
	}{{"a", "sm_90", 12040}, {"b", "sm_90", 12040}, {"a", "sm_80", 12040}, {"a", "sm_90", 12050}, {"", "sm_90", 12040}, {"1\na", "sm_90", 12040}} {
		k := KeyOf([]byte(x.text), x.arch, x.driver)
		if other := seen[k]; other != "" {
			t.Errorf("%+v has the key of %s", x, other)
		}
		seen[k] = fmt.Sprintf("%+v", x)
	}
}

// TestCache: what is kept is found, in whichever folder, and what is not quite that is not.
func TestCache(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "plan.bin.cubin"), filepath.Join(dir, "user", "cubin")
	if Open(nil).Get(Key{}) != nil || Open(nil).Put(Key{}, []byte("x")) != nil {
		t.Error("a cache of nothing keeps something")
	}
	c, key, code := Open([]string{a, b}), KeyOf([]byte("text"), "sm_90", 1), []byte("code of the text")
	if c.Get(key) != nil {
		t.Error("found what was not kept")
	}
	keep := func() {
		t.Helper()
		if err := c.Put(key, code); err != nil {
			t.Fatal(err)
		}
		if got := c.Get(key); !bytes.Equal(got, code) {
			t.Fatalf("found %q", got)
		}
	}
	keep()
	file := filepath.Join(a, name(key))
	if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 1 << (i % 8)
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Get(key) != nil {
			t.Errorf("byte %d is changed, and the code is taken", i)
		}
	}
	for n := range len(whole) {
		if err := os.WriteFile(file, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		if c.Get(key) != nil {
			t.Errorf("of %d bytes the code is taken", n)
		}
	}
	keep() // replaced
	other := KeyOf([]byte("other"), "sm_90", 1)
	if err := os.Rename(file, filepath.Join(a, name(other))); err != nil {
		t.Fatal(err)
	}
	if c.Get(other) != nil {
		t.Error("the code of another key is taken")
	}
	keep()
	for _, mode := range []os.FileMode{0o620, 0o602, 0o666} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if c.Get(key) != nil {
			t.Errorf("a file with mode %v is taken", mode)
		}
	}
	keep()
}

// TestFolders: a folder that others may write is neither read nor written; the next one is.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	c, key := Open([]string{a, b}), KeyOf(nil, "", 0)
	if err := c.Put(key, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(a, 0o777); err != nil {
		t.Fatal(err)
	}
	if c.Get(key) != nil {
		t.Error("a folder that all may write is read")
	}
	if err := c.Put(key, []byte("second")); err != nil {
		t.Fatal(err)
	}
	if got := c.Get(key); string(got) != "second" {
		t.Errorf("found %q", got)
	}
	if _, err := os.Stat(filepath.Join(b, name(key))); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open([]string{file}).Put(key, []byte("x")); err == nil {
		t.Error("a file is a folder")
	}
	if err := Open([]string{b}).Put(key, nil); err == nil {
		t.Error("no code is kept")
	}
	// A link in the place of a file is not followed: what it leads to is somebody's.
	other := KeyOf([]byte("linked"), "", 0)
	if err := os.Symlink(file, filepath.Join(b, name(other))); err != nil {
		t.Fatal(err)
	}
	if err := Open([]string{b}).Put(other, []byte("x")); err == nil {
		t.Error("a link is followed")
	}
	if text, err := os.ReadFile(file); err != nil || len(text) != 0 {
		t.Errorf("%q, %v", text, err)
	}
}

// TestPrune: a folder has a bounded number of files, the newest ones, and loses nothing else.
func TestPrune(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 3 {
		path := filepath.Join(dir, fmt.Sprintf("%04d%s", i, suffix))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(1000-i), 0)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "notes"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Open([]string{dir}).Put(Key{}, []byte("x")); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != maxFiles+1 {
		t.Errorf("%d files, %v", len(left), err)
	}
	for i, want := range map[int]bool{0: true, maxFiles - 2: true, maxFiles - 1: false, maxFiles + 2: false} {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%04d%s", i, suffix))); (err == nil) != want {
			t.Errorf("file %d: %v", i, err)
		}
	}
}
