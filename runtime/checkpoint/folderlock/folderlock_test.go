//go:build unix

package folderlock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestTake: one at a time has a folder, the other one is told who has it, and nothing is left of folders that were
// made for nothing.
func TestTake(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "a", "b")
	first, err := Take(dir, Try)
	if err != nil || !first.Real {
		t.Fatal(err)
	}
	_, err = Take(dir, Try)
	var held *HeldError
	if !errors.As(err, &held) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on host", os.Getpid())) {
		t.Errorf("%v", err)
	}
	first.Release()
	if _, err := os.Stat(filepath.Join(top, "a")); err == nil {
		t.Error("the folders are left")
	}
	for range 2 { // what a process has left that is gone is in nobody's way
		l, err := Take(dir, Try)
		if err != nil {
			t.Fatal(err)
		}
		l.Die()
	}
	l, err := Take(dir, Try)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "kept"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	l.Release()
	if names, _ := os.ReadDir(dir); len(names) != 1 || names[0].Name() != "kept" {
		t.Errorf("left are %v", names)
	}
}

// TestNoLocks: where the file system has no locks, the lock is not real; what is no file is refused at once.
func TestNoLocks(t *testing.T) {
	dir := t.TempDir()
	l, err := Take(dir, func(*os.File) error { return syscall.ENOLCK })
	if err != nil || l.Real {
		t.Fatalf("%v", err)
	}
	l.Release()
	if err := syscall.Mkfifo(filepath.Join(dir, Name), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Take(dir, Try); err == nil || !strings.Contains(err.Error(), "a FIFO") {
		t.Errorf("%v", err)
	}
}
