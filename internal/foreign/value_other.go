//go:build !amd64 && !static

package foreign

import (
	"runtime"
	"slices"
	"unsafe"
)

// callValue passes the address of the copy. Of the architectures that are not amd64, ptc runs
// native code on arm64 alone.
func callValue(fn uintptr, at int, words []uint64, args []uintptr) uintptr {
	if runtime.GOARCH != "arm64" {
		panic("foreign: structures by value are known for amd64 and arm64 alone")
	}
	all := slices.Insert(slices.Clone(args), at, uintptr(unsafe.Pointer(unsafe.SliceData(words))))
	r := Call(fn, all...)
	runtime.KeepAlive(words)
	return r
}
