package exec

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ptc/runtime/program"
)

// faulty is memory of a file that has become shorter than it was.
func faulty(t *testing.T) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(64); err != nil {
		t.Fatal(err)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, 64, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(mem) })
	if err := f.Truncate(0); err != nil {
		t.Fatal(err)
	}
	return mem
}

// TestUnreachable: a page that is gone ends a transfer, not the process.
func TestUnreachable(t *testing.T) {
	m, err := Open(offloadPlan(program.Disk), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	gone := make([]byte, 64)
	x := &transfer{src: [][]byte{faulty(t)}, dst: [][]byte{gone}, finished: make(chan error, 1)}
	if err := x.copy(); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("%v", err)
	}
	if err := fmt.Sprint(m.devices[0].mover.start(x), m.devices[0].mover.wait(x)); !strings.Contains(err, "cannot be reached") {
		t.Errorf("%v", err)
	}
}
