//go:build unix

package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"ptc/internal/regular"
)

// A pipe that the process has open, as /dev/stdout often is, gets the bytes.
func TestDescriptorGetsTheBytes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors have no names in /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := Create(fmt.Sprintf("/proc/self/fd/%d", w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("ll"), 2); err != nil { // as a file that is written out of order
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("fu"), 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); string(got) != "full" || err != nil {
		t.Errorf("the pipe got %q, %v", got, err)
	}
	if _, err := os.Stat(f.Name()); err == nil {
		t.Error("the temporary file is left")
	}
}

// A descriptor without a reader is an error, and nothing is waited for.
func TestDescriptorWithoutAReader(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors have no names in /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	if err := WriteFile(fmt.Sprintf("/proc/self/fd/%d", w.Fd()), []byte("x")); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ENXIO) {
		t.Errorf("error %v, want EPIPE or ENXIO", err)
	}
}

// What may keep a writer waiting is refused, and stays what it is.
func TestNoFileToReplace(t *testing.T) {
	dir := t.TempDir()
	fifo, socket, link := filepath.Join(dir, "fifo"), filepath.Join(dir, "socket"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Symlink("fifo", link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "a FIFO", link: "a FIFO", socket: "a socket", dir: "a folder"} {
		_, err := Create(path)
		var not *regular.Error
		if !errors.As(err, &not) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
	if err := WriteFile("/dev/null", []byte("x")); err != nil {
		t.Errorf("to a device: %v", err)
	}
	if ns := names(t, dir); len(ns) != 3 {
		t.Errorf("left behind: %v", ns)
	}
}

func TestMkdirAll(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "a", "b", "c")
	for range 2 {
		if err := MkdirAll(deep); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := os.Stat(deep); err != nil || !st.IsDir() {
		t.Errorf("made %v, %v", st, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "file/below"} {
		if err := MkdirAll(filepath.Join(dir, name)); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Chdir(dir)
	if err := MkdirAll("x/y"); err != nil {
		t.Error(err)
	}
}
