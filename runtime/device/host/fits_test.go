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
