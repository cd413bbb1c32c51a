//go:build !static

package foreign

import (
	"runtime"
	"unsafe"
)

// inRegisters is how many arguments the ABI of x86-64 (System V, 3.2.3) has in registers. Those
// behind them, and structures of more than two words, are on the stack.
const inRegisters = 6

// stackCall is a call of a C function with words on the stack. The assembly reads it. The words are a
// pointer, so that they are where the call is: on the heap, which does not move.
type stackCall struct {
	fn        uintptr
	registers [inRegisters]uintptr
	count     uintptr // of words, even
	words     unsafe.Pointer
}

// stackEntryPC is the address of the assembly: a C function of one pointer.
var stackEntryPC uintptr

// onStack calls fn with at most six arguments in registers, and words, an even number, on the stack.
func onStack(fn uintptr, registers []uintptr, words []uint64) uintptr {
	c := &stackCall{fn: fn, count: uintptr(len(words)), words: unsafe.Pointer(unsafe.SliceData(words))}
	copy(c.registers[:], registers)
	r := Call(stackEntryPC, uintptr(unsafe.Pointer(c)))
	runtime.KeepAlive(c)
	return r
}

func callValue(fn uintptr, _ int, words []uint64, args []uintptr) uintptr {
	return onStack(fn, args, words)
}

// Many says why functions of more arguments than [Call] passes cannot be called here, or nil.
func Many() error { return nil }

// CallMany is Call for any number of arguments that are words.
//
//go:uintptrescapes
func CallMany(fn uintptr, args ...uintptr) uintptr {
	if len(args) <= mostCalled {
		return Call(fn, args...)
	}
	words := make([]uint64, (len(args)-inRegisters+1)&^1)
	for i, x := range args[inRegisters:] {
		words[i] = uint64(x)
	}
	return onStack(fn, args[:inRegisters], words)
}
