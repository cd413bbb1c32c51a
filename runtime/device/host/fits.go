package host

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"ptc/internal/units"
	"ptc/runtime/device"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Register adds the engine of a kind of code whose kernels load readies. It is
// called from init only.
func Register(kind string, load Loader) {
	device.Register(kind, device.Kind{Open: Opener(load), Fits: fitsHere})
}

// fitsHere says whether this host has the processor and the memory for devices of a
// plan.
func fitsHere(plan *program.Plan, devices []*program.Device) error {
	if err := native.Supported(plan.Features); err != nil {
		return err
	}
	var total int64
	for _, d := range devices {
		for _, n := range []int64{d.Arena, d.Host} {
			total = min(total, math.MaxInt64-n) + n // no overflow
		}
	}
	return fits(total, len(devices))
}

// fits says whether the arenas fit into what memory there is. The system maps
// more than it has and ends the process when it is used: that is to be an error
// before the run.
func fits(arenas int64, devices int) error {
	if limit, used, ok := native.AddressSpace(); ok && arenas > limit-used-spareSpace {
		return full("the plan needs %s of memory, and this process may map %s in all (ulimit -v), of which it has mapped %s and needs %s for threads and tables; raise the limit",
			units.Bytes(arenas), units.Bytes(limit), units.Bytes(used), units.Bytes(spareSpace))
	}
	if free, ok := available(os.ReadFile); ok && arenas > free {
		on := ""
		if devices > 1 {
			on = fmt.Sprintf(" for its %d devices", devices)
		}
		return full("the plan needs %s of memory%s, and this host has %s available; a smaller batch or recomputing activations needs less",
			units.Bytes(arenas), on, units.Bytes(free))
	}
	return nil
}

func full(format string, args ...any) error {
	return &device.MemoryError{Msg: fmt.Sprintf(format, args...)}
}

// spareSpace is how much of a limited address space is left to Go's heap, to
// threads' stacks and to the system's allocator.
const spareSpace = 256 << 20

// available is how many bytes can be used, by the system and by the limit of
// the process's control group; not ok where neither says.
func available(read func(string) ([]byte, error)) (n int64, ok bool) {
	n = math.MaxInt64
	if info, err := read("/proc/meminfo"); err == nil {
		free, hasFree := memInfo(info, "MemAvailable")
		if swap, has := memInfo(info, "SwapFree"); hasFree && has {
			free += swap
		}
		if hasFree {
			n, ok = free, true
		}
	}
	if limit, has := groupLimit(read); has {
		n, ok = min(n, limit), true
	}
	return n, ok
}

// memInfo is a line of /proc/meminfo, "MemAvailable:   123456 kB", in bytes.
func memInfo(info []byte, key string) (int64, bool) {
	for line := range bytes.Lines(info) {
		f := strings.Fields(string(line))
		if len(f) < 2 || f[0] != key+":" {
			continue
		}
		kb, err := strconv.ParseInt(f[1], 10, 64)
		return kb << 10, err == nil && kb >= 0 && kb < math.MaxInt64>>10
	}
	return 0, false
}

// Free is how many bytes of memory this process can still take without swapping: of
// what the system has available, of what its control group leaves to it, and of its
// address space; not ok where nothing says so.
func Free() (n int64, ok bool) { return free(os.ReadFile, native.AddressSpace) }

func free(read func(string) ([]byte, error), space func() (limit, used int64, ok bool)) (n int64, ok bool) {
	n = math.MaxInt64
	if info, err := read("/proc/meminfo"); err == nil {
		if mem, has := memInfo(info, "MemAvailable"); has {
			n, ok = mem, true
		}
	}
	if limit, has := groupLimit(read); has {
		used := int64(0)
		if status, err := read("/proc/self/status"); err == nil {
			used, _ = memInfo(status, "VmRSS")
		}
		n, ok = min(n, limit-used), true
	}
	if limit, used, has := space(); has {
		n, ok = min(n, limit-used-spareSpace), true
	}
	return n, ok
}

// Total is how many bytes of memory the host has, as far as the process's control group may take them; not ok where
// nothing says so.
func Total() (n int64, ok bool) { return total(os.ReadFile) }

func total(read func(string) ([]byte, error)) (n int64, ok bool) {
	n, ok = groupLimit(read)
	if info, err := read("/proc/meminfo"); err == nil {
		if mem, has := memInfo(info, "MemTotal"); has && (!ok || mem < n) {
			n, ok = mem, true
		}
	}
	return n, ok
}

// groupLimit is the memory that the process's control group may take.
func groupLimit(read func(string) ([]byte, error)) (n int64, ok bool) {
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := read(limit)
		if err != nil {
			continue
		}
		if max, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && max > 0 && (!ok || max < n) { // or the word max
			n, ok = max, true
		}
	}
	return n, ok
}
