package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ptc/runtime/device"
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

// TestUnreachable: a page that is gone ends a copy, not the process.
func TestUnreachable(t *testing.T) {
	e := offloaded(t, program.Disk, &failing{}).(*engine)
	e.memories[program.Disk].Close()
	e.memories[program.Disk] = device.NewFile(faulty(t), nil)
	p, err := e.Capture(0)
	if err != nil {
		t.Fatal(err)
	}
	p.Launch()
	for what, err := range map[string]error{
		"program": p.Wait(), "in": e.Memory(program.Disk).CopyIn(0, make([]byte, 8)), "out": e.Memory(program.Disk).CopyOut(make([]byte, 8), 0),
	} {
		if err == nil || !strings.Contains(err.Error(), "cannot be reached") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
