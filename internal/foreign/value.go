package foreign

import "unsafe"

// mostCalled is how many arguments [Call] passes.
const mostCalled = 15

// valueOthers is how many other arguments there may be: those that are in registers everywhere.
const valueOthers = 5

// CallValue calls the C function at fn with integers and one structure, which stands
// before argument number at of args. It has more than 16 bytes, and a multiple of 16.
//
// A call with a list of words cannot say that: the ABI of x86-64 (System V, 3.2.3) has such a
// structure on the stack and leaves the registers to the other arguments, that of arm64 (AAPCS64,
// 6.8.2, rule B.4) passes the address of a copy in its place.
func CallValue(fn uintptr, at int, value []byte, args ...uintptr) uintptr {
	if at > len(args) || len(args) > valueOthers || len(value) <= 16 || len(value)%16 != 0 {
		panic("foreign: a call by value that no ABI here has")
	}
	words := make([]uint64, len(value)/8)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(value)), value)
	return callValue(fn, at, words, args)
}
