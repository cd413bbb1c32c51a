//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestIrregularFiles: wherever a file is expected, what is none is refused at
// once, and a link to a file is as good as the file. Each command is a process of
// its own, so that one that waits can be ended.
func TestIrregularFiles(t *testing.T) {
	small := project(t)
	must(t, with(small, "compile", "p/model.ptl", "-o", "a.bin", "-q")...)
	must(t, "run", "a.bin", "--steps", "1", "--save", "weights")
	if err := syscall.Mkfifo("fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir("folder", 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for link, to := range map[string]string{"to-fifo": "fifo", "to-weights": "weights", "to-plan": "a.bin"} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}

	write(t, "imports.ptl", "import imported\n")
	if err := syscall.Mkfifo("imported.ptl", 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := inTime(t, "compile", "imports.ptl"); code != 1 || !strings.Contains(out, "a FIFO") {
		t.Errorf("an import of a FIFO: exit code %d\n%s", code, out)
	}

	kinds := map[string]string{"fifo": "a FIFO", "to-fifo": "a FIFO", "folder": "a folder", "socket": "a socket", "/dev/zero": "a character device"}
	for name, kind := range kinds {
		for _, c := range []struct {
			code int
			args []string
		}{
			{3, []string{"run", name}},
			{3, []string{"run", "a.bin", "--steps", "1", "--init", name}},
			{3, []string{"explain", name}},
			{1, []string{"compile", name}},
			{1, []string{"opt", name}},
			{1, []string{"fmt", name}},
		} {
			out, code := inTime(t, c.args...)
			if code != c.code || !strings.Contains(out, kind) && !strings.Contains(out, "is a directory") {
				t.Errorf("ptc %s: exit code %d, want %d\n%s", strings.Join(c.args, " "), code, c.code, out)
			}
		}
		if name == "/dev/zero" {
			continue // a character device takes what is written
		}
		for _, args := range [][]string{
			{"run", "a.bin", "--steps", "1", "--save", name},
			{"run", "a.bin", "--steps", "1", "--dump-grads", name},
			{"run", "a.bin", "--steps", "1", "--trace", name},
			with(small, "compile", "p/model.ptl", "-q", "-o", name),
		} {
			if out, code := inTime(t, args...); code != 3 || !strings.Contains(out, kind) {
				t.Errorf("ptc %s: exit code %d, want 3\n%s", strings.Join(args, " "), code, out)
			}
		}
	}
	for _, args := range [][]string{
		{"run", "to-plan", "--steps", "1", "--init", "to-weights", "--save", "/dev/null"},
		{"run", "a.bin", "--steps", "1", "--save", "to-weights"},
	} {
		if out, code := inTime(t, args...); code != 0 {
			t.Errorf("ptc %s: exit code %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	if st, err := os.Lstat("to-weights"); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}

	must(t, "sign", "--new-key", "my.key")
	if err := syscall.Mkfifo("a.bin.minisig", 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "a.bin", "--steps", "1", "--trust", "my.key.pub"}, // whose signature is a FIFO
		{"run", "a.bin", "--steps", "1", "--trust", "fifo"},
		{"sign", "a.bin", "--key", "fifo"},
		{"data", "prepare", "text.txt", "--tokenizer", "fifo", "-o", "out"},
	} {
		if out, code := inTime(t, args...); code != 3 || !strings.Contains(out, "a FIFO") {
			t.Errorf("ptc %s: exit code %d, want 3\n%s", strings.Join(args, " "), code, out)
		}
	}

	// A checkpoint with such a file in it is damaged, and nothing is gone on from.
	for _, name := range []string{"manifest.json", "model.safetensors"} {
		must(t, "run", "a.bin", "--steps", "1", "--checkpoint", "ck", "--overwrite")
		path := filepath.Join("ck", "step-00000001", name)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, code := inTime(t, "run", "a.bin", "--steps", "2", "--checkpoint", "ck", "--resume"); code != 3 || !strings.Contains(out, "a FIFO") {
			t.Errorf("a FIFO as %s: exit code %d\n%s", name, code, out)
		}
	}
}

// inTime runs a process that is to end soon.
func inTime(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asMain+"=1")
	text, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		t.Errorf("ptc %s waits", strings.Join(args, " "))
	} else if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}
