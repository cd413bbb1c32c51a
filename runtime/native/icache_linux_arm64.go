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
// fetched ahead: the address may have held code of an image closed before. Where
// the system has no such command, fresh addresses are safe all the same, and a
// reused one after the first time its thread enters the kernel.
func serializeCores() error {
	for _, cmd := range []uintptr{membarrierRegisterSyncCore, membarrierSyncCore} {
		_, _, e := unix.Syscall(unix.SYS_MEMBARRIER, cmd, 0, 0)
		if e != 0 && e != unix.ENOSYS && e != unix.EINVAL && e != unix.EPERM {
			return fmt.Errorf("native memory: membarrier: %w", e)
		}
	}
	return nil
}
