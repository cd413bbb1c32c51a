package native

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// AddressSpace is how many bytes of memory this process may map (ulimit -v), and
// how many it has mapped; not ok where there is no limit.
func AddressSpace() (limit, used int64, ok bool) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &r); err != nil || r.Cur > math.MaxInt64 {
		return 0, 0, false
	}
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return int64(r.Cur), 0, true
	}
	if _, err := fmt.Sscan(string(text), &used); err != nil {
		used = 0
	}
	return int64(r.Cur), used * int64(os.Getpagesize()), true
}
