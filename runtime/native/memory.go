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
// when it is an eighth of that or more, where the system is asked to use huge
// pages, for the last part of one as well. Pages belong to the memory node of the thread that first touches them.
//
// free returns the memory; it may be called once, or never.
func Alloc(bytes int) (mem []byte, free func(), err error) {
	if bytes < 0 || bytes > maxAlloc {
		return nil, nil, fmt.Errorf("native memory: cannot allocate %d bytes", bytes)
	}
	mapped, slack := max(bytes, 1), 0
	if bytes >= hugePage/8 {
		mapped, slack = int(roundUp(uint64(bytes), hugePage)), hugePage
	}
	whole, err := mapMemory(mapped + slack)
	if err != nil {
		return nil, nil, err
	}
	start := 0
	if slack > 0 {
		start = int(-addressOf(whole) & (hugePage - 1))
		adviseHuge(whole[start : start+mapped])
	}
	return whole[start : start+bytes : start+bytes], func() { unmapMemory(whole) }, nil
}

// Address is where memory from Alloc begins, for Instr.Bufs. The memory must not
// be of Go's heap, whose addresses are not for native code to keep.
func Address(mem []byte) uintptr { return addressOf(mem) }

func addressOf(mem []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(mem))) }
