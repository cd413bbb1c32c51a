//go:build !static

package foreign

import (
	"runtime"
	"unsafe"
)

// manyEntryPC is the address of the assembly: a C function of one pointer.
var manyEntryPC uintptr

// Many says why functions of more arguments than [Call] passes cannot be called here, or nil.
func Many() error { return nil }

// CallMany is Call for any number of arguments that are words: the ABI of x86-64 (System V, 3.2.3)
// has the first six in registers and the others on the stack.
//
//go:uintptrescapes
func CallMany(fn uintptr, args ...uintptr) uintptr {
	if len(args) <= mostCalled {
		return Call(fn, args...)
	}
	stack := make([]uintptr, (len(args)-manyRegisters+1)&^1)
	copy(stack, args[manyRegisters:])
	c := &manyCall{fn: fn, words: uintptr(len(stack)), stack: uintptr(unsafe.Pointer(unsafe.SliceData(stack)))}
	copy(c.registers[:], args)
	r := Call(manyEntryPC, uintptr(unsafe.Pointer(c)))
	runtime.KeepAlive(stack)
	return r
}
