//go:build unix

package metrics

import (
	"math"

	"golang.org/x/sys/unix"
)

// openFiles is how many files the process may have open.
func openFiles() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil {
		return math.MaxUint64
	}
	return uint64(r.Cur)
}
