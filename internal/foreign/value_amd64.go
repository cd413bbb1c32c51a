//go:build !static

package foreign

import (
	"runtime"
	"unsafe"
)

// valueEntryPC is the address of the assembly: a C function of one pointer.
var valueEntryPC uintptr

func callValue(fn uintptr, _ int, words []uint64, args []uintptr) uintptr {
	c := &valueCall{fn: fn, words: uintptr(len(words)), value: uintptr(unsafe.Pointer(unsafe.SliceData(words)))}
	copy(c.args[:], args)
	r := Call(valueEntryPC, uintptr(unsafe.Pointer(c)))
	runtime.KeepAlive(words)
	return r
}
