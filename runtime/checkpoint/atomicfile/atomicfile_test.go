package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func names(t *testing.T, dir string) []string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var ns []string
	for _, e := range es {
		ns = append(ns, e.Name())
	}
	return ns
}

func TestCommitReplaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "two"} {
		if err := WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if ns := names(t, filepath.Dir(path)); len(ns) != 1 {
		t.Errorf("left behind: %v", ns)
	}
	if st, _ := os.Stat(path); st.Mode().Perm()&0o600 != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
}

func TestAbortLeavesTheOldFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("new"); err != nil {
		t.Fatal(err)
	}
	f.Abort()
	f.Abort()
	if err := f.Commit(); err == nil {
		t.Error("an aborted file was committed")
	}
	if got, _ := os.ReadFile(path); string(got) != "old" {
		t.Errorf("the old file is now %q", got)
	}
	if ns := names(t, filepath.Dir(path)); len(ns) != 1 {
		t.Errorf("left behind: %v", ns)
	}
}

func TestCommitThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(path, "a"), 0o755); err != nil { // no file can take this name
		t.Fatal(err)
	}
	if err := WriteFile(path, []byte("x")); err == nil {
		t.Fatal("a folder was replaced")
	}
	if ns := names(t, dir); len(ns) != 1 {
		t.Errorf("left behind: %v", ns)
	}
	if err := WriteFile(filepath.Join(dir, "none", "f"), nil); err == nil {
		t.Error("a file was made in a folder that is not there")
	}
}

func TestOnlyFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.WriteFile(target, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("target", link); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := WriteFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", st, err)
	}
	if got, _ := os.ReadFile(target); string(got) != "new" {
		t.Errorf("the link leads to %q", got)
	}
	if f, err := Create(dir); err == nil {
		f.Abort()
		t.Error("a file takes the name of a folder")
	}
	if ns := names(t, dir); len(ns) != 2 {
		t.Errorf("left behind: %v", ns)
	}
}

func TestErrorsNameTheDestination(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "f")
	_, err := Create(path)
	if err == nil || strings.Contains(err.Error(), ".tmp-") || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

func TestTemporary(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	for name, want := range map[string]bool{filepath.Base(f.Name()): true, ".f.tmp-x-1": false, "f.tmp-1-1": false, ".f.tmp-1": false, ".tmp-1-1": false} {
		if Temporary(name) != want {
			t.Errorf("Temporary(%q) is %t", name, !want)
		}
	}
}
