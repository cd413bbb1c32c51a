package ceilings

import (
	"fmt"
	"syscall"
)

// permitTiles asks Linux for the tile registers (arch/x86/include/uapi/asm/prctl.h:
// ARCH_REQ_XCOMP_PERM; number 18 of the extended state is AMX's tile data).
func permitTiles() error {
	const request, tileData = 0x1023, 18
	if _, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, request, tileData, 0); errno != 0 {
		return fmt.Errorf("the system does not give the tile registers: %w", errno)
	}
	return nil
}
