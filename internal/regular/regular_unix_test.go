//go:build unix

package regular

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "file", "links": "link", "to-fifo": "fifo"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	for name, want := range map[string]string{"file": "", "link": "", "links": "", "fifo": "a FIFO", "to-fifo": "a FIFO",
		"folder": "a folder", "socket": "a socket", "/dev/null": "a character device"} {
		opens := map[string]func() (*os.File, error){
			"Open":   func() (*os.File, error) { return Open(at(name)) },
			"OpenIn": func() (*os.File, error) { return OpenIn(root, name) },
		}
		if filepath.IsAbs(name) {
			opens = map[string]func() (*os.File, error){"Open": func() (*os.File, error) { return Open(name) }}
		}
		for how, open := range opens {
			f, err := inTime(t, open)
			var not *Error
			switch {
			case want != "":
				if !errors.As(err, &not) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s of %s: error %v, want %q", how, name, err, want)
				}
			case err != nil:
				t.Errorf("%s of %s: %v", how, name, err)
			default:
				text, err := ReadAll(f, 4)
				if string(text) != "text" || err != nil {
					t.Errorf("%s of %s: %q, %v", how, name, text, err)
				}
			}
			if f != nil {
				f.Close()
			}
		}
	}
	if _, err := Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	f, err := Open(at("file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := ReadAll(f, 3); err == nil || !strings.Contains(err.Error(), "longer than 3 bytes") {
		t.Errorf("of a longer file: %v", err)
	}
}

// inTime opens and fails the test where that waits.
func inTime(t *testing.T, open func() (*os.File, error)) (f *os.File, err error) {
	t.Helper()
	done := make(chan struct{})
	go func() { f, err = open(); close(done) }()
	select {
	case <-done:
		return f, err
	case <-time.After(2 * time.Minute):
		t.Fatal("opening waits")
		return nil, nil
	}
}
