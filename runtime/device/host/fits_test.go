package host

import (
	"errors"
	"strings"
	"testing"
)

func TestAvailable(t *testing.T) {
	files := map[string]string{}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, errors.New("no such file")
	}
	if _, ok := available(read); ok {
		t.Error("nothing is known, and it is said")
	}
	files["/proc/meminfo"] = "MemTotal: 99 kB\nMemAvailable:   1000 kB\nSwapFree: 24 kB\n"
	for limit, want := range map[string]int64{"max\n": 1 << 20, "4096\n": 4096, "999999999999\n": 1 << 20} {
		files["/sys/fs/cgroup/memory.max"] = limit
		if n, ok := available(read); !ok || n != want {
			t.Errorf("limit %q: %d, want %d", limit, n, want)
		}
	}
	if err := fits(1<<60, 2); err == nil || !strings.Contains(err.Error(), "EiB of memory for its 2 devices") {
		t.Errorf("1 EiB: %v", err)
	}
}

func TestFree(t *testing.T) {
	files := map[string]string{}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, errors.New("no such file")
	}
	unlimited := func() (int64, int64, bool) { return 0, 0, false }
	if _, ok := free(read, unlimited); ok {
		t.Error("nothing is known, and it is said")
	}
	files["/proc/meminfo"] = "MemAvailable:   1000 kB\nSwapFree: 24 kB\n"
	files["/proc/self/status"] = "Name: ptc\nVmRSS:      3 kB\n"
	for limit, want := range map[string]int64{"max\n": 1000 << 10, "4096\n": 1024, "999999999999\n": 1000 << 10} {
		files["/sys/fs/cgroup/memory.max"] = limit
		if n, ok := free(read, unlimited); !ok || n != want {
			t.Errorf("limit %q: %d, want %d", limit, n, want)
		}
	}
	if n, ok := free(read, func() (int64, int64, bool) { return spareSpace + 100, 60, true }); !ok || n != 40 {
		t.Errorf("of a limited address space %d bytes are free, want 40", n)
	}
}
