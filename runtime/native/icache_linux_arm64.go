package native

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// syncInstructions makes stored instructions visible to instruction fetch on all
// cores: data lines are cleaned to, and instruction lines invalidated at, the
// point of unification (Arm ARM, B2.4.4 "Concurrent modification and execution
// of instructions").
func syncInstructions(mem []byte) {
	if len(mem) > 0 {
		cleanInvalidate(addressOf(mem), addressOf(mem)+uintptr(len(mem)))
	}
}

//go:noescape
func cleanInvalidate(begin, end uintptr)

// Commands of membarrier(2).
const (
	membarrierSyncCore         = 1 << 5
	membarrierRegisterSyncCore = 1 << 6
)

// serializeCores makes every other thread's core drop instructions that it
// fetched ahead: an address may have held code of an image closed before. A
// system without the command has no thread that could hold such code unless an
// image was closed, and one that refuses it for another reason is an error.
func serializeCores() error {
	for _, cmd := range []uintptr{membarrierRegisterSyncCore, membarrierSyncCore} {
		_, _, e := unix.Syscall(unix.SYS_MEMBARRIER, cmd, 0, 0)
		if e != 0 && e != unix.ENOSYS && e != unix.EINVAL && e != unix.EPERM {
			return fmt.Errorf("native memory: membarrier: %w", e)
		}
	}
	return nil
}
