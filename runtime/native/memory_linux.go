package native

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// mapMemory maps zeroed, writable pages.
func mapMemory(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("native memory: cannot map %d bytes: %w", n, err)
	}
	return mem, nil
}

// unmapMemory takes exactly what mapMemory gave; it cannot fail on that.
func unmapMemory(mem []byte) { _ = unix.Munmap(mem) }

// protectMemory makes whole pages read-only, and executable if exec.
func protectMemory(mem []byte, exec bool) error {
	if len(mem) == 0 {
		return nil
	}
	prot := unix.PROT_READ
	if exec {
		prot |= unix.PROT_EXEC
	}
	if err := unix.Mprotect(mem, prot); err != nil {
		return fmt.Errorf("native memory: cannot protect %d bytes: %w", len(mem), err)
	}
	return nil
}

// adviseHuge asks for huge pages; a kernel without them is no error.
func adviseHuge(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
