package amx

import (
	"fmt"
	"syscall"
)

// Permit asks Linux for the tile registers of AMX, which a process has none of
// before it asked (arch/x86/include/uapi/asm/prctl.h: ARCH_REQ_XCOMP_PERM; number 18 of
// the extended state is the tiles' data). What was given holds for all threads, and to
// ask again changes nothing.
func Permit() error {
	const request, tileData = 0x1023, 18
	if _, _, errno := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, request, tileData, 0); errno != 0 {
		return fmt.Errorf("the system does not give this process the tile registers (arch_prctl: %w; Linux does from 5.16 on)", errno)
	}
	return nil
}
