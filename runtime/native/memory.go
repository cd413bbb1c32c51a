package native

import (
	"fmt"
	"unsafe"
)

const (
	hugePage = 2 << 20
	// maxAlloc keeps the sum of a size and an alignment far from overflow.
	maxAlloc = 1 << 46
)

// Alloc maps zeroed memory outside Go's heap, which the collector neither scans
// nor moves: arenas and scratch. It starts at a multiple of 64 bytes, or of 2 MiB
// when it is that large, where the system is asked to use huge pages. Pages
// belong to the memory node of the thread that first touches them.
//
// free returns the memory; it may be called once, or never.
func Alloc(bytes int) (mem []byte, free func(), err error) {
	if bytes < 0 || bytes > maxAlloc {
		return nil, nil, fmt.Errorf("native memory: cannot allocate %d bytes", bytes)
	}
	slack := 0
	if bytes >= hugePage {
		slack = hugePage
	}
	whole, err := mapMemory(max(bytes, 1) + slack)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	if slack > 0 {
		start = int(-addressOf(whole) & (hugePage - 1))
		adviseHuge(whole[start : start+bytes])
	}
	return whole[start : start+bytes : start+bytes], func() { unmapMemory(whole) }, nil
}

// Address is where memory from Alloc begins, for Instr.Bufs. The memory must not
// be of Go's heap, whose addresses are not for native code to keep.
func Address(mem []byte) uintptr { return addressOf(mem) }

func addressOf(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
